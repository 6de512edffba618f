/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "placer/replay.h"

#define BAD_USE 2

static const struct {
    const char *name;
    enum replay_show show;
} forms[] = {
    {"lines", REPLAY_LINES},
    {"json", REPLAY_JSON},
    {"none", REPLAY_NOTHING},
};

static int
use(FILE *to)
{
    fputs("placer --replay FILE [-o lines|json|none]\n\n"
          "Runs a recording of control-plane --record through the placer, "
          "prints what it says\nto the projector, and compares that with what "
          "it said when it was recorded.\n\n"
          "  -o lines  a line for each intent, long fields cut (default)\n"
          "  -o json   a JSON object for each intent, whole\n"
          "  -o none   only the verdict, which goes to stderr\n\n"
          "Exit status: 0 it says the same, 1 it does not, 2 the file or the "
          "command line is wrong.\n",
          to);
    return to == stderr ? BAD_USE : 0;
}

static int
read_form(const char *text, enum replay_show *show)
{
    for (size_t i = 0; i < nitems(forms); i++) {
        if (strcmp(forms[i].name, text) != 0)
            continue;
        *show = forms[i].show;
        return 0;
    }
    return -1;
}

/* The whole file, to be given back with munmap; an empty one is no bytes. */
static int
map_file(const char *path, struct str *bytes, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *at = MAP_FAILED;

    *bytes = STR("");
    if (fd < 0)
        return err_errno(err, "%s", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(err, "%s: this is no file", path);
    }
    if (st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (st.st_size > 0 && at == MAP_FAILED)
        return err_errno(err, "%s", path);
    if (st.st_size > 0)
        *bytes = (struct str){at, (size_t)st.st_size};
    return 0;
}

static void
tell_sums(const struct replay_sums *sums, const char *verdict)
{
    fprintf(stderr, "%" PRIu64 " inputs, %" PRIu64 " intents, %s", sums->taken,
            sums->said, verdict);
    if (sums->sections > 1)
        fprintf(stderr, "; %" PRIu64 " starts of the placer", sums->sections);
    if (sums->cut > 0)
        fprintf(stderr, ", %" PRIu64 " without an end", sums->cut);
    if (sums->extra > 0)
        fprintf(stderr, "; %" PRIu64 " intents beyond what was recorded",
                sums->extra);
    fputc('\n', stderr);
}

static int
run(const char *path, enum replay_show show)
{
    struct replay_sums sums;
    struct str bytes;
    struct err err;
    enum replay_result result;

    if (map_file(path, &bytes, &err) != 0) {
        fprintf(stderr, "placer: %s\n", err.text);
        return BAD_USE;
    }
    result = replay(bytes, show, &sums, &err);
    if (bytes.n > 0)
        munmap((void *)bytes.s, bytes.n);
    if (result == REPLAY_SAME) {
        tell_sums(&sums, "identical");
    } else {
        fprintf(stderr, "placer: %s: %s\n", path, err.text);
        tell_sums(&sums, "identical up to there");
    }
    if (fflush(stdout) != 0 && result == REPLAY_SAME) {
        fprintf(stderr, "placer: stdout: %s\n", strerror(errno));
        return BAD_USE;
    }
    return (int)result;
}

int
replay_command(int argc, char **argv)
{
    static const struct option longs[] = {
        {"replay", required_argument, NULL, 'r'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    enum replay_show show = REPLAY_LINES;
    const char *path = NULL;
    int c;

    while ((c = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
        if (c == 'h')
            return use(stdout);
        if (c == 'r')
            path = optarg;
        else if (c != 'o' || read_form(optarg, &show) != 0)
            return use(stderr);
    }
    if (path == NULL || optind != argc)
        return use(stderr);
    /* Stdout is for the intents, and what the placer logged is in its log. */
    log_to(STDERR_FILENO);
    log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    return run(path, show);
}
