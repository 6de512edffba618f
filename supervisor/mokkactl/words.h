/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_WORDS_H
#define MOKKACTL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * What the completions of shells and the manual pages say of both programs: the
 * flags of control-plane as rows, as those of mokkactl are (command.h), and
 * which words may stand where a help text names an argument.
 */
struct flag {
    const char *name, *environment, *fallback, *argument, *help;
};

/* Those of control-plane, in the order of supervisor/options.def. */
const struct flag *flags(size_t *count);

/* What may stand for an argument or operand. */
struct words {
    bool file;     /* a file's name; text is "FILE" then */
    char text[64]; /* with spaces between; "" for free text */
};

/* By its name in help texts ("LEVEL"), or what that lists ("wide|json"). */
struct words argument_words(const char *name, size_t n);

/* Writes text between single quotes of a shell; what is in special gets a
 * backslash. */
void print_quoted(const char *text, const char *special);

#endif
