/* SPDX-License-Identifier: Apache-2.0 */
#include "common/trace.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"

/* A number of 0 says that there is nothing in it, or that it is being
 * written. */
struct entry {
    atomic_uint_fast64_t number;
    int64_t time;
    uint32_t id, length;
    uint16_t type;
    uint8_t peer, out;
    char body[TRACE_BODY];
};

struct trace {
    uint64_t count;
    struct trace_crash crash;
    struct entry entries[TRACE_FRAMES];
};

int
trace_create(struct err *err)
{
    int fd = memfd_create("mokka-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return err_errno(err, "cannot make memory for a trace");
    /* Its reader must not find less than it maps. */
    if (ftruncate(fd, sizeof(struct trace)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        return fd;
    err_errno(err, "cannot prepare memory for a trace");
    close(fd);
    return -1;
}

struct trace *
trace_map(int fd, bool writable, struct err *err)
{
    int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at;

    /* fstat would take a right to ask about any file. */
    if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct trace)) {
        err_set(err, "descriptor %d is no trace", fd);
        return NULL;
    }
    at = mmap(NULL, sizeof(struct trace), access, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        return at;
    err_errno(err, "cannot map a trace");
    return NULL;
}

void
trace_unmap(struct trace *t)
{
    if (t != NULL)
        munmap(t, sizeof(*t));
}

void
trace_note(struct trace *t, enum role peer, bool out, uint16_t type,
           uint32_t id, struct str body)
{
    struct entry *e;

    if (t == NULL)
        return;
    e = &t->entries[t->count % TRACE_FRAMES];
    atomic_store(&e->number, 0);
    e->time = clock_now();
    e->id = id;
    e->length = (uint32_t)body.n;
    e->type = type;
    e->peer = (uint8_t)peer;
    e->out = out;
    memcpy(e->body, body.s, body.n < TRACE_BODY ? body.n : TRACE_BODY);
    t->count++;
    atomic_store(&e->number, t->count);
}

void
trace_note_crash(struct trace *t, const struct trace_crash *crash)
{
    if (t != NULL)
        t->crash = *crash;
}

static unsigned
read_entry(const struct trace *t, uint64_t number, struct trace_frame *f)
{
    const struct entry *e = &t->entries[(number - 1) % TRACE_FRAMES];
    uint32_t length = e->length;

    if (atomic_load(&e->number) != number)
        return 0;
    *f = (struct trace_frame){
        .number = number,
        .time = e->time,
        .peer = (enum role)e->peer,
        .out = e->out != 0,
        .type = e->type,
        .id = e->id,
        .length = length,
        .body = {e->body, length < TRACE_BODY ? length : TRACE_BODY},
    };
    return 1;
}

unsigned
trace_last(const struct trace *t, struct trace_frame *frames, unsigned count)
{
    uint64_t all = t->count;
    unsigned n = 0;

    for (unsigned ago = all < count ? (unsigned)all : count; ago > 0; ago--)
        n += read_entry(t, all - ago + 1, &frames[n]);
    return n;
}

void
trace_crash(const struct trace *t, struct trace_crash *crash)
{
    *crash = t->crash;
    if (crash->depth > TRACE_STACK)
        crash->depth = TRACE_STACK;
}
