/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_PROBLEM_H
#define MOKKACTL_PROBLEM_H

#include <stddef.h>
#include <stdio.h>

/*
 * What is wrong with the input, told one line each as it is found:
 *
 *     FILE:LINE: error: document 2, SGPUInventory lab: spec.rackGroups: ...
 *
 * Errors are counted, so that all of a run can be told before it ends.
 */
struct problems;

enum severity { PROBLEM_WARNING, PROBLEM_ERROR };

/* Of each severity so many are told for one file; the others are counted. */
#define PROBLEM_FILE_MAX 100

/* Where something stands; what is not known is NULL or 0. */
struct place {
    const char *file;
    size_t line;
    size_t document;
    size_t item; /* of the list that the document is */
    const char *kind, *name;
};

struct problems *problems_new(FILE *out);

/* NULL is fine. */
void problems_free(struct problems *p);

/* A file begins: its problems are counted anew. */
void problems_begin(struct problems *p);

/* It is over: tells how many were not told. */
void problems_end(struct problems *p, const char *file);

void problem(struct problems *p, enum severity severity,
             const struct place *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* All errors so far. */
size_t problems_errors(const struct problems *p);

#endif
