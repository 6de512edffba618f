/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_RESOURCE_H
#define INFORMER_RESOURCE_H

#include <stdbool.h>

#include "informer/extract.h"
#include "informer/watch.h"

/* A row of resources.def. */
enum encoding { ENCODING_JSON, ENCODING_META };

struct resource_row {
    const char *group, *version, *plural;
    const char *label, *value; /* the selector; label "": everything */
    extract_fn *extract;
    enum object_kind kind;
    enum encoding encoding;
    int page;
    bool echo;
};

const struct resource_row *resource_of(enum object_kind kind);

/* "sgpuracks.mokka.nvidia.com", "nodes": as RBAC and CRDs name it.  Writes to
 * text, which is returned. */
#define RESOURCE_NAME 128
const char *resource_name(const struct resource_row *r,
                          char text[RESOURCE_NAME]);

/* The paths, with query, of the requests that a step of the watch asks for;
 * the caller frees them. */
char *resource_list_path(const struct resource_row *r,
                         const struct watch_todo *todo);
char *resource_watch_path(const struct resource_row *r,
                          const struct watch_todo *todo);

/* What to accept as the answer of a list, and of a watch. */
const char *resource_list_accept(const struct resource_row *r);
const char *resource_watch_accept(const struct resource_row *r);

/* The content type that the answer must have. */
const char *resource_content_type(const struct resource_row *r);

/* Whether the labels of a record satisfy the selector. */
bool resource_selects(const struct resource_row *r, struct pairs labels);

#endif
