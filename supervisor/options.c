/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "proto/role.h"
#include "supervisor/control_name.h"
#include "supervisor/listener.h"

enum check {
    CHECK_ANY,
    CHECK_ADDRESS,
    CHECK_LEVEL,
    CHECK_FORMAT,
    CHECK_DURATION, /* not negative */
    CHECK_POSITIVE, /* a duration above zero */
    CHECK_NAMESPACE,
    CHECK_SUBDOMAIN,
    CHECK_COUNT, /* whole, 1 or more */
    CHECK_RATE,  /* above zero */
    CHECK_BOOL,
    CHECK_FLAG, /* true where it is given without a value */
    CHECK_SOCKET,
    CHECK_WORKERS, /* names with commas between */
};

static const struct row {
    const char *name, *environment, *fallback;
    enum check check;
    const char *argument, *help;
} rows[] = {
#define OPTION(name, environment, fallback, check, argument, help)             \
    {name, environment, fallback, CHECK_##check, argument, help},
#include "supervisor/options.def"
};

#define COUNT nitems(rows)

struct options {
    const char *values[COUNT];
    bool given[COUNT];
    bool by_environment[COUNT];
};

static size_t
row_of(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    fatal("no option %s", name);
}

const char *
options_get(const struct options *options, const char *name)
{
    return options->values[row_of(name)];
}

bool
options_given(const struct options *options, const char *name)
{
    return options->given[row_of(name)];
}

int64_t
options_duration(const struct options *options, const char *name)
{
    struct err err;
    int64_t ns;

    if (duration_parse(options_get(options, name), &ns, &err) != 0)
        fatal("option %s: %s", name, err.text);
    return ns;
}

static int
check_label(const char *text, size_t n, struct err *err)
{
    bool ok = n >= 1 && n <= 63 && text[0] != '-' && text[n - 1] != '-';

    for (size_t i = 0; i < n; i++)
        ok = ok && (islower((unsigned char)text[i]) ||
                    isdigit((unsigned char)text[i]) || text[i] == '-');
    if (ok)
        return 0;
    return err_set(err, "must be lower-case letters, digits and inner hyphens, "
                        "1 to 63 characters");
}

static int
check_namespace(const char *value, struct err *err)
{
    return check_label(value, strlen(value), err);
}

static int
check_subdomain(const char *value, struct err *err)
{
    size_t n;

    if (strlen(value) > 253)
        return err_set(err, "is longer than 253 characters");
    do {
        n = strcspn(value, ".");
        if (check_label(value, n, NULL) != 0)
            return err_set(err, "must be a DNS name: labels of lower-case "
                                "letters, digits and inner hyphens, joined by "
                                "dots");
        value += n;
    } while (*value++ == '.');
    return 0;
}

static int
check_duration(const char *value, struct err *err)
{
    int64_t ns;

    if (duration_parse(value, &ns, err) != 0)
        return -1;
    return ns >= 0 ? 0 : err_set(err, "must not be negative");
}

static int
check_positive(const char *value, struct err *err)
{
    int64_t ns;

    if (duration_parse(value, &ns, err) != 0)
        return -1;
    return ns > 0 ? 0 : err_set(err, "must be above zero");
}

static int
check_count(const char *value, struct err *err)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(value, &end, 10);
    if (errno == 0 && *end == '\0' && end != value && n >= 1 && n <= INT32_MAX)
        return 0;
    return err_set(err, "must be a whole number of 1 or more");
}

static int
check_rate(const char *value, struct err *err)
{
    char *end;
    double rate;

    errno = 0;
    rate = strtod(value, &end);
    if (errno == 0 && *end == '\0' && end != value && rate > 0 && rate < 1e9)
        return 0;
    return err_set(err, "must be a number above zero");
}

static int
check_bool(const char *value, struct err *err)
{
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return 0;
    return err_set(err, "must be true or false");
}

static int
check_level(const char *value, struct err *err)
{
    enum log_level level;

    if (log_level_parse(value, &level))
        return 0;
    return err_set(err, "must be debug, info, warn or error");
}

static int
check_format(const char *value, struct err *err)
{
    enum log_format format;

    if (log_format_parse(value, &format))
        return 0;
    return err_set(err, "must be json or plain");
}

static int
check_workers(const char *value, struct err *err)
{
    char name[32];
    enum role role;

    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ",");

        snprintf(name, sizeof(name), "%.*s", (int)n, at);
        if (!role_find(name, &role) || role == ROLE_SUPERVISOR)
            return err_set(err, "there is no worker \"%s\"", name);
        at += n;
        if (*at == '\0')
            return 0;
    }
}

