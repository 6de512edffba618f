/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

#define FLUSH_AT (64u << 10)
#define END_ROOM 256 /* kept free for the END */

/* 0, or -1 with errno; then the file may have got a part of it. */
static int
write_all(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.s, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes.s += n;
        bytes.n -= (size_t)n;
    }
    return 0;
}

/* A part of a record is of no use: the file ends where it was whole. */
static void
cut_back(const struct recorder *r)
{
    if (ftruncate(r->fd, r->size) == 0)
        lseek(r->fd, r->size, SEEK_SET);
}

/* A full disk may have no room for it, and a section need not have an end. */
static void
write_end(struct recorder *r, bool complete, const char *reason)
{
    struct buf out = {0};

    recording_add_end(&out, complete, reason);
    if (r->begun && write_all(r->fd, buf_str(&out)) != 0)
        cut_back(r);
    buf_fini(&out);
}

static void
stop(struct recorder *r, const char *reason)
{
    close(r->fd);
    buf_fini(&r->waiting);
    r->on = false;
    snprintf(r->why, sizeof(r->why), "%s", reason);
}

static void
give_up(struct recorder *r, const char *reason)
{
    log_warn("recording ended, the placer goes on", F_STR("reason", reason),
             F_INT("bytes", r->size));
    write_end(r, false, reason);
    stop(r, reason);
}

static void
fail(struct recorder *r)
{
    const char *reason = strerror(errno);

    cut_back(r);
    give_up(r, reason);
}

void
recorder_flush(struct recorder *r)
{
    if (!r->on || r->waiting.len == 0)
        return;
    if (write_all(r->fd, buf_str(&r->waiting)) != 0) {
        fail(r);
        return;
    }
    r->size += (int64_t)r->waiting.len;
    buf_clear(&r->waiting);
}

/* After a record was added to what waits, which held so much before. */
static void
added(struct recorder *r, size_t before)
{
    if (r->size + (int64_t)r->waiting.len + END_ROOM > r->limit) {
        r->waiting.len = before;
        recorder_flush(r);
        if (r->on)
            give_up(r, "the limit of --record-limit is reached");
    } else if (r->waiting.len >= FLUSH_AT) {
        recorder_flush(r);
    }
}

void
recorder_begin(struct recorder *r, int fd, int64_t limit, uint64_t generation,
               int64_t variant)
{
    off_t size = lseek(fd, 0, SEEK_END);

    *r = (struct recorder){
        .on = true,
        .fd = fd,
        .size = size < 0 ? 0 : size, /* a pipe has none */
        .limit = limit,
    };
    recording_add_begin(&r->waiting, generation, variant);
    added(r, 0);
    recorder_flush(r);
    r->begun = r->on;
}

void
recorder_take(struct recorder *r, const struct input *in)
{
    size_t before = r->waiting.len;

    if (!r->on)
        return;
    if (in->kind != RECORDED_TAKEN)
        recording_add_link(&r->waiting, in->kind, in->peer);
    else
        recording_add_frame(&r->waiting, in->kind, in->peer, in->type, in->id,
                            in->bytes);
    added(r, before);
    recorder_flush(r);
}

void
recorder_say(struct recorder *r, uint16_t type, uint32_t id, struct str body)
{
    size_t before = r->waiting.len;

    if (!r->on)
        return;
    recording_add_frame(&r->waiting, RECORDED_SAID, ROLE_PROJECTOR, type, id,
                        body);
    added(r, before);
}

void
recorder_end(struct recorder *r, const char *reason)
{
    recorder_flush(r);
    if (!r->on)
        return;
    write_end(r, true, reason);
    stop(r, reason);
}

void
recorder_fini(struct recorder *r)
{
    recorder_end(r, "the placer stopped");
}
