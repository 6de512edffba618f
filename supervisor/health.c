/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/health.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* Whose synchronisation readiness needs. */
static const enum role needed[] = {ROLE_INFORMER, ROLE_PLACER};

static void
keep_text(char *to, size_t size, struct str text)
{
    snprintf(to, size, "%.*s", (int)text.n, text.s);
}

static void
keep_facts(struct report *report, const struct value *map, bool *bad)
{
    report->count = 0;
    for (size_t i = 0; map != NULL && i < value_count(map); i++) {
        struct fact *fact = &report->facts[report->count];

        if (i == HEALTH_FACTS || !value_int(value_at(map, i), &fact->number)) {
            *bad = true;
            return;
        }
        keep_text(fact->name, sizeof(fact->name), value_key(map, i));
        report->count++;
    }
}

/* A fact of the last report, or fallback. */
static int64_t
fact(const struct health *health, enum role role, const char *name,
     int64_t fallback)
{
    const struct report *report = &health->reports[role];

    for (unsigned i = 0; i < report->count; i++)
        if (strcmp(report->facts[i].name, name) == 0)
            return report->facts[i].number;
    return fallback;
}

/* An elector that stands by or leads knows what its predecessor knew. A plan of
 * the present term stands, whoever has to say it again. */
static void
note_facts(struct health *health)
{
    int64_t seen = fact(health, ROLE_ELECTOR, "view", VIEW_STOPPED);
    int64_t planned = fact(health, ROLE_PLACER, "term", 0);

    if (seen == VIEW_STANDBY || seen == VIEW_LEADER)
        health->stood_by = false;
    if (planned != 0)
        health->planned = planned;
}

int
health_report(struct health *health, enum role role, const struct value *body,
              struct err *err)
{
    struct report *report = &health->reports[role];
    struct unpack u = unpack_fields(body);
    bool ok = unpack_bool(&u);
    struct str reason = unpack_str(&u);

    keep_facts(report, unpack_map(&u), &u.bad);
    if (unpack_end(&u, err) != 0)
        return -1;
    report->ok = ok;
    keep_text(report->reason, sizeof(report->reason), reason);
    if (ok)
        report->lost = 0;
    note_facts(health);
    return 0;
}

/* How this replica sees the election. An elector that has just started knows
 * nothing yet; the other holder is there for all that. */
static int64_t
view(const struct health *health)
{
    return health->stood_by ? VIEW_STANDBY
                            : fact(health, ROLE_ELECTOR, "view", VIEW_STOPPED);
}

void
health_died(struct health *health, enum role role, int64_t now)
{
    struct report *report = &health->reports[role];

    if (role == ROLE_ELECTOR)
        health->stood_by = view(health) == VIEW_STANDBY;
    if (report->ok && report->lost == 0)
        report->lost = now;
    report->ok = false;
    keep_text(report->reason, sizeof(report->reason), STR("restarting"));
}

void
health_waits(struct health *health, enum role role, const char *reason)
{
    struct report *report = &health->reports[role];

    if (!report->ok)
        keep_text(report->reason, sizeof(report->reason), str_of(reason));
}

static bool
fine(const struct report *report, int64_t now)
{
    return report->ok ||
           (report->lost != 0 && now - report->lost < HEALTH_GRACE);
}

bool
health_synchronised(const struct health *health, int64_t now)
{
    for (size_t i = 0; i < nitems(needed); i++)
        if (!fine(&health->reports[needed[i]], now))
            return false;
    return true;
}

static void
note_grace(int64_t *due, const struct report *report, int64_t now)
{
    int64_t end = report->lost + HEALTH_GRACE;

    if (!report->ok && fine(report, now) && (*due == 0 || end < *due))
        *due = end;
}

int64_t
health_due(const struct health *health, int64_t now)
{
    int64_t due = 0;

    for (size_t i = 0; i < nitems(needed); i++)
        note_grace(&due, &health->reports[needed[i]], now);
    if (view(health) == VIEW_SHADOW)
        note_grace(&due, &health->reports[ROLE_PROJECTOR], now);
    if (view(health) == VIEW_LEADER && now < health->deadline &&
        (due == 0 || health->deadline < due))
        due = health->deadline;
    return due;
}

static const char *
why(const struct report *report)
{
    return report->reason[0] == '\0' ? "starting" : report->reason;
}

/* In shadow: nothing would be written. */
static bool
in_sync(const struct health *health, int64_t now, struct err *reason)
{
    const struct report *report = &health->reports[ROLE_PROJECTOR];

    if (fine(report, now))
        return true;
    err_set(reason, "projector: %s", why(report));
    return false;
}

static bool
elected(const struct health *health, int64_t now, struct err *reason)
{
    if (view(health) == VIEW_STANDBY)
        return true;
    if (view(health) == VIEW_SHADOW)
        return in_sync(health, now, reason);
    if (view(health) != VIEW_LEADER) {
        err_set(reason, "elector: %s", why(&health->reports[ROLE_ELECTOR]));
        return false;
    }
    if (now >= health->deadline) {
        err_set(reason, "elector: the Lease was not renewed in time");
        return false;
    }
    if (health->planned == fact(health, ROLE_ELECTOR, "term", -1))
        return true;
    err_set(reason, "placer: no plan in the new term yet");
    return false;
}

bool
health_ready(const struct health *health, int64_t now, struct err *reason)
{
    if (health->stopping) {
        err_set(reason, "stopping");
        return false;
    }
    for (size_t i = 0; i < nitems(needed); i++) {
        if (fine(&health->reports[needed[i]], now))
            continue;
        err_set(reason, "%s: %s", role_name(needed[i]),
                why(&health->reports[needed[i]]));
        return false;
    }
    return elected(health, now, reason);
}

void
health_pack(struct buf *out, const struct health *health, int64_t now)
{
    struct err reason = {""};
    bool ready = health_ready(health, now, &reason);

    pack_array(out, 3);
    pack_bool(out, ready);
    pack_text(out, reason.text);
    pack_map(out, ROLE_COUNT - 1);
    for (unsigned role = 1; role < ROLE_COUNT; role++) {
        const struct report *report = &health->reports[role];

        pack_text(out, role_name((enum role)role));
        pack_array(out, 2);
        pack_bool(out, report->ok);
        pack_text(out, report->ok ? report->reason : why(report));
    }
}
