/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/words.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"

#define FILE_WORDS "FILE"

static const struct flag all[] = {
#define OPTION(name, environment, fallback, check, argument, help)             \
    {name, environment, fallback, argument, help},
#include "supervisor/options.def"
};

const struct flag *
flags(size_t *count)
{
    *count = nitems(all);
    return all;
}

static const struct {
    const char *argument, *words;
} known[] = {
    {"A:B", "informer:placer placer:projector"},
    {"BOOL", "true false"},
    {"DIR", FILE_WORDS},
    {"FILE", FILE_WORDS},
    {"FORMAT", "json plain"},
    {"LEVEL", "debug info warn error"},
    {"PATH", FILE_WORDS},
    {"PROGRAM", "mokkactl control-plane"},
    {"SHELL", "bash zsh fish kubectl"},
    {"WORKER", "informer placer projector elector web"},
};

static struct words
words_of(const char *text, size_t n)
{
    struct words words = {0};

    if (n >= sizeof(words.text))
        fatal("too many words: %.*s", (int)n, text);
    memcpy(words.text, text, n);
    words.file = strcmp(words.text, FILE_WORDS) == 0;
    return words;
}

struct words
argument_words(const char *name, size_t n)
{
    struct words words = {0};

    if (memchr(name, '|', n) != NULL) {
        words = words_of(name, n);
        for (char *at = words.text; (at = strchr(at, '|')) != NULL;)
            *at = ' ';
        return words;
    }
    for (size_t i = 0; i < nitems(known); i++)
        if (strlen(known[i].argument) == n &&
            memcmp(known[i].argument, name, n) == 0)
            return words_of(known[i].words, strlen(known[i].words));
    return words;
}

void
print_quoted(const char *text, const char *special)
{
    putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(special, *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
    }
    putchar('\'');
}
