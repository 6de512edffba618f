/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl tap: the messages of a link, as they pass. */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

struct filter {
    const char *types; /* "A,B", or NULL: all */
    const char *text;  /* to be in the line, or NULL */
    int64_t left;      /* lines to show; -1: no limit */
};

/* Is it one of the words, which have commas between? */
static bool
has_word(const char *words, struct str word)
{
    for (; *words != '\0'; words += strcspn(words, ","), words += *words == ',')
        if (str_eq((struct str){words, strcspn(words, ",")}, word))
            return true;
    return false;
}

static struct str
type_in(struct str line)
{
    const char *at = memmem(line.s, line.n, "\"type\":\"", 8);
    const char *end;

    if (at == NULL)
        return STR("");
    at += 8;
    end = memchr(at, '"', (size_t)(line.s + line.n - at));
    return (struct str){at, end == NULL ? 0 : (size_t)(end - at)};
}

static bool
passes(const struct filter *f, struct str line)
{
    return (f->types == NULL || has_word(f->types, type_in(line))) &&
           (f->text == NULL ||
            memmem(line.s, line.n, f->text, strlen(f->text)) != NULL);
}

static bool
show(void *arg, struct str line)
{
    struct filter *f = arg;

    if (!passes(f, line))
        return true;
    if (fwrite(line.s, 1, line.n, stdout) != line.n || fflush(stdout) != 0)
        return false;
    if (f->left > 0)
        f->left--;
    return f->left != 0;
}

int
run_tap(const struct ctl_args *args)
{
    struct filter f = {ctl_value(args, "type"), ctl_value(args, "grep"), -1};
    const char *count = ctl_value(args, "count");
    char *a = mem_strdup(args->operands[0]);
    char *b = strchr(a, ':');
    char *end;
    int status;

    if (count != NULL) {
        f.left = strtol(count, &end, 10);
        if (*end != '\0' || f.left < 1) {
            free(a);
            return ctl_fail(args, "-n must be a number of 1 or more, but is %s",
                            count);
        }
    }
    if (b == NULL) {
        free(a);
        return ctl_fail(args, "a link is named by its ends, like "
                              "informer:placer");
    }
    *b++ = '\0';
    status = run_command(args, "tap", (const char *[]){a, b}, 2, show, &f);
    free(a);
    return status;
}
