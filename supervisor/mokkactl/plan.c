/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/plan.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/mokkactl/converge.h"
#include "supervisor/mokkactl/load.h"
#include "supervisor/mokkactl/objects.h"
#include "supervisor/mokkactl/show.h"

#define OUT_BUFFER 65536

enum output { FORM_TABLE, FORM_JSON, FORM_YAML, FORM_DIFF };

struct options {
    const char **files;
    size_t file_count;
    const char *kubeconfig; /* NULL: no cluster is read */
    enum output form;
    bool exit_code, timing, help;
};

static const char usage[] =
    "usage: mokkactl plan -f FILE|DIR|- [-f ...] [--kubeconfig FILE]\n"
    "                     [-o yaml|json | --diff] [--exit-code] [--timing]\n";

static const char help[] =
    "\n"
    "Tells what the control plane would make of the objects in files: which\n"
    "racks there would be, which Node would fill which slot, what would be\n"
    "written. It is the control plane's own code, on files instead of a "
    "cluster:\n"
    "it needs no cluster, changes none, and gives the same answer every time.\n"
    "With --kubeconfig the objects of a cluster are read, too, or alone; one "
    "of a\n"
    "file takes the place of the cluster's, as if it had just been applied.\n"
    "\n"
    "  -f FILE      objects in YAML or JSON; any number of documents, also "
    "lists\n"
    "     DIR       its files *.yaml, *.yml and *.json, in the order of names\n"
    "     -         stdin. -f may be given any number of times\n"
    "  -k, --kubeconfig FILE  what the cluster of this file has now; of Nodes "
    "only\n"
    "               their metadata\n"
    "  -o FORM      yaml or json: all objects as they stand in the end, a "
    "List\n"
    "  --diff       only what would change: create, update, delete, bind, "
    "release\n"
    "  --exit-code  exit with 2 if anything would change\n"
    "  --timing     tell on stderr how long what took\n"
    "  -h, --help   this text\n"
    "\n"
    "What counts are SGPURackProfile, SGPUInventory, SGPURack and Node; other\n"
    "kinds are passed over with a warning. Objects need no uid and no times.\n"
    "\n"
    "Try an inventory on a cluster, new or changed, and what waits to be "
    "written\n"
    "now:\n"
    "  mokkactl plan --kubeconfig ~/.kube/config -f inventory.yaml\n"
    "  mokkactl plan --kubeconfig ~/.kube/config --diff\n"
    "See what an edit would do to what is there:\n"
    "  kubectl get sgpurackprofiles,sgpuinventories,sgpuracks,nodes -o yaml "
    "\\\n"
    "    --show-managed-fields > estate.yaml\n"
    "  $EDITOR estate.yaml\n"
    "  mokkactl plan -f estate.yaml --diff\n"
    "Keep a directory of manifests sound:\n"
    "  mokkactl plan -f manifests/ > /dev/null\n"
    "\n"
    "Exit status: 0 fine; 1 the input or the command line has errors (each is\n"
    "told with file, line and field); 2 with --exit-code only: something "
    "would\n"
    "change.\n";

/* ---- command line ------------------------------------------------------ */

enum { OPT_DIFF = 256, OPT_EXIT_CODE, OPT_TIMING };

static const struct option long_options[] = {
    {"filename", required_argument, NULL, 'f'},
    {"kubeconfig", required_argument, NULL, 'k'},
    {"output", required_argument, NULL, 'o'},
    {"diff", no_argument, NULL, OPT_DIFF},
    {"exit-code", no_argument, NULL, OPT_EXIT_CODE},
    {"timing", no_argument, NULL, OPT_TIMING},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void
add_file(struct options *o, const char *file)
{
    o->files = mem_resize(o->files, o->file_count + 1, sizeof(const char *));
    o->files[o->file_count++] = file;
}

/* The form asked for must be the only one. */
static int
set_form(struct options *o, enum output form, struct err *err)
{
    if (o->form != FORM_TABLE && o->form != form)
        return err_set(err, "only one of -o yaml, -o json and --diff can be "
                            "given");
    o->form = form;
    return 0;
}

static int
set_output(struct options *o, const char *name, struct err *err)
{
    if (strcmp(name, "json") == 0)
        return set_form(o, FORM_JSON, err);
    if (strcmp(name, "yaml") == 0)
        return set_form(o, FORM_YAML, err);
    return err_set(err, "-o must be yaml or json, but is %s", name);
}

static int
set_option(struct options *o, int option, struct err *err)
{
    switch (option) {
    case 'f':
        add_file(o, optarg);
        return 0;
    case 'k':
        o->kubeconfig = optarg;
        return 0;
    case 'o':
        return set_output(o, optarg, err);
    case 'h':
        o->help = true;
        return 0;
    case OPT_DIFF:
        return set_form(o, FORM_DIFF, err);
    case OPT_EXIT_CODE:
        o->exit_code = true;
        return 0;
    case OPT_TIMING:
        o->timing = true;
        return 0;
    default:
        return err_set(err, "see mokkactl plan --help");
    }
}

static size_t
stdin_count(const struct options *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->file_count; i++)
        n += strcmp(o->files[i], "-") == 0;
    return n;
}

static int
read_options(struct options *o, int argc, char **argv, struct err *err)
{
    int option;

    optind = 1;
    while ((option = getopt_long(argc, argv, "f:k:o:h", long_options, NULL)) !=
           -1)
        if (set_option(o, option, err) != 0)
            return -1;
    if (o->help)
        return 0;
    if (optind < argc)
        return err_set(err, "what is %s? Files are named with -f",
                       argv[optind]);
    if (o->file_count == 0 && o->kubeconfig == NULL)
        return err_set(err, "no files: name them with -f, or a cluster with "
                            "--kubeconfig (see mokkactl plan --help)");
    if (stdin_count(o) > 1)
        return err_set(err, "stdin (-f -) can be read only once");
    return 0;
}

