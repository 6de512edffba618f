/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_WORDS_H
#define MOKKACTL_WORDS_H

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

/*
 * The words for an argument or operand by its name in help texts ("LEVEL"), or
 * those that it lists ("wide|json"), with spaces between; "" for free text.
 * FILE_WORDS: a file's name.
 */
extern const char FILE_WORDS[];
const char *argument_words(const char *name, size_t n);

/* Writes text between single quotes of a shell; what is in special gets a
 * backslash. */
void print_quoted(const char *text, const char *special);

#endif
