/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_TRACE_H
#define COMMON_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"
#include "proto/role.h"

/*
 * What a worker did last, in shared memory that outlives it: the frames of its
 * links, the newest TRACE_FRAMES of them, and where it crashed.  The worker
 * writes and never waits; the supervisor, which made the memory, looks at it
 * once the worker is dead.  It is there to be read by people, not to be
 * replayed: bodies are cut, and what a dying worker left is not trusted.
 */
#define TRACE_FRAMES 64
#define TRACE_BODY 216
#define TRACE_STACK 24

struct trace;

struct trace_frame {
    uint64_t number; /* counts up from 1 */
    int64_t time;    /* clock_now() */
    enum role peer;
    bool out; /* to the peer, not from it */
    uint16_t type;
    uint32_t id;
    uint32_t length; /* of the body */
    struct str body; /* its beginning; lives as long as the mapping */
};

struct trace_crash {
    int signal;       /* 0: none was noted */
    int code;         /* si_code */
    uint64_t address; /* si_addr; of a fault only */
    int64_t sender;   /* si_pid of who sent it; 0: a fault, or not known */
    /* Where it was, innermost first: offsets in the executable where inside,
     * else addresses. */
    unsigned depth;
    struct {
        uint64_t at;
        bool inside;
    } stack[TRACE_STACK];
};

/* Makes the memory of one start of a worker; a descriptor, or -1 and err. */
int trace_create(struct err *err);

/* Maps it; fd stays the caller's. NULL and err. */
struct trace *trace_map(int fd, bool writable, struct err *err);
void trace_unmap(struct trace *t);

/* Notes a frame. t may be NULL. */
void trace_note(struct trace *t, enum role peer, bool out, uint16_t type,
                uint32_t id, struct str body);

/* Notes a crash; nothing here is unsafe in a signal handler. */
void trace_note_crash(struct trace *t, const struct trace_crash *crash);

/* The newest frames, at most count, oldest first; returns how many. */
unsigned trace_last(const struct trace *t, struct trace_frame *frames,
                    unsigned count);
void trace_crash(const struct trace *t, struct trace_crash *crash);

#endif
