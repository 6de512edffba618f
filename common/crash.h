/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_CRASH_H
#define COMMON_CRASH_H

#include "common/trace.h"

/* Loads what crash_watch needs, which takes a file.  To be called before. */
void crash_prepare(void);

/*
 * Notes in the trace where this process crashes (SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL, SIGABRT), then lets the crash take its course: the default, a core,
 * or whatever handler was there before.  To be called once, with memory that
 * stays mapped.
 */
void crash_watch(struct trace *trace);

/* For the end of the process, before the trace is unmapped. */
void crash_unwatch(void);

#endif
