/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_READER_H
#define INFORMER_READER_H

#include <jansson.h>
#include <stdbool.h>

#include "common/arena.h"
#include "common/err.h"
#include "proto/object.h"

/*
 * Reads fields of a JSON object, one after the other, and remembers the first
 * fault: from then on it gives empty values, so that a whole record can be
 * filled before reader_end tells.  Paths are those of common/kube/json.h.
 * Views are borrowed from the JSON and the arena.
 */
struct reader {
    const json_t *root;
    struct arena *arena;
    struct err *err;
    bool bad;
};

/* A reader for an object inside: the value of a list, say. Its faults are to be
 * given back with reader_close. */
struct reader reader_open(const struct reader *outer, const json_t *root);
void reader_close(struct reader *outer, const struct reader *inner);

/* "" and 0 where absent. */
struct str reader_text(struct reader *r, const char *path);
int64_t reader_number(struct reader *r, const char *path);

/* As above; absent is a fault. */
struct str reader_need_text(struct reader *r, const char *path);

/* 1, 0, or -1 where absent. */
int reader_choice(struct reader *r, const char *path);

/* NULL where absent. */
const json_t *reader_list(struct reader *r, const char *path);
const json_t *reader_object(struct reader *r, const char *path);

/* A map of texts, sorted; a list of texts in its order. */
struct pairs reader_pairs(struct reader *r, const char *path);
struct strs reader_strs(struct reader *r, const char *path);

/* A point in time in seconds since 1970; 0 where absent. */
int64_t reader_time(struct reader *r, const char *path);

/* -1 if there was a fault; the reader's err names it. */
int reader_end(const struct reader *r);

#endif
