/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sandbox/sandbox.h"

#include <stdlib.h>
#include <valgrind/valgrind.h>

#include "common/mem.h"
#include "common/sandbox/parts.h"

static const struct row {
    unsigned may, descriptors;
} rows[ROLE_COUNT] = {
#define SANDBOX(role, may, descriptors, memory)                                \
    [ROLE_##role] = {SANDBOX_##may, descriptors},
#include "supervisor/topology.def"
};

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||     \
    __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct sandbox *
sandbox_new(enum role role)
{
    struct sandbox *box = mem_zalloc(sizeof(*box));

    if (rows[role].descriptors == 0)
        fatal("no SANDBOX row for %s", role_name(role));
    box->may = rows[role].may;
    box->descriptors = rows[role].descriptors;
    return box;
}

void
sandbox_free(struct sandbox *box)
{
    if (box == NULL)
        return;
    for (size_t i = 0; i < box->file_count; i++)
        free(box->files[i]);
    free(box->files);
    free(box->ports);
    free(box);
}

static void
need_connect(const struct sandbox *box)
{
    if ((box->may & SANDBOX_CONNECT) == 0)
        fatal("the topology lets this worker neither connect nor read");
}

void
sandbox_read(struct sandbox *box, const char *file)
{
    need_connect(box);
    box->files =
        mem_resize(box->files, box->file_count + 1, sizeof(*box->files));
    box->files[box->file_count++] = mem_strdup(file);
}

void
sandbox_connect(struct sandbox *box, uint16_t port)
{
    need_connect(box);
    box->ports =
        mem_resize(box->ports, box->port_count + 1, sizeof(*box->ports));
    box->ports[box->port_count++] = port;
}

void
sandbox_names(struct sandbox *box)
{
    need_connect(box);
    box->may |= SANDBOX_NAMES;
}

void
sandbox_stay(struct sandbox *box)
{
    box->may &= ~(unsigned)SANDBOX_CONNECT;
}

void
sandbox_memory(struct sandbox *box, int64_t bytes)
{
    box->memory = bytes;
}

/* These make system calls of their own, from inside the process. */
static const char *
why_not(void)
{
    if (SANITIZED)
        return "off: built with sanitizers, which it would hinder";
    if (RUNNING_ON_VALGRIND)
        return "off: run by valgrind, which it would hinder";
    return NULL;
}

static void
note(struct buf *lacking, int rc, const struct err *err)
{
    if (rc == 0)
        return;
    if (lacking->len > 0)
        buf_addz(lacking, "; ");
    buf_addz(lacking, err->text);
}

/* Each takes away what the next still needs. */
void
sandbox_enter(const struct sandbox *box, struct err *lacking)
{
    const char *why = why_not();
    struct buf line = {0};
    struct err err;

    if (why != NULL) {
        err_set(lacking, "%s", why);
        return;
    }
    note(&line, privileges_enter(box, &err), &err);
    note(&line, limits_enter(box, &err), &err);
    note(&line, landlock_enter(box, &err), &err);
    note(&line, seccomp_enter(box, &err), &err);
    err_set(lacking, "%.*s", (int)line.len,
            line.len > 0 ? buf_bytes(&line) : "");
    buf_fini(&line);
}
