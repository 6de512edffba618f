/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/crash_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/frame.h"

#define FRAMES 12     /* of the report */
#define BODY_SHOWN 48 /* bytes of each */

/* Texts in a body can be read; what is no text is a dot. */
static void
add_body(struct buf *line, struct str body)
{
    size_t n = body.n < BODY_SHOWN ? body.n : BODY_SHOWN;

    for (size_t i = 0; i < n; i++)
        buf_addc(line, body.s[i] > ' ' && body.s[i] < 0x7f ? body.s[i] : '.');
    if (body.n > n)
        buf_addz(line, "..");
}

static void
add_frame(struct buf *line, const struct trace_frame *f, int64_t now)
{
    buf_printf(line, "%s-%" PRId64 "ms %s %s %s #%" PRIu32 " %" PRIu32 "B ",
               line->len > 0 ? "; " : "", (now - f->time) / CLOCK_MS,
               f->out ? "to" : "from", role_name(f->peer),
               message_name(f->type), f->id, f->length);
    add_body(line, f->body);
}

static void
add_frames(struct buf *line, const struct trace *trace)
{
    struct trace_frame frames[FRAMES];
    unsigned n = trace_last(trace, frames, FRAMES);
    int64_t now = clock_now();

    for (unsigned i = 0; i < n; i++)
        add_frame(line, &frames[i], now);
    buf_addc(line, '\0');
}

static void
add_stack(struct buf *line, const char *worker, const struct trace_crash *crash)
{
    for (unsigned i = 0; i < crash->depth; i++)
        if (crash->stack[i].inside)
            buf_printf(line, "%s%s+0x%" PRIx64, i > 0 ? " " : "", worker,
                       crash->stack[i].at);
        else
            buf_printf(line, "%s0x%" PRIx64, i > 0 ? " " : "",
                       crash->stack[i].at);
    buf_addc(line, '\0');
}

void
crash_report(const char *worker, uint64_t generation, const struct trace *trace)
{
    struct trace_crash crash;
    struct buf stack = {0}, frames = {0};
    char address[32];

    if (trace == NULL)
        return;
    trace_crash(trace, &crash);
    add_stack(&stack, worker, &crash);
    add_frames(&frames, trace);
    snprintf(address, sizeof(address), "0x%" PRIx64, crash.address);
    log_warn("crash report",
             F_STR("signal", crash.signal == 0 ? "" : strsignal(crash.signal)),
             F_STR("address", crash.signal == 0 ? "" : address),
             F_STR("stack", buf_bytes(&stack)), F_STR("build", MOKKA_BUILD_ID),
             F_STR("frames", buf_bytes(&frames)), F_STR("worker", worker),
             F_INT("generation", generation));
    buf_fini(&stack);
    buf_fini(&frames);
}
