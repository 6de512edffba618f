/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/event.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/kube/path.h"
#include "common/map.h"
#include "common/mem.h"

#define NEVER INT64_MAX
#define DEFAULT_NAMESPACE "default"
#define COMPONENT "mokka-control-plane"
#define CONTROLLER "mokka.nvidia.com/control-plane"
/* A name is a DNS-1123 subdomain; ours ends with a dot and 16 digits. */
#define NAME_ROOM (253 - 17)

/* What an object may still spend, as the moment at which it is full again. */
struct budget {
    char *key;
    int64_t full_at;
};

struct entry {
    char *key;
    struct budget *budget; /* of its object */
    struct event_object object;
    char *texts; /* in one piece: all that object and the rest point to */
    bool warning;
    const char *reason, *message, *action;
    char *name; /* of the Event, NULL: not created yet */
    bool exists;
    bool unsaid;
    int64_t count, first, last; /* wall time */
    unsigned tries;             /* that failed */
};

struct events {
    char *instance;
    struct map entries; /* the oldest first */
    struct map budgets;
    struct entry *flying; /* NULL: nothing is in flight */
    struct event_request request;
    int64_t paused; /* until then nothing is sent */
    int64_t stamp;  /* last one in a name */
    int64_t fates[EVENT_FATES];
};

struct events *
events_new(const char *instance)
{
    struct events *e = mem_zalloc(sizeof(*e));

    e->instance = mem_strdup(instance);
    return e;
}

static void
free_entry(struct entry *entry)
{
    free(entry->key);
    free(entry->texts);
    free(entry->name);
    free(entry);
}

static void
free_request(struct events *e)
{
    free(e->request.path);
    free(e->request.body);
    e->request = (struct event_request){0};
}

void
events_free(struct events *e)
{
    struct budget *budget;
    struct entry *entry;
    size_t pos = 0;

    if (e == NULL)
        return;
    while ((entry = map_next(&e->entries, &pos)) != NULL)
        free_entry(entry);
    for (pos = 0; (budget = map_next(&e->budgets, &pos)) != NULL;) {
        free(budget->key);
        free(budget);
    }
    map_fini(&e->entries);
    map_fini(&e->budgets);
    free_request(e);
    free(e->instance);
    free(e);
}

/* Budgets. */

static int64_t
tokens(const struct budget *budget, int64_t now)
{
    int64_t missing = budget->full_at - now;

    if (missing <= 0)
        return EVENTS_BURST;
    return EVENTS_BURST - (missing + EVENTS_REFILL - 1) / EVENTS_REFILL;
}

/* When there is a token again. */
static int64_t
token_at(const struct budget *budget)
{
    return budget->full_at - (EVENTS_BURST - 1) * EVENTS_REFILL;
}

static void
spend(struct budget *budget, int64_t now)
{
    if (budget->full_at < now)
        budget->full_at = now;
    budget->full_at += EVENTS_REFILL;
}

static bool
is_used(const struct events *e, const struct budget *budget)
{
    const struct entry *entry;
    size_t pos = 0;

    while ((entry = map_next(&e->entries, &pos)) != NULL)
        if (entry->budget == budget)
            return true;
    return false;
}

/* A budget lives as long as its object has an entry. */
static void
drop_budget(struct events *e, struct budget *budget)
{
    if (is_used(e, budget))
        return;
    map_remove(&e->budgets, budget->key);
    free(budget->key);
    free(budget);
}

static struct budget *
budget_of(struct events *e, const struct event_object *o)
{
    char *key = mem_printf("%s/%s/%s/%s/%s", o->api_version, o->kind,
                           o->namespace, o->name, o->uid);
    struct budget *budget = map_get(&e->budgets, key);

    if (budget != NULL) {
        free(key);
        return budget;
    }
    budget = mem_zalloc(sizeof(*budget));
    budget->key = key;
    map_put(&e->budgets, key, budget);
    return budget;
}

/* Entries. */

/* The oldest for which nothing is to be sent makes room. */
static bool
make_room(struct events *e)
{
    struct entry *entry;
    size_t pos = 0;

    if (e->entries.count < EVENTS_MAX)
        return true;
    while ((entry = map_next(&e->entries, &pos)) != NULL) {
        if (entry->unsaid || entry == e->flying)
            continue;
        map_remove(&e->entries, entry->key);
        drop_budget(e, entry->budget);
        free_entry(entry);
        return true;
    }
    return false;
}

