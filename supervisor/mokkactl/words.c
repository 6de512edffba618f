/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/words.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"

const char FILE_WORDS[] = "FILE";

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
    {"SHELL", "bash zsh fish"},
    {"WORKER", "informer placer projector elector web"},
};

/* "wide|json" as words, which stay until the next call. */
static const char *
split(const char *name, size_t n)
{
    static char words[64];

    if (n >= sizeof(words))
        fatal("too many words: %s", name);
    memcpy(words, name, n);
    words[n] = '\0';
    for (char *at = words; (at = strchr(at, '|')) != NULL;)
        *at = ' ';
    return words;
}

const char *
argument_words(const char *name, size_t n)
{
    if (memchr(name, '|', n) != NULL)
        return split(name, n);
    for (size_t i = 0; i < nitems(known); i++)
        if (strlen(known[i].argument) == n &&
            memcmp(known[i].argument, name, n) == 0)
            return known[i].words;
    return "";
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
