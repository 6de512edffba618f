/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/crash_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/build.h"
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

/* The name of a process that is still there; else "". */
static void
read_name(int64_t pid, char *name, int size)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/comm", pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(name, size, file) == NULL)
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

static void
tell_sender(const struct crash *death, int64_t sender, char *text, size_t size)
{
    char name[32] = "the worker itself";

    if (sender != death->pid)
        read_name(sender, name, sizeof(name));
    if (name[0] == '\0')
        snprintf(text, size, "process %" PRId64, sender);
    else
        snprintf(text, size, "process %" PRId64 " (%s)", sender, name);
}

static void
tell_killer(const struct crash *death, const struct trace_crash *crash,
            char *text, size_t size)
{
    if (death->killer[0] != '\0')
        snprintf(text, size, "%s", death->killer);
    else if (crash->sender > 0)
        tell_sender(death, crash->sender, text, size);
}

static void
tell_memory(const struct crash *death, char *text, size_t size)
{
    char limit[64] = "";

    if (death->limit > 0)
        snprintf(limit, sizeof(limit), ", limit %" PRId64 " MiB",
                 death->limit >> 20);
    if (death->peak > 0)
        snprintf(text, size, "peak %" PRId64 " MiB%s", death->peak >> 20,
                 limit);
}

void
crash_report(const struct crash *death)
{
    struct trace_crash crash = {0};
    struct buf stack = {0}, frames = {0};
    char address[32] = "", killer[256] = "", memory[128] = "";

    if (death->trace != NULL) {
        trace_crash(death->trace, &crash);
        add_frames(&frames, death->trace);
    }
    add_stack(&stack, death->worker, &crash);
    if (crash.signal != 0 && crash.sender == 0)
        snprintf(address, sizeof(address), "0x%" PRIx64, crash.address);
    tell_killer(death, &crash, killer, sizeof(killer));
    tell_memory(death, memory, sizeof(memory));
    log_warn("crash report", F_SOME("cause", death->cause),
             F_SOME("killedBy", killer), F_SOME("memory", memory),
             F_SOME("signal", crash.signal == 0 ? "" : strsignal(crash.signal)),
             F_SOME("address", address), F_SOME("stack", buf_bytes(&stack)),
             F_STR("build", build_id), F_SOME("frames", buf_bytes(&frames)),
             F_STR("worker", death->worker),
             F_INT("generation", death->generation));
    buf_fini(&stack);
    buf_fini(&frames);
}
