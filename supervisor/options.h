/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * The configuration: flag beats environment beats default, from one table
 * (options.def).  Workers get it whole, by name, in CONFIG.
 */
struct options;

enum options_result {
    OPTIONS_OK,
    OPTIONS_SHOWN, /* --help or --version was printed */
    OPTIONS_BAD,   /* err has the one line: what, which value, what to do */
};

/* Reads the arguments and the environment and checks all values, each by
 * itself and against each other. *options is set with OPTIONS_OK only. */
enum options_result options_read(struct options **options, int argc,
                                 char **argv, struct err *err);
void options_free(struct options *options);

/* The value of an option; name must be in the table. */
const char *options_get(const struct options *options, const char *name);

/* The value of a duration, in nanoseconds. */
int64_t options_duration(const struct options *options, const char *name);

/* Whether the value came from a flag or the environment. */
bool options_given(const struct options *options, const char *name);

/* Adds {name: value} of all options, and beside them identity and memory, the
 * bytes that the worker may have (0: no limit), as a msgpack map: what CONFIG
 * carries. */
void options_pack(struct buf *out, const struct options *options,
                  const char *identity, int64_t memory);

#endif
