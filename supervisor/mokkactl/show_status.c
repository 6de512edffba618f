/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl status: what the supervisor says of itself and its workers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/columns.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

/* Facts that a table without -o wide shows, where a worker has them. */
static const char *const shown_facts[] = {
    "nodes", "racks", "unsent", "wishes_open", "in_flight", "queued", "term",
};

static int64_t
number_of(const json_t *of, const char *key)
{
    const json_t *value = json_object_get(of, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static bool
is_set(const json_t *of, const char *key)
{
    return json_is_true(json_object_get(of, key));
}

/* "3s", "4m12s", "5h3m", "2d4h". */
static void
format_age(char *out, size_t size, int64_t seconds)
{
    static const struct {
        int64_t of;
        const char *big, *small;
        int64_t part;
    } units[] = {
        {86400, "d", "h", 3600}, {3600, "h", "m", 60}, {60, "m", "s", 1}};

    for (size_t i = 0; i < nitems(units); i++) {
        if (seconds < units[i].of)
            continue;
        snprintf(out, size, "%" PRId64 "%s%" PRId64 "%s", seconds / units[i].of,
                 units[i].big, seconds % units[i].of / units[i].part,
                 units[i].small);
        return;
    }
    snprintf(out, size, "%" PRId64 "s", seconds < 0 ? 0 : seconds);
}

static void
add_age(struct columns *c, const json_t *root, const char *since)
{
    int64_t then, now;
    char text[48] = "-";

    if (clock_parse(str_of(since), &then, NULL) == 0 &&
        clock_parse(str_of(kube_json_text(root, "time")), &now, NULL) == 0)
        format_age(text, sizeof(text), (now - then) / CLOCK_SECOND);
    columns_text(c, text);
}

static void
add_measures(struct columns *c, const json_t *of)
{
    int64_t cpu = number_of(of, "cpuMilliseconds");
    int64_t memory = number_of(of, "residentKiB");
    char text[48];

    snprintf(text, sizeof(text), "%" PRId64 ".%02" PRId64 "s", cpu / 1000,
             cpu % 1000 / 10);
    columns_text(c, cpu < 0 ? "-" : text);
    snprintf(text, sizeof(text), "%" PRId64 "M", memory / 1024);
    columns_text(c, memory < 0 ? "-" : text);
}

static void
add_facts(struct buf *line, const json_t *facts, bool wide)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)facts, key, value)
    {
        bool show = wide;

        for (size_t i = 0; i < nitems(shown_facts); i++)
            show = show || strcmp(shown_facts[i], key) == 0;
        if (show && json_is_integer(value))
            buf_printf(line, "%s%s=%" JSON_INTEGER_FORMAT,
                       line->len > 0 ? " " : "", key,
                       json_integer_value(value));
    }
}

/* What is not as usual comes first. */
static void
add_notes(struct columns *c, const json_t *worker, bool wide)
{
    const char *cause = kube_json_text(worker, "lastCause");
    struct buf line = {0};
    char *text;

    if (is_set(worker, "lent"))
        buf_addz(&line, "lent");
    if (is_set(worker, "held") &&
        strcmp(kube_json_text(worker, "state"), "held") != 0)
        buf_printf(&line, "%sheld", line.len > 0 ? " " : "");
    if (number_of(worker, "unansweredSeconds") > 0)
        buf_printf(&line, "%ssilent for %" PRId64 " s", line.len > 0 ? " " : "",
                   number_of(worker, "unansweredSeconds"));
    if (!is_set(worker, "ok") && *kube_json_text(worker, "reason") != '\0')
        buf_printf(&line, "%s(%s)", line.len > 0 ? " " : "",
                   kube_json_text(worker, "reason"));
    add_facts(&line, json_object_get(worker, "facts"), wide);
    if (wide)
        buf_printf(&line, "%squeue=%" PRId64 "B", line.len > 0 ? " " : "",
                   number_of(worker, "controlQueueBytes"));
    text = buf_take(&line);
    columns_text(c, *cause == '\0' ? "-" : cause);
    columns_text(c, text);
    free(text);
}

static void
add_worker(struct columns *c, const json_t *root, const json_t *worker,
           bool last, bool wide)
{
    char name[64];

    snprintf(name, sizeof(name), "%s %s", last ? "`-" : "|-",
             kube_json_text(worker, "name"));
    columns_text(c, name);
    columns_number(c, number_of(worker, "pid"));
    columns_text(c, kube_json_text(worker, "state"));
    add_age(c, root, kube_json_text(worker, "since"));
    columns_number(c, number_of(worker, "restarts"));
    add_measures(c, worker);
    add_notes(c, worker, wide);
    columns_end(c);
}

static void
add_head(struct columns *c)
{
    static const char *const head[] = {"PROCESS", "PID",        "STATE",
                                       "SINCE",   "RESTARTS",   "CPU",
                                       "RSS",     "LAST CAUSE", "WORK"};

    for (size_t i = 0; i < nitems(head); i++)
        columns_text(c, head[i]);
    columns_end(c);
}