/* Copies a text to where *at points, and moves that on. */
static const char *
keep(char **at, const char *text)
{
    char *copy = *at;
    size_t n = strlen(text) + 1;

    memcpy(copy, text, n);
    *at += n;
    return copy;
}

static struct entry *
new_entry(struct events *e, const struct event_note *note, char *key,
          int64_t wall)
{
    const struct event_object *o = &note->object;
    struct entry *entry = mem_zalloc(sizeof(*entry));
    size_t size = strlen(o->api_version) + strlen(o->kind) +
                  strlen(o->namespace) + strlen(o->name) + strlen(o->uid) +
                  strlen(note->reason) + strlen(note->message) +
                  strlen(note->action) + 8;
    char *at = mem_zalloc(size);

    entry->key = key;
    entry->texts = at;
    entry->object = (struct event_object){
        .api_version = keep(&at, o->api_version),
        .kind = keep(&at, o->kind),
        .namespace = keep(&at, o->namespace),
        .name = keep(&at, o->name),
        .uid = keep(&at, o->uid),
    };
    entry->warning = note->warning;
    entry->reason = keep(&at, note->reason);
    entry->message = keep(&at, note->message);
    entry->action = keep(&at, note->action);
    entry->first = wall;
    entry->budget = budget_of(e, o);
    map_put(&e->entries, key, entry);
    return entry;
}

void
events_note(struct events *e, const struct event_note *note, int64_t now,
            int64_t wall)
{
    const struct event_object *o = &note->object;
    char *key =
        mem_printf("%s\n%s\n%s\n%s\n%s\n%d\n%s\n%s\n%s", o->api_version,
                   o->kind, o->namespace, o->name, o->uid, note->warning,
                   note->reason, note->action, note->message);
    struct entry *entry = map_get(&e->entries, key);

    if (entry == NULL && !make_room(e)) {
        e->fates[EVENT_DROPPED] += note->count;
        free(key);
        return;
    }
    if (entry == NULL)
        entry = new_entry(e, note, key, wall);
    else
        free(key);
    entry->count += note->count;
    entry->last = wall;
    entry->unsaid = true;
    if (tokens(entry->budget, now) <= 0)
        e->fates[EVENT_CAPPED] += note->count;
}

/* Requests. */

static char *
make_name(struct events *e, const struct entry *entry)
{
    size_t n = strlen(entry->object.name);

    e->stamp = entry->last > e->stamp ? entry->last : e->stamp + 1;
    if (n > NAME_ROOM)
        n = NAME_ROOM;
    while (n > 0 && !isalnum((unsigned char)entry->object.name[n - 1]))
        n--;
    return mem_printf("%.*s.%016" PRIx64, (int)n, entry->object.name,
                      (uint64_t)e->stamp);
}

static const char *
namespace_of(const struct entry *entry)
{
    return entry->object.namespace[0] == '\0' ? DEFAULT_NAMESPACE
                                              : entry->object.namespace;
}

static void
add_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "\"%s\":", key);
    json_text_string(out, str_of(text));
    buf_addc(out, ',');
}

/* Likewise, unless it is empty. */
static void
add_given(struct buf *out, const char *key, const char *text)
{
    if (text[0] != '\0')
        add_text(out, key, text);
}

static void
add_time(struct buf *out, const char *key, int64_t wall)
{
    char text[CLOCK_TEXT];

    clock_format(wall, CLOCK_SECONDS, text);
    add_text(out, key, text);
}

static void
add_object(struct buf *out, const struct event_object *o)
{
    buf_addz(out, "\"involvedObject\":{");
    add_given(out, "namespace", o->namespace);
    add_given(out, "uid", o->uid);
    add_text(out, "apiVersion", o->api_version);
    add_text(out, "name", o->name);
    buf_addz(out, "\"kind\":");
    json_text_string(out, str_of(o->kind));
    buf_addz(out, "},");
}

