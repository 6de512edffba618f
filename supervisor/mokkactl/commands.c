/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subcommands: what each is called, takes, says and runs. */
#include "common/mem.h"
#include "supervisor/mokkactl/command.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

#define SOCKET                                                                 \
    {                                                                          \
        "socket", 's', "NAME",                                                 \
            "control socket: @NAME or a path (default: the one there is)"      \
    }

#define KUBECONFIG                                                             \
    {                                                                          \
        "kubeconfig", 'k', "FILE",                                             \
            "default: $MOKKA_CP_KUBECONFIG, $KUBECONFIG, the pod's, "          \
            "~/.kube/config"                                                   \
    }

#define LEASE                                                                  \
    {"namespace", 'n', "NAME",                                                 \
     "of the Lease (default: $POD_NAMESPACE, or where there is one)"},         \
    {                                                                          \
        "lease", 'l', "NAME", "the Lease (default: that of the control plane)" \
    }

#define ASKS_OBJECTS                                                           \
    "Where no control plane listens, as\non a laptop, or with --kubeconfig, "  \
    "the objects are read from the API\nserver, and judged as by a control "   \
    "plane with --project-clique-label."

#define WORKERS_ARE "Workers are informer, placer, projector, elector and web."

static const struct ctl_command commands[] = {
    {
        .name = "status",
        .operands = "",
        .says = "what runs, since when, and how it is",
        .about =
            "Shows the supervisor and its workers: pid, state, since when, how "
            "often\nstarted again and why the last time, processor time, "
            "memory, and what\neach says of its work.",
        .examples = "  mokkactl status\n"
                    "  kubectl mokka status -o wide\n"
                    "  mokkactl status -o json | jq '.workers[] | .name, "
                    ".restarts'\n",
        .options = {SOCKET,
                    {"output", 'o', "wide|json", "all facts, or as JSON"},
                    {"watch", 'w', NULL, "again every second, until ^C"},
                    {"no-color", '\0', NULL,
                     "no colours (as where $NO_COLOR is set)"}},
        .run = run_status,
    },
    {
        .name = "why",
        .operands = "NODE",
        .says = "why a Node is, or is not, assigned and projected",
        .about = "Tells which rule decided about a Node, which groups select "
                 "it, which slot\nit has, who owns the keys on it, and what is "
                 "being waited for. Any replica\ncan be asked, a "
                 "standby too. " ASKS_OBJECTS,
        .examples = "  mokkactl why sim-017\n"
                    "  mokkactl why sim-017 --kubeconfig ~/.kube/config\n",
        .options = {SOCKET, KUBECONFIG},
        .exits = {"2 the Node is not known: there is none of that name, or it "
                  "is not labelled"},
        .run = run_why,
    },
    {
        .name = "assignments",
        .operands = "NODE UID",
        .says = "which slots a Node holds",
        .about = "Prints a line for each rack slot that is bound to exactly "
                 "that Node: rack\nname, rack uid, group, rack index, slot "
                 "index, with tabs between, sorted.\nNothing is printed for a "
                 "Node that holds none. A standby answers, too.\n" ASKS_OBJECTS,
        .examples =
            "  mokkactl assignments sim-017 \"$(kubectl get node sim-017 "
            "-o jsonpath='{.metadata.uid}')\"\n",
        .options = {SOCKET, KUBECONFIG},
        .run = run_assignments,
    },
    {
        .name = "shadow",
        .operands = "",
        .says = "what a control plane in shadow would write",
        .about = "Prints each write that control-plane --shadow would make and "
                 "does not, sorted:\nwhat stands for 5 s at least, so that "
                 "whoever writes beside it has had the time to.\nIt is the "
                 "next step of each object; what follows from one is told once "
                 "that one is\ndone, and so is a status. For all steps at "
                 "once, see mokkactl plan --diff.",
        .examples = "  mokkactl shadow\n"
                    "  mokkactl shadow -o json | jq -r '.verb + \" \" + "
                    ".name'\n",
        .options = {SOCKET,
                    {"output", 'o', "FORM", "json: a line for each"},
                    {"exit-code", '\0', NULL,
                     "exit with 2 if anything would be written"}},
        .exits = {"2 with --exit-code: something would be written"},
        .run = run_shadow,
    },
    {
        .name = "dump",
        .operands = "WORKER",
        .says = "what a worker believes",
        .about = "Prints what a worker holds, a line of JSON for each thing: "
                 "the informer its\ncache, the placer its model, the projector "
                 "what it was asked to write.\nThere are no secrets in it.",
        .examples = "  mokkactl dump placer | grep sim-017\n"
                    "  mokkactl dump projector | jq -c 'select(.state != "
                    "\"written\")'\n",
        .options = {SOCKET},
        .run = run_dump,
    },
    {
        .name = "tap",
        .operands = "A:B",
        .says = "the messages of a link, live",
        .about = "Prints each message that passes between two workers, a line "
                 "of JSON each, until\n^C. \"out\" says whether A sent it. The "
                 "workers do not wait for you: what is\nnot read fast enough "
                 "is left out and counted (\"lostBefore\").",
        .examples = "  mokkactl tap informer:placer\n"
                    "  mokkactl tap placer:projector --type NODE_APPLY -n 10\n",
        .options = {SOCKET,
                    {"type", 't', "TYPE", "only these types; several as A,B"},
                    {"grep", 'g', "TEXT", "only lines with that text"},
                    {"count", 'n', "N", "end after N lines"}},
        .run = run_tap,
    },
    {
        .name = "log",
        .operands = "WORKER LEVEL",
        .says = "sets the log level of one worker",
        .about = "LEVEL is debug, info, warn or error. It holds until the "
                 "worker's next start,\nwhich takes --log-level again.",
        .examples = "  mokkactl log projector debug\n",
        .options = {SOCKET},
        .run = run_log,
    },
    {
        .name = "restart",
        .operands = "WORKER",
        .says = "kills a worker; it is started again at once",
        .about = "The others keep their state and leadership is not "
                 "lost. " WORKERS_ARE,
        .examples = "  mokkactl restart placer\n",
        .options = {SOCKET},
        .run = run_simple,
    },
    {
        .name = "hold",
        .operands = "WORKER",
        .says = "keeps a worker from its next start, for a debugger",
        .about = "The watchdog leaves the worker alone, and its next start "
                 "waits before any work\nuntil mokkactl continue. With "
                 "control-plane --wait WORKER it is held from the\nbeginning.",
        .examples = "  mokkactl hold placer && mokkactl restart placer\n"
                    "  gdb -p \"$(mokkactl status -o json | jq '.workers[] | "
                    "select(.name == \"placer\").pid')\"\n"
                    "  mokkactl continue placer\n",
        .options = {SOCKET},
        .run = run_simple,
    },
    {
        .name = "continue",
        .operands = "WORKER",
        .says = "lets a worker go that was held",
        .about = "See mokkactl hold --help.",
        .examples = "  mokkactl continue placer\n",
        .options = {SOCKET},
        .run = run_simple,
    },
    {
        .name = "lend",
        .operands = "WORKER -- [COMMAND...]",
        .says = "runs a worker by hand inside the live control plane",
        .about =
            "The worker's process ends, and COMMAND WORKER-PROGRAM is run in "
            "its place, here,\nwith the worker's link: in a debugger, under "
            "valgrind, with another build of the\nsame commit. When it ends, "
            "the supervisor starts its own again. The watchdog\ndoes not "
            "mind it.",
        .examples = "  mokkactl lend projector -- gdb --args\n"
                    "  mokkactl lend placer -- valgrind\n"
                    "  mokkactl lend web --\n",
        .options = {SOCKET},
        .run = run_lend,
    },
    {
        .name = "record",
        .operands = "WORKER FILE",
        .says = "records what a worker takes and says, to be run again",
        .about =
            "The worker starts anew, so that the recording begins with all "
            "there is, and\nrecords until ^C: run it again, without a cluster, "
            "by placer --replay FILE. FILE\nis - for stdout, which works where "
            "nothing can be written, as in a pod.\nNothing is lost by it. Only "
            "the placer can be recorded: it decides, and nothing\nbut what it "
            "takes has an influence on it.",
        .examples = "  mokkactl record placer /tmp/placer.recording\n"
                    "  kubectl mokka record placer - --seconds 60 > "
                    "placer.recording\n"
                    "  placer --replay placer.recording\n",
        .options = {SOCKET, {"seconds", '\0', "N", "end after N seconds"}},
        .run = run_record,
    },
    {
        .name = "check",
        .operands = "",
        .says = "whether the cluster has what the control plane needs",
        .about = "Asks the API server, as the identity of the kubeconfig: are "
                 "the kinds served, may\nthis identity do what the control "
                 "plane does, is the Lease held and fresh. A line\nfor each "
                 "answer; those that begin with WRONG say what to do, and "
                 "those with\n"
                 "note what goes without. The Lease is looked for in all "
                 "namespaces; if that may\nnot be done, or finds none, that "
                 "of the control plane that listens here is\nmeant, else the "
                 "namespace of the kubeconfig's context.",
        .examples = "  kubectl mokka check\n",
        .options = {KUBECONFIG, LEASE},
        .exits = {"2 something is WRONG"},
        .run = run_check,
    },
    {
        .name = "drain",
        .operands = "",
        .says = "whether anything is left in the cluster (--check)",
        .about = "Prints what is there of SGPUInventories and SGPURacks, and "
                 "each Node that still has\na label, an annotation or owned "
                 "fields of the control plane. Nothing printed: it\nmay be "
                 "uninstalled. To drain, while the control plane runs:\n\n"
                 "  kubectl delete sgpuinventories --all --wait --timeout=15m",
        .examples = "  mokkactl drain --check && helm uninstall mokka\n",
        .options = {KUBECONFIG,
                    {"check", 'c', NULL, "only look; nothing else is done"}},
        .exits = {"2 something is left"},
        .run = run_drain,
    },
    {
        .name = "support",
        .operands = "FILE",
        .says = "one archive with all that helps others to help",
        .about =
            "Writes a tar file (- is stdout): version, status, metrics, "
            "what informer, placer\nand projector hold, and the findings "
            "of mokkactl check. What cannot be had is told\nin its place. "
            "There are names of Nodes and racks in it, and no secrets. The "
            "log is\nadded with --log, and of itself by kubectl mokka "
            "support FILE.",
        .examples = "  kubectl mokka support mokka-support.tar\n"
                    "  mokkactl support mokka-support.tar --log "
                    "control-plane.log\n",
        .options = {SOCKET,
                    KUBECONFIG,
                    LEASE,
                    {"log", '\0', "FILE", "the control plane's log"}},
        .run = run_support,
    },
    {
        .name = "plan",
        .operands = "",
        .says = "what the control plane would make of objects in files",
        .about = "See mokkactl plan --help.",
        .examples = "",
        .options = {{"filename", 'f', "FILE", "objects in YAML or JSON"},
                    {"kubeconfig", 'k', "FILE",
                     "a cluster whose objects count"},
                    {"output", 'o', "yaml|json", "all objects"},
                    {"diff", '\0', NULL, "only what would change"},
                    {"exit-code", '\0', NULL, "exit with 2 if anything would"},
                    {"timing", '\0', NULL, "how long what took"}},
        .exits = {"2 with --exit-code: something would change"},
        .raw = plan_main,
    },
    {
        .name = "completion",
        .operands = "SHELL",
        .says = "completion for bash, zsh, fish or kubectl",
        .about = "Prints a script for the shell that completes mokkactl and "
                 "control-plane; for kubectl a program that completes kubectl "
                 "mokka, to be put into a folder of PATH.",
        .examples = "  source <(mokkactl completion bash)\n"
                    "  source <(mokkactl completion zsh)\n"
                    "  mokkactl completion fish | source\n"
                    "  kubectl mokka completion kubectl "
                    ">~/bin/kubectl_complete-mokka\n"
                    "  chmod +x ~/bin/kubectl_complete-mokka\n",
        .run = run_completion,
    },
    {
        .name = "man",
        .operands = "[PROGRAM]",
        .says = "the manual pages",
        .about = "Prints the manual page of mokkactl, or that of "
                 "control-plane, made from the same\ntables as --help.",
        .examples = "  mokkactl man | man -l -\n"
                    "  mokkactl man control-plane | man -l -\n",
        .run = run_man,
    },
};

const struct ctl_command *
ctl_commands(size_t *count)
{
    *count = nitems(commands);
    return commands;
}
