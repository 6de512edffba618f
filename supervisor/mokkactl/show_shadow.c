/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl shadow: what a control plane in shadow would write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/columns.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

static bool
keep(void *arg, struct str text)
{
    buf_adds(arg, text);
    return true;
}

static void
add_row(struct columns *c, struct str line)
{
    json_t *row = kube_json_parse(line, NULL);
    char *since = mem_printf("%lld s", (long long)json_integer_value(
                                           json_object_get(row, "seconds")));

    columns_text(c, kube_json_text(row, "verb"));
    columns_text(c, kube_json_text(row, "resource"));
    columns_text(c, kube_json_text(row, "name"));
    columns_text(c, since);
    columns_text(c, kube_json_text(row, "what"));
    columns_end(c);
    free(since);
    json_decref(row);
}

static void
print_table(struct str lines)
{
    static const char *const head[] = {"VERB", "RESOURCE", "NAME", "SINCE",
                                       "WHAT"};
    struct columns c = {0};

    if (lines.n == 0) {
        puts("Nothing would be written.");
        return;
    }
    for (size_t i = 0; i < nitems(head); i++)
        columns_text(&c, head[i]);
    columns_end(&c);
    while (lines.n > 0) {
        const char *end = memchr(lines.s, '\n', lines.n);
        struct str line = {lines.s,
                           end == NULL ? lines.n : (size_t)(end - lines.s)};

        add_row(&c, line);
        if (end == NULL)
            break;
        lines.s += line.n + 1;
        lines.n -= line.n + 1;
    }
    columns_print(&c, stdout);
}

int
run_shadow(const struct ctl_args *args)
{
    static const char *const arguments[] = {"projector", "shadow"};
    const char *form = ctl_value(args, "output");
    struct buf lines = {0};
    int status;

    if (form != NULL && strcmp(form, "json") != 0)
        return ctl_fail(args, "-o must be json, but is %s", form);
    status =
        run_command(args, "ask", arguments, nitems(arguments), keep, &lines);
    if (status == EXIT_FINE && form == NULL)
        print_table(buf_str(&lines));
    else if (status == EXIT_FINE)
        fwrite(buf_bytes(&lines), 1, lines.len, stdout);
    if (status == EXIT_FINE && lines.len > 0 &&
        ctl_value(args, "exit-code") != NULL)
        status = EXIT_NOT_FINE;
    buf_fini(&lines);
    return status;
}