static void
add_supervisor(struct columns *c, const json_t *root)
{
    columns_text(c, "supervisor");
    columns_number(c, number_of(root, "pid"));
    columns_text(c, is_set(root, "stopping") ? "stopping" : "running");
    columns_text(c, "-");
    columns_text(c, "-");
    add_measures(c, root);
    columns_text(c, "-");
    columns_text(c, "");
    columns_end(c);
}

/* The workers that lack the same, one line; those before worker i had theirs.
 */
static void
print_lacking(const json_t *workers, size_t i)
{
    const char *lacks =
        kube_json_text(json_array_get(workers, i), "sandboxLacks");
    const char *before = "sandbox: ";

    for (size_t j = 0; j < json_array_size(workers); j++) {
        const json_t *w = json_array_get(workers, j);

        if (strcmp(kube_json_text(w, "sandboxLacks"), lacks) != 0)
            continue;
        if (j < i)
            return;
        printf("%s%s", before, kube_json_text(w, "name"));
        before = ", ";
    }
    printf(": %s\n", lacks);
}

/* A worker that is away counts as the one before it. */
static void
print_sandbox(const json_t *workers)
{
    size_t whole = 0;

    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *w = json_array_get(workers, i);

        if (*kube_json_text(w, "sandboxLacks") == '\0')
            whole++;
        else
            print_lacking(workers, i);
    }
    if (whole == json_array_size(workers))
        puts("sandbox: complete");
}

/* Colours are for people at a terminal who did not say otherwise. */
static bool
wants_colour(const struct ctl_args *args)
{
    const char *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0') &&
           ctl_value(args, "no-color") == NULL;
}

static void
print_head(const json_t *root, bool coloured)
{
    bool ready = is_set(root, "ready");
    const char *colour = ready ? "\033[32m" : "\033[31m";
    int64_t term = number_of(root, "term");

    printf("%s%s%s", coloured ? colour : "", ready ? "ready" : "not ready",
           coloured ? "\033[0m" : "");
    if (!ready)
        printf(": %s", kube_json_text(root, "reason"));
    if (is_set(root, "shadow"))
        printf(", in shadow");
    else if (term > 0)
        printf(", leads (term %" PRId64 ")", term);
    else
        printf(", does not lead");
    printf("; Lease %s/%s, build %s\n", kube_json_text(root, "leaseNamespace"),
           kube_json_text(root, "leaseName"), kube_json_text(root, "build"));
}

static void
print_table(const json_t *root, bool wide, bool coloured)
{
    const json_t *workers = json_object_get(root, "workers");
    struct columns c = {0};

    print_head(root, coloured);
    print_sandbox(workers);
    putchar('\n');
    add_head(&c);
    add_supervisor(&c, root);
    for (size_t i = 0; i < json_array_size(workers); i++)
        add_worker(&c, root, json_array_get(workers, i),
                   i + 1 == json_array_size(workers), wide);
    columns_print(&c, stdout);
}

enum form { FORM_SHORT, FORM_WIDE, FORM_JSON };

static int
print_status(const struct ctl_args *args, struct str text, enum form form)
{
    struct err err;
    json_t *root;

    if (form == FORM_JSON) {
        fwrite(text.s, 1, text.n, stdout);
        return EXIT_FINE;
    }
    root = kube_json_parse(text, &err);
    if (root == NULL)
        return ctl_fail(args, "the answer cannot be read: %s", err.text);
    print_table(root, form == FORM_WIDE, wants_colour(args));
    json_decref(root);
    return EXIT_FINE;
}

static int
show_once(const struct ctl_args *args, struct live *live, enum form form)
{
    struct live_reply reply;
    struct err err;
    int status;

    if (live_command(live, "status", NULL, 0, NULL, NULL, &reply, &err) != 0)
        return ctl_fail(args, "%s", err.text);
    if (reply.ok)
        status = print_status(args, buf_str(&reply.text), form);
    else
        status =
            ctl_fail(args, "%.*s", (int)reply.text.len, buf_bytes(&reply.text));
    live_reply_fini(&reply);
    return status;
}

/* Until it cannot be shown any more, or ^C. */
static int
show_again_and_again(const struct ctl_args *args, struct live *live,
                     enum form form)
{
    bool terminal = isatty(STDOUT_FILENO) && form != FORM_JSON;
    int status;

    for (;;) {
        if (terminal)
            fputs("\033[H\033[J", stdout);
        status = show_once(args, live, form);
        if (status != EXIT_FINE || fflush(stdout) != 0)
            return status;
        sleep(1);
        if (!terminal && form != FORM_JSON)
            putchar('\n');
    }
}

int
run_status(const struct ctl_args *args)
{
    const char *output = ctl_value(args, "output");
    enum form form = FORM_SHORT;
    struct live *live;
    int status;

    if (output != NULL && strcmp(output, "wide") == 0)
        form = FORM_WIDE;
    else if (output != NULL && strcmp(output, "json") == 0)
        form = FORM_JSON;
    else if (output != NULL)
        return ctl_fail(args, "-o must be wide or json, but is %s", output);
    live = run_open(args);
    if (live == NULL)
        return EXIT_ERROR;
    if (ctl_value(args, "watch") != NULL)
        status = show_again_and_again(args, live, form);
    else
        status = show_once(args, live, form);
    live_close(live);
    return status;
}
