/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl support: what helps others to help, in one archive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/page.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

#define BLOCK 512

/* ---- tar --------------------------------------------------------------- */

/* The head of a file of an archive in the form of POSIX (ustar). */
struct head {
    char name[100], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type;
    char link[100], magic[8], user[32], group[32], devices[16], prefix[155];
    char pad[12];
};

_Static_assert(sizeof(struct head) == BLOCK, "one block");

static void
write_head(FILE *out, const char *name, size_t size)
{
    struct head h = {.type = '0', .magic = "ustar\00000"};
    const unsigned char *bytes = (const unsigned char *)&h;
    unsigned sum = 0;

    snprintf(h.name, sizeof(h.name), "%s", name);
    snprintf(h.mode, sizeof(h.mode), "%07o", 0644u);
    snprintf(h.uid, sizeof(h.uid), "%07o", 0u);
    snprintf(h.gid, sizeof(h.gid), "%07o", 0u);
    snprintf(h.size, sizeof(h.size), "%011zo", size);
    snprintf(h.time, sizeof(h.time), "%011llo",
             (unsigned long long)(clock_wall() / CLOCK_SECOND));
    memset(h.sum, ' ', sizeof(h.sum));
    for (size_t i = 0; i < BLOCK; i++)
        sum += bytes[i];
    snprintf(h.sum, sizeof(h.sum), "%06o", sum);
    fwrite(&h, 1, BLOCK, out);
}

static void
write_file(FILE *out, const char *name, struct str text)
{
    static const char zeros[BLOCK];

    write_head(out, name, text.n);
    fwrite(text.s, 1, text.n, out);
    fwrite(zeros, 1, (BLOCK - text.n % BLOCK) % BLOCK, out);
}

/* 0, or -1 if the disk or the reader did not take it all. */
static int
write_end(FILE *out)
{
    static const char zeros[2 * BLOCK];

    fwrite(zeros, 1, sizeof(zeros), out);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- contents ---------------------------------------------------------- */

/* What cannot be had is told in its place. */
static void
add_command(FILE *out, struct live *live, const char *file, const char *name,
            const char *const *arguments, size_t count)
{
    struct live_reply reply;
    struct err err;

    if (live_command(live, name, arguments, count, NULL, NULL, &reply, &err) !=
        0) {
        write_file(out, file, str_of(err.text));
        return;
    }
    write_file(out, file, buf_str(&reply.text));
    live_reply_fini(&reply);
}

/* The metrics, which are at the address that the status tells. */
static void
add_metrics(FILE *out, struct live *live)
{
    struct live_reply reply;
    struct buf page = {0};
    json_t *status = NULL;
    struct err err;

    if (live_command(live, "status", NULL, 0, NULL, NULL, &reply, &err) == 0) {
        status = kube_json_parse(buf_str(&reply.text), &err);
        live_reply_fini(&reply);
    }
    if (status == NULL || page_get(kube_json_text(status, "address"),
                                   "/metrics", &page, &err) != 0)
        buf_addz(&page, err.text);
    json_decref(status);
    write_file(out, "mokka-support/metrics.txt", buf_str(&page));
    buf_fini(&page);
}

static void
add_live(FILE *out, const struct ctl_args *args)
{
    static const char *const dumped[] = {"informer", "placer", "projector"};
    struct err err;
    struct live *live = live_open(ctl_value(args, "socket"), &err);

    if (live == NULL) {
        write_file(out, "mokka-support/status.json", str_of(err.text));
        return;
    }
    add_command(out, live, "mokka-support/status.json", "status", NULL, 0);
    for (size_t i = 0; i < nitems(dumped); i++) {
        const char *arguments[] = {dumped[i], "dump"};
        char file[64];

        snprintf(file, sizeof(file), "mokka-support/%s.jsonl", dumped[i]);
        add_command(out, live, file, "ask", arguments, 2);
    }
    add_metrics(out, live);
    live_close(live);
}

static void
add_check(FILE *out, const struct ctl_args *args)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    struct err err;

    if (memory == NULL)
        fatal("no memory for a file");
    if (check_to(memory, args, ctl_value(args, "socket"), &err) < 0)
        fprintf(memory, "%s\n", err.text);
    fclose(memory);
    write_file(out, "mokka-support/check.txt", (struct str){text, n});
    free(text);
}

/* Of --log, which only whoever started the control plane knows. */
static int
add_log(FILE *out, const struct ctl_args *args)
{
    const char *name = ctl_value(args, "log");
    FILE *file = name == NULL ? NULL : fopen(name, "re");
    struct buf text = {0};
    size_t n;

    if (name == NULL)
        return 0;
    if (file == NULL)
        return ctl_fail(args, "--log %s: %s", name, strerror(errno));
    while ((n = fread(buf_room(&text, BLOCK), 1, BLOCK, file)) > 0)
        buf_grew(&text, n);
    fclose(file);
    write_file(out, "mokka-support/log.jsonl", buf_str(&text));
    buf_fini(&text);
    return 0;
}

/* 0, or the exit status, and it was told why. */
static int
write_all(FILE *out, const struct ctl_args *args)
{
    char *version =
        mem_printf("mokkactl %s (build %s)\n", build_version, build_id);

    write_file(out, "mokka-support/version.txt", str_of(version));
    free(version);
    add_live(out, args);
    add_check(out, args);
    if (add_log(out, args) != 0)
        return EXIT_ERROR;
    if (write_end(out) != 0)
        return ctl_fail(args, "%s: not all could be written",
                        args->operands[0]);
    return EXIT_FINE;
}

int
run_support(const struct ctl_args *args)
{
    const char *file = args->operands[0];
    FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "wxe");
    int status;

    if (out == NULL)
        return ctl_fail(args, "%s: %s", file, strerror(errno));
    status = write_all(out, args);
    if (out != stdout)
        fclose(out);
    return status;
}