static int
check_any(const char *value, struct err *err)
{
    (void)value;
    (void)err;
    return 0;
}

static int (*const checks[])(const char *, struct err *) = {
    [CHECK_ANY] = check_any,
    [CHECK_ADDRESS] = listener_check,
    [CHECK_LEVEL] = check_level,
    [CHECK_FORMAT] = check_format,
    [CHECK_DURATION] = check_duration,
    [CHECK_POSITIVE] = check_positive,
    [CHECK_NAMESPACE] = check_namespace,
    [CHECK_SUBDOMAIN] = check_subdomain,
    [CHECK_COUNT] = check_count,
    [CHECK_RATE] = check_rate,
    [CHECK_BOOL] = check_bool,
    [CHECK_FLAG] = check_bool,
    [CHECK_SOCKET] = control_name_check,
    [CHECK_WORKERS] = check_workers,
};

static int
check_each(const struct options *options, struct err *err)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct err why;

        /* What has no default is off, or filled in later, unless given. */
        if (!options->given[i] && options->values[i][0] == '\0')
            continue;
        if (checks[rows[i].check](options->values[i], &why) == 0)
            continue;
        if (options->by_environment[i])
            return err_set(err, "$%s \"%s\": %s", rows[i].environment,
                           options->values[i], why.text);
        return err_set(err, "--%s \"%s\": %s", rows[i].name, options->values[i],
                       why.text);
    }
    return 0;
}

/* What must hold between values (mokka-control 2.3). */
static int
check_together(const struct options *options, struct err *err)
{
    int64_t lease = options_duration(options, "leader-election-lease-duration");
    int64_t renew = options_duration(options, "leader-election-renew-deadline");
    int64_t retry = options_duration(options, "leader-election-retry-period");
    int64_t debounce = options_duration(options, "status-debounce");
    int64_t progress = options_duration(options, "status-progress-interval");

    if (lease <= renew)
        return err_set(err,
                       "--leader-election-lease-duration (%s) must be "
                       "above --leader-election-renew-deadline (%s)",
                       options_get(options, "leader-election-lease-duration"),
                       options_get(options, "leader-election-renew-deadline"));
    if ((double)renew <= (double)retry * 1.2)
        return err_set(err,
                       "--leader-election-renew-deadline (%s) must be "
                       "above 1.2 times --leader-election-retry-period "
                       "(%s)",
                       options_get(options, "leader-election-renew-deadline"),
                       options_get(options, "leader-election-retry-period"));
    if (progress > 0 && progress < debounce)
        return err_set(err,
                       "--status-progress-interval (%s) must be 0 or at "
                       "least --status-debounce (%s)",
                       options_get(options, "status-progress-interval"),
                       options_get(options, "status-debounce"));
    return 0;
}

/* What is given and makes no sense beside --shadow. */
static int
check_shadow(const struct options *options, struct err *err)
{
    static const char lease[] = "leader-election-";

    if (strcmp(options_get(options, "shadow"), "true") != 0)
        return 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (!options->given[i] ||
            strncmp(rows[i].name, lease, sizeof(lease) - 1) != 0)
            continue;
        return err_set(err,
                       "--shadow takes no Lease, so %s%s has no meaning with "
                       "it: leave one of the two out",
                       options->by_environment[i] ? "$" : "--",
                       options->by_environment[i] ? rows[i].environment
                                                  : rows[i].name);
    }
    return 0;
}

static void
fill_from_environment(struct options *options)
{
    size_t namespace = row_of("leader-election-namespace");
    const char *pod = getenv("POD_NAMESPACE");

    for (size_t i = 0; i < COUNT; i++) {
        const char *value =
            rows[i].environment == NULL ? NULL : getenv(rows[i].environment);

        options->given[i] = value != NULL && *value != '\0';
        options->by_environment[i] = options->given[i];
        options->values[i] = options->given[i] ? value : rows[i].fallback;
    }
    if (!options->given[namespace])
        options->values[namespace] =
            pod != NULL && *pod != '\0' ? pod : "default";
}

