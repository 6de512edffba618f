/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/status.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "supervisor/control.h"
#include "supervisor/proc.h"

static void
add_key(struct buf *out, const char *key)
{
    char last = out->len == 0 ? '{' : buf_bytes(out)[out->len - 1];

    if (last != '{' && last != '[')
        buf_addc(out, ',');
    json_text_string(out, str_of(key));
    buf_addc(out, ':');
}

static void
add_text(struct buf *out, const char *key, const char *text)
{
    add_key(out, key);
    json_text_string(out, str_of(text));
}

static void
add_number(struct buf *out, const char *key, int64_t number)
{
    add_key(out, key);
    buf_printf(out, "%" PRId64, number);
}

static void
add_bool(struct buf *out, const char *key, bool yes)
{
    add_key(out, key);
    buf_addz(out, yes ? "true" : "false");
}

static void
add_time(struct buf *out, const char *key, int64_t wall)
{
    char text[CLOCK_TEXT] = "";

    if (wall != 0)
        clock_format(wall, CLOCK_MILLIS, text);
    add_text(out, key, text);
}

static void
add_measures(struct buf *out, pid_t pid)
{
    struct proc_usage usage;

    if (pid == 0 || !proc_usage(pid, &usage))
        return;
    add_number(out, "cpuMilliseconds", usage.cpu / CLOCK_MS);
    add_number(out, "residentKiB", usage.resident / 1024);
}

static void
add_facts(struct buf *out, const struct report *report)
{
    add_key(out, "facts");
    buf_addc(out, '{');
    for (unsigned i = 0; i < report->count; i++)
        add_number(out, report->facts[i].name, report->facts[i].number);
    buf_addc(out, '}');
}

static void
add_worker(struct buf *out, const struct process *p)
{
    const struct report *report = &p->sup->health.reports[p->row->role];

    buf_addz(out, buf_bytes(out)[out->len - 1] == '[' ? "{" : ",{");
    add_text(out, "name", p->row->name);
    add_text(out, "state", child_state_name(p->child.state));
    add_time(out, "since", p->since);
    add_number(out, "pid", p->pid);
    add_number(out, "generation", (int64_t)p->generation);
    add_number(out, "restarts",
               p->generation > 1 ? (int64_t)p->generation - 1 : 0);
    add_text(out, "lastCause", p->cause);
    add_time(out, "lastDied", p->died);
    add_bool(out, "held", p->held);
    add_bool(out, "lent", p->lent);
    add_bool(out, "sandboxed", p->sandboxed && p->lacking.text[0] == '\0');
    add_text(out, "sandboxLacks", p->lacking.text);
    add_number(out, "unansweredSeconds",
               p->watchdog.missed > 1 ? p->watchdog.missed - 1 : 0);
    add_number(out, "controlQueueBytes",
               p->control == NULL ? 0 : (int64_t)chan_pending(p->control));
    add_measures(out, p->pid);
    add_bool(out, "ok", report->ok);
    add_text(out, "reason", report->reason);
    add_facts(out, report);
    buf_addc(out, '}');
}

void
status_write(struct buf *out, const struct supervisor *sup)
{
    struct err reason = {""};
    bool ready = health_ready(&sup->health, clock_now(), &reason);

    buf_addc(out, '{');
    add_text(out, "build", build_id);
    add_number(out, "pid", getpid());
    add_measures(out, getpid());
    add_text(out, "identity", sup->identity);
    add_text(out, "leaseNamespace",
             options_get(sup->options, "leader-election-namespace"));
    add_text(out, "leaseName",
             options_get(sup->options, "leader-election-name"));
    add_text(out, "controlSocket", control_where(sup->control));
    add_text(out, "address", sup->address);
    add_time(out, "time", clock_wall());
    add_bool(out, "ready", ready);
    add_text(out, "reason", reason.text);
    add_number(out, "term", (int64_t)sup->term);
    add_bool(out, "shadow",
             strcmp(options_get(sup->options, "shadow"), "true") == 0);
    add_bool(out, "stopping", sup->health.stopping);
    add_key(out, "workers");
    buf_addc(out, '[');
    for (size_t i = 0; i < PROCESSES; i++)
        add_worker(out, &sup->processes[i]);
    buf_addz(out, "]}\n");
}
