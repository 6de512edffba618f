/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_SELECTOR_H
#define PLACER_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/buf.h"
#include "common/err.h"
#include "proto/object.h"

struct value;

/*
 * A placement selector (mokka-api 6.2), compiled to a list of requirements
 * that must all hold.  A zeroed one has none and matches every Node.
 */
struct selector {
    struct selector_term *terms;
    size_t count;
    struct arena arena;
};

/*
 * Compiles a labelSelector (NULL: absent, matches everything) to *s, which
 * needs no initialisation.  -1, err and a zeroed *s if it is invalid; err names
 * the key, and the operator or value at fault.  Copies what it needs.
 */
int selector_compile(struct selector *s, const struct value *node_selector,
                     struct err *err);

/* Do all requirements hold for these labels? Takes one binary search for each
 * requirement, and one for the values of In and NotIn. */
bool selector_match(const struct selector *s, struct pairs labels);

/* Appends it as kubectl takes it after -l, each requirement with a comma before
 * it: ",pool=a,zone in (x,y),!gone"; not more than width bytes, then "...". */
void selector_text(struct buf *out, const struct selector *s, size_t width);

void selector_fini(struct selector *s);

#endif