static void
show_help(void)
{
    printf("control-plane: keeps racks of simulated GPUs in a Kubernetes "
           "cluster.\n\n"
           "Usage: control-plane [--OPTION VALUE | --OPTION=VALUE]...\n\n"
           "It runs as a pod (or, with --kubeconfig, anywhere), makes SGPURack "
           "objects from\nSGPURackProfile and SGPUInventory objects, and "
           "assigns eligible Nodes to their slots.\n"
           "See what it does with: kubectl get sinv,sgpur\n\n"
           "Options (flag, environment variable, default):\n");
    for (size_t i = 0; i < COUNT; i++) {
        printf("  --%s%s%s\n      %s", rows[i].name,
               rows[i].argument[0] == '\0' ? "" : " ", rows[i].argument,
               rows[i].help);
        if (rows[i].fallback[0] != '\0')
            printf(" (default %s)", rows[i].fallback);
        if (rows[i].environment != NULL)
            printf("\n      $%s", rows[i].environment);
        printf("\n");
    }
    printf(
        "  -h, --help\n      this text\n  --version\n      version and build\n"
        "\nTimes are written like 15s, 100ms or 1m30s. "
        "Exit status: 0 after a stop by\nSIGTERM or SIGINT, 1 when it "
        "could not start or could not go on.\n");
}

enum { SHOW_HELP = COUNT, SHOW_VERSION, LONG_COUNT };

static void
make_long_options(struct option *out)
{
    for (size_t i = 0; i < COUNT; i++)
        out[i] = (struct option){
            rows[i].name,
            rows[i].check == CHECK_FLAG ? optional_argument : required_argument,
            NULL, (int)i + 256};
    out[SHOW_HELP] =
        (struct option){"help", no_argument, NULL, SHOW_HELP + 256};
    out[SHOW_VERSION] =
        (struct option){"version", no_argument, NULL, SHOW_VERSION + 256};
    out[LONG_COUNT] = (struct option){0};
}

/* Flags in the forms of Go's programs, too: one hyphen or two, but no parts of
 * names, which may mean something else one day. */
static int
next_flag(int argc, char **argv, const struct option *longs)
{
    const char *word = optind < argc ? argv[optind] : "";
    const char *name = word + strspn(word, "-");
    int index = -1;
    int c = getopt_long_only(argc, argv, "+:h", longs, &index);

    if (index >= 0 && strcspn(name, "=") != strlen(longs[index].name))
        return '?';
    return c;
}

static enum options_result
read_flags(struct options *options, int argc, char **argv, struct err *err)
{
    struct option longs[LONG_COUNT + 1];

    make_long_options(longs);
    opterr = 0;
    optind = 1;
    for (;;) {
        const char *word = optind < argc ? argv[optind] : "";
        int c = next_flag(argc, argv, longs);

        if (c == -1)
            break;
        if (c == ':' || c == '?') {
            err_set(err, "%s %s (see control-plane --help)",
                    c == ':' ? "a value is missing after" : "unknown option",
                    word);
            return OPTIONS_BAD;
        }
        if (c == SHOW_HELP + 256 || c == 'h') {
            show_help();
            return OPTIONS_SHOWN;
        }
        if (c == SHOW_VERSION + 256) {
            printf("control-plane %s (commit %s, build %s)\n", build_version,
                   build_commit, build_id);
            return OPTIONS_SHOWN;
        }
        options->values[c - 256] = optarg == NULL ? "true" : optarg;
        options->given[c - 256] = true;
        options->by_environment[c - 256] = false;
    }
    if (optind == argc)
        return OPTIONS_OK;
    err_set(err,
            "unexpected argument \"%s\": every value follows an --option "
            "(see control-plane --help)",
            argv[optind]);
    return OPTIONS_BAD;
}

enum options_result
options_read(struct options **out, int argc, char **argv, struct err *err)
{
    struct options *options = mem_zalloc(sizeof(*options));
    enum options_result result;

    fill_from_environment(options);
    result = read_flags(options, argc, argv, err);
    if (result == OPTIONS_OK &&
        (check_each(options, err) != 0 || check_together(options, err) != 0 ||
         check_shadow(options, err) != 0))
        result = OPTIONS_BAD;
    if (result == OPTIONS_OK)
        *out = options;
    else
        options_free(options);
    return result;
}

void
options_free(struct options *options)
{
    free(options);
}

void
options_pack(struct buf *out, const struct options *options,
             const char *identity, int64_t memory)
{
    char number[32];

    pack_map(out, COUNT + 2);
    for (size_t i = 0; i < COUNT; i++) {
        pack_text(out, rows[i].name);
        pack_text(out, options->values[i]);
    }
    pack_text(out, "identity");
    pack_text(out, identity);
    snprintf(number, sizeof(number), "%" PRId64, memory);
    pack_text(out, "memory");
    pack_text(out, number);
}