/* ---- the plan ---------------------------------------------------------- */

struct planning {
    const struct options *options;
    struct problems *problems;
    struct cluster *cluster;
    struct story story;
    struct view view;
    struct converge_figures figures;
    size_t bytes;
    int64_t began, loaded, planned, printed; /* points in time */
};

static void
take_object(void *arg, const struct schema *schema, json_t *object,
            const struct place *place)
{
    struct planning *p = arg;
    struct err err;

    if (cluster_add(p->cluster, schema, object, place, &err) != 0)
        problem(p->problems, PROBLEM_ERROR, place, "%s", err.text);
}

static void
tell(struct planning *p, enum severity severity, const char *what)
{
    problem(p->problems, severity, &(struct place){0}, "%s", what);
}

static void
load_cluster(struct planning *p)
{
    struct err err;

    if (objects_read(p->cluster, p->problems, p->options->kubeconfig, &err) !=
        0)
        tell(p, PROBLEM_ERROR, err.text);
}

static int
load_all(struct planning *p)
{
    struct accept *accept = accept_new(p->problems, take_object, p);

    if (p->options->kubeconfig != NULL)
        load_cluster(p);
    for (size_t i = 0; i < p->options->file_count; i++)
        p->bytes += load(p->options->files[i], accept, p->problems);
    accept_end(accept);
    accept_free(accept);
    p->loaded = clock_now();
    if (problems_errors(p->problems) == 0 && cluster_given(p->cluster) == 0)
        tell(p, PROBLEM_ERROR,
             "nothing to plan with: there is no SGPURackProfile, "
             "SGPUInventory, SGPURack or Node in the input");
    return problems_errors(p->problems) == 0 ? 0 : -1;
}

static void
tell_adopted(struct planning *p)
{
    struct err what;

    if (cluster_adopted(p->cluster) == 0)
        return;
    err_set(&what,
            "%zu Nodes carry an assignment but no managedFields (kubectl get "
            "--show-managed-fields keeps them): their assignment is taken as "
            "the control plane's own",
            cluster_adopted(p->cluster));
    tell(p, PROBLEM_WARNING, what.text);
}

static int
make(struct planning *p)
{
    struct err err;
    int rc = converge(p->cluster, &p->story, &p->figures, &err);

    if (rc != 0)
        tell(p, PROBLEM_ERROR, err.text);
    p->planned = clock_now();
    return rc;
}

static void
print(struct planning *p)
{
    static char buffer[OUT_BUFFER];

    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    view_init(&p->view, p->cluster, &p->story);
    switch (p->options->form) {
    case FORM_TABLE:
        show_table(stdout, &p->view, &p->story);
        break;
    case FORM_DIFF:
        show_diff(stdout, &p->view, &p->story, p->cluster);
        break;
    case FORM_JSON:
        show_objects(stdout, p->cluster, EMIT_JSON);
        break;
    case FORM_YAML:
        show_objects(stdout, p->cluster, EMIT_YAML);
        break;
    }
    fflush(stdout);
    p->printed = clock_now();
}

static double
seconds(int64_t ns)
{
    return (double)ns / (double)CLOCK_SECOND;
}

static void
tell_timing(const struct planning *p)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "parse %.3f s (%zu objects, %zu bytes)\n"
            "plan %.3f s (placer %.3f s, its longest step %.3f s; %zu "
            "intents in %zu turns)\n"
            "print %.3f s\n"
            "peak memory %ld KiB\n",
            seconds(p->loaded - p->began), cluster_given(p->cluster), p->bytes,
            seconds(p->planned - p->loaded), seconds(p->figures.placing),
            seconds(p->figures.longest), p->figures.intents, p->figures.turns,
            seconds(p->printed - p->planned), used.ru_maxrss);
}

static int
status_of(const struct planning *p)
{
    const struct view *v = &p->view;

    if (ferror(stdout)) {
        fputs("error: stdout cannot be written\n", stderr);
        return EXIT_ERROR;
    }
    if (p->options->exit_code && v->created + v->updated + v->deleted > 0)
        return EXIT_NOT_FINE;
    return EXIT_FINE;
}

static int
run(struct planning *p)
{
    int status = EXIT_ERROR;

    p->began = clock_now();
    if (load_all(p) == 0) {
        tell_adopted(p);
        if (make(p) == 0) {
            print(p);
            status = status_of(p);
            if (p->options->timing)
                tell_timing(p);
        }
    }
    return status;
}

/* What of the Nodes is needed to print them. */
static unsigned
what_to_keep(const struct options *o)
{
    switch (o->form) {
    case FORM_DIFF:
        return CLUSTER_BEFORE;
    case FORM_JSON:
    case FORM_YAML:
        return CLUSTER_WHOLE;
    case FORM_TABLE:
        break;
    }
    return 0;
}

int
plan_main(int argc, char **argv)
{
    struct options options = {0};
    struct planning p = {.options = &options};
    int status = EXIT_FINE;
    struct err err;

    if (read_options(&options, argc, argv, &err) != 0) {
        fprintf(stderr, "mokkactl plan: %s\n%s", err.text, usage);
        status = EXIT_ERROR;
    } else if (options.help) {
        printf("%s%s", usage, help);
    } else {
        p.problems = problems_new(stderr);
        p.cluster = cluster_new(what_to_keep(&options));
        status = run(&p);
        view_fini(&p.view);
        story_fini(&p.story);
        cluster_free(p.cluster);
        problems_free(p.problems);
    }
    free(options.files);
    return status;
}