static char *
new_body(const struct events *e, const struct entry *entry)
{
    struct buf out = {0};

    buf_addz(&out, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{");
    add_text(&out, "name", entry->name);
    buf_addz(&out, "\"namespace\":");
    json_text_string(&out, str_of(namespace_of(entry)));
    buf_addz(&out, "},");
    add_object(&out, &entry->object);
    add_text(&out, "type", entry->warning ? "Warning" : "Normal");
    add_text(&out, "reason", entry->reason);
    add_text(&out, "message", entry->message);
    add_text(&out, "action", entry->action);
    add_time(&out, "firstTimestamp", entry->first);
    add_time(&out, "lastTimestamp", entry->last);
    add_text(&out, "reportingComponent", CONTROLLER);
    add_text(&out, "reportingInstance", e->instance);
    buf_addz(&out, "\"source\":{\"component\":\"" COMPONENT "\"},");
    buf_printf(&out, "\"count\":%" PRId64 "}", entry->count);
    return buf_take(&out);
}

static char *
again_body(const struct entry *entry)
{
    struct buf out = {0};

    buf_addc(&out, '{');
    add_time(&out, "lastTimestamp", entry->last);
    buf_printf(&out, "\"count\":%" PRId64 "}", entry->count);
    return buf_take(&out);
}

/* -1: the namespace or name makes no path. */
static int
make_request(struct events *e, struct entry *entry)
{
    struct buf path = {0};

    if (entry->name == NULL)
        entry->name = make_name(e, entry);
    if (kube_path_add(&path,
                      &(struct kube_path){
                          .version = "v1",
                          .namespace = namespace_of(entry),
                          .resource = "events",
                          .name = entry->exists ? entry->name : NULL,
                      },
                      NULL) != 0)
        return -1;
    e->request = (struct event_request){
        .method = entry->exists ? "PATCH" : "POST",
        .content_type = entry->exists ? "application/merge-patch+json" : NULL,
        .path = buf_take(&path),
        .body = entry->exists ? again_body(entry) : new_body(e, entry),
    };
    return 0;
}

/* A further try has been paid for. */
static bool
is_affordable(const struct entry *entry, int64_t now)
{
    return entry->tries > 0 || tokens(entry->budget, now) > 0;
}

const struct event_request *
events_next(struct events *e, int64_t now)
{
    struct entry *entry;
    size_t pos = 0;

    if (e->flying != NULL || now < e->paused)
        return NULL;
    while ((entry = map_next(&e->entries, &pos)) != NULL) {
        if (!entry->unsaid || !is_affordable(entry, now))
            continue;
        entry->unsaid = false;
        if (make_request(e, entry) != 0) {
            e->fates[EVENT_DROPPED]++;
            continue;
        }
        if (entry->tries == 0)
            spend(entry->budget, now);
        e->flying = entry;
        return &e->request;
    }
    return NULL;
}

static bool
may_pass(int status)
{
    return status == 0 || status == 401 || status == 429 || status >= 500;
}

/* It may be gone: Events live for an hour.  A new one then goes on counting. */
static bool
is_gone(const struct entry *entry, int status)
{
    return status == 404 && entry->exists;
}

/* What an answer that is no success means for it. */
static enum event_fate
refuse(struct events *e, struct entry *entry, int status, int64_t retry_after,
       int64_t now)
{
    if (may_pass(status))
        e->paused =
            now + (retry_after > EVENTS_PAUSE ? retry_after : EVENTS_PAUSE);
    if ((may_pass(status) || is_gone(entry, status)) &&
        ++entry->tries < EVENTS_TRIES) {
        if (is_gone(entry, status)) {
            free(entry->name);
            entry->name = NULL;
            entry->exists = false;
        }
        entry->unsaid = true;
        return EVENT_FATES;
    }
    entry->tries = 0;
    return status == 403 ? EVENT_DENIED : EVENT_DROPPED;
}

enum event_fate
events_answered(struct events *e, int status, int64_t retry_after, int64_t now)
{
    struct entry *entry = e->flying;
    /* A create whose first answer was lost has made it already. */
    bool done =
        (status >= 200 && status < 300) || (status == 409 && !entry->exists);
    enum event_fate fate = EVENT_SENT;

    e->flying = NULL;
    free_request(e);
    if (done) {
        entry->exists = true;
        entry->tries = 0;
    } else {
        fate = refuse(e, entry, status, retry_after, now);
    }
    if (fate != EVENT_FATES)
        e->fates[fate]++;
    return fate;
}

bool
events_in_flight(const struct events *e)
{
    return e->flying != NULL;
}

int64_t
events_due(const struct events *e, int64_t now)
{
    const struct entry *entry;
    int64_t due = NEVER;
    size_t pos = 0;

    if (e->flying != NULL)
        return NEVER;
    while ((entry = map_next(&e->entries, &pos)) != NULL) {
        int64_t at = is_affordable(entry, now) ? now : token_at(entry->budget);

        if (entry->unsaid && at < due)
            due = at;
    }
    return due != NEVER && due < e->paused ? e->paused : due;
}

const int64_t *
events_fates(const struct events *e)
{
    return e->fates;
}
