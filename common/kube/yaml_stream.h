/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_YAML_STREAM_H
#define COMMON_KUBE_YAML_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

/*
 * YAML step by step, for input of any length and any number of documents: each
 * step tells what begins or ends, and where.  Nothing is kept from one step to
 * the next, so memory is bounded by the longest value.  (For a small document
 * as a tree see yaml.h.)
 */
struct kube_yaml_stream;

/* Bytes that may come without one step in between: the limit of a value. */
#define KUBE_YAML_STEP_MAX ((size_t)16 << 20)

enum kube_yaml_step_kind {
    KUBE_YAML_DOCUMENT,     /* a document begins */
    KUBE_YAML_DOCUMENT_END, /* it is complete */
    KUBE_YAML_MAP_BEGIN,    /* keys and values follow in turn, then END */
    KUBE_YAML_LIST_BEGIN,   /* values follow, then END */
    KUBE_YAML_END,          /* of the innermost map or list */
    KUBE_YAML_VALUE,        /* a scalar, also as a key */
    KUBE_YAML_ALIAS,        /* "*name" in place of a value */
    KUBE_YAML_STREAM_END,
};

struct kube_yaml_step {
    enum kube_yaml_step_kind kind;
    size_t line;     /* from 1 */
    struct str text; /* of VALUE; of ALIAS its name. May hold NUL bytes */
    struct str tag;  /* of VALUE: as written in full, or empty */
    bool plain;      /* a VALUE without quotes, so it may be no text */
};

/* Reads bytes to room, at most n; 0 at the end, -1 on failure. */
typedef ssize_t kube_yaml_read_fn(void *arg, char *room, size_t n);

struct kube_yaml_stream *kube_yaml_stream_new(kube_yaml_read_fn *read,
                                              void *arg);

/* NULL is fine. */
void kube_yaml_stream_free(struct kube_yaml_stream *stream);

/*
 * The next step; its texts live until the call after.  -1 if this is no YAML,
 * no UTF-8, cannot be read or goes beyond the limit: err says what, *step has
 * the line, and nothing can follow.
 */
int kube_yaml_stream_next(struct kube_yaml_stream *stream,
                          struct kube_yaml_step *step, struct err *err);

#endif
