/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Two clocks, never mixed: clock_now for every interval and deadline, and wall
 * time only for texts that people and the API server read.
 */

#define CLOCK_MS INT64_C(1000000)
#define CLOCK_SECOND INT64_C(1000000000)

/* Nanoseconds of CLOCK_BOOTTIME: it goes on while the machine sleeps, so a
 * suspended leader finds its deadline passed. */
int64_t clock_now(void);

/* Nanoseconds since 1970, UTC; jumps when the clock is set. */
int64_t clock_wall(void);

enum clock_form {
    CLOCK_SECONDS = 0, /* metav1.Time: 2026-01-02T03:04:05Z */
    CLOCK_MILLIS = 3,  /* log lines: 2026-01-02T03:04:05.678Z */
    CLOCK_MICROS = 6,  /* metav1.MicroTime, exactly six digits */
};

#define CLOCK_TEXT 40

/* Writes wall time ns in the given form, in UTC, to text. */
void clock_format(int64_t ns, enum clock_form form, char text[CLOCK_TEXT]);

/* Reads RFC 3339 (any number of fraction digits, any offset, years 1 to 9999)
 * into ns since 1970. -1 and err on anything else. */
int clock_parse(struct str text, int64_t *ns, struct err *err);

/* Reads a Go duration ("1.5s", "100ms", "1h2m", "0") into nanoseconds. */
int duration_parse(const char *text, int64_t *ns, struct err *err);

#endif
