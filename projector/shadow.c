/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/shadow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/kube/json.h"
#include "common/log.h"
#include "common/map.h"
#include "common/mem.h"
#include "proto/frame.h"

/* The pauses before an object is decided upon again. */
#define PAUSE_FIRST CLOCK_SECOND
#define PAUSE_MOST (15 * CLOCK_SECOND)
/* So long after a pause a rack that was withdrawn may be said again. */
#define AGAIN CLOCK_SECOND
/* So many are named in one line. */
#define FEW 3

struct entry {
    char *key; /* action, name */
    enum action action;
    const char *verb; /* "create", ... */
    char *what;       /* it would do, for people; may be empty */
    int64_t since;
    int64_t pause, asked; /* when the author is answered */
    int64_t leaves; /* withdrawn: gone then, unless it comes again; else 0 */
    bool told;      /* in the log */
};

struct shadow {
    struct map by_key;
    size_t others; /* entries that are no status */
    bool planned;
    int64_t since; /* planned, or not */
};

static const char *const resources[ACTION_COUNT] = {
    [ACTION_RACK] = API_RACKS,
    [ACTION_NODE] = "nodes",
    [ACTION_INVENTORY_FINALIZER] = API_INVENTORIES,
    [ACTION_INVENTORY_STATUS] = API_INVENTORIES "/status",
    [ACTION_RACK_STATUS] = API_RACKS "/status",
};

static bool
is_status(enum action action)
{
    return action == ACTION_INVENTORY_STATUS || action == ACTION_RACK_STATUS;
}

static char *
key_of(enum action action, struct str name)
{
    return mem_printf("%d %.*s", (int)action, (int)name.n, name.s);
}

static const char *
name_of(const struct entry *e)
{
    return strchr(e->key, ' ') + 1;
}

struct shadow *
shadow_new(void)
{
    return mem_zalloc(sizeof(struct shadow));
}

static void
entry_free(struct entry *e)
{
    free(e->key);
    free(e->what);
    free(e);
}

static void
forget_all(struct shadow *s)
{
    struct entry *e;
    size_t pos = 0;

    while ((e = map_next(&s->by_key, &pos)) != NULL)
        entry_free(e);
    map_fini(&s->by_key);
    s->others = 0;
}

void
shadow_free(struct shadow *s)
{
    if (s == NULL)
        return;
    forget_all(s);
    free(s);
}

/* ---- what an order would do -------------------------------------------- */

static void
describe_rack(struct buf *out, const struct intent_rack *i)
{
    json_t *spec = kube_json_parse(i->spec, NULL);
    json_t *nodes = NULL;
    size_t bound = 0;
    json_t *node;
    size_t j;

    kube_json_array(spec, "nodes", &nodes, NULL);
    json_array_foreach(nodes, j, node)
    {
        bound += json_object_get(node, "nodeRef") != NULL;
    }
    buf_printf(out, "with %zu of %zu slots bound", bound,
               json_array_size(nodes));
    json_decref(spec);
}

static void
describe_node(struct buf *out, const struct intent_node *i)
{
    json_t *binding = kube_json_parse(i->annotation, NULL);
    int64_t slot = -1;

    if (binding == NULL) {
        buf_addz(out, "cleaned");
        return;
    }
    kube_json_int(binding, "nodeIndex", 0, INT32_MAX, &slot, NULL);
    buf_printf(out, "%s rack %s slot %" PRId64,
               i->release ? "no longer" : "assigned to",
               kube_json_text(binding, "rack.name"), slot);
    json_decref(binding);
}

static void
describe_status(struct buf *out, const struct intent_status *i)
{
    const struct conditions *all = &i->status.conditions;

    for (size_t j = 0; j < all->count; j++)
        buf_printf(out, "%s%.*s=%.*s (%.*s)", j == 0 ? "" : ", ",
                   (int)all->items[j].type.n, all->items[j].type.s,
                   (int)all->items[j].status.n, all->items[j].status.s,
                   (int)all->items[j].reason.n, all->items[j].reason.s);
}

static char *
describe(const struct order *order)
{
    struct arena arena = {0};
    struct buf out = {0};
    union intent i;

    order_read(&i, order, &arena);
    if (order->type == MSG_RACK_WRITE)
        describe_rack(&out, &i.rack);
    else if (order->type == MSG_NODE_APPLY)
        describe_node(&out, &i.node);
    else if (order->type == MSG_STATUS_WRITE)
        describe_status(&out, &i.status);
    else if (order->type == MSG_FINALIZER)
        buf_printf(&out, "%s our finalizer",
                   i.finalizer.present ? "with" : "without");
    arena_fini(&arena);
    return buf_take(&out);
}

static const char *
verb_of(const struct order *order)
{
    if (order->type == MSG_RACK_DELETE)
        return "delete";
    if (order->type == MSG_RACK_WRITE && order->target.uid.n == 0)
        return "create";
    return order->action == ACTION_NODE ? "patch" : "update";
}

/* ---- what stands ------------------------------------------------------- */

static struct entry *
make(struct shadow *s, const struct order *order, int64_t now)
{
    char *key = key_of(order->action, order->target.name);
    struct entry *e = map_get(&s->by_key, key);

    if (e != NULL) {
        free(key);
        return e;
    }
    e = mem_zalloc(sizeof(*e));
    e->key = key;
    e->action = order->action;
    e->since = now;
    map_put(&s->by_key, e->key, e);
    s->others += !is_status(e->action);
    return e;
}

static void
tell(struct entry *e, bool would)
{
    e->told = would;
    log_info(would ? "would write" : "would write no longer",
             F_STR("verb", e->verb), F_STR("resource", resources[e->action]),
             F_STR("name", name_of(e)), F_STR("what", e->what));
}

static void
forget(struct shadow *s, struct entry *e)
{
    if (e->told)
        tell(e, false);
    s->others -= !is_status(e->action);
    map_remove(&s->by_key, e->key);
    entry_free(e);
}

/* Of a Node that it does not see the author waits to hear: that is tried again
 * here. */
static int64_t
answer_for(struct entry *e, const struct order *order, struct answer *answer)
{
    *answer = (struct answer){
        .verdict = VERDICT_ENDED,
        .outcome = OUTCOME_DONE,
        .uid = order->target.uid,
        .version = STR("0"),
        .pretended = true,
    };
    if (order->action == ACTION_NODE && order->target.version.n == 0)
        *answer = (struct answer){.verdict = VERDICT_FAILED,
                                  .server = true,
                                  .pretended = true,
                                  .retry_after = PAUSE_FIRST};
    if (is_status(order->action))
        return 0;
    e->pause = e->pause == 0 ? PAUSE_FIRST : e->pause * 2;
    if (e->pause > PAUSE_MOST)
        e->pause = PAUSE_MOST;
    return e->pause;
}

int64_t
shadow_keep(struct shadow *s, const struct order *order, int64_t now,
            struct answer *answer)
{
    struct entry *e = make(s, order, now);
    int64_t pause = answer_for(e, order, answer);

    free(e->what);
    e->what = describe(order);
    e->verb = verb_of(order);
    e->asked = now + pause;
    e->leaves = 0;
    return pause;
}

void
shadow_drop(struct shadow *s, enum action action, struct str name, int64_t now)
{
    char *key = key_of(action, name);
    struct entry *e = map_get(&s->by_key, key);

    free(key);
    if (e == NULL)
        return;
    if (action == ACTION_RACK && now >= e->asked)
        e->leaves = now + AGAIN;
    else
        forget(s, e);
}

void
shadow_planned(struct shadow *s, bool planned, int64_t now)
{
    if (!planned)
        forget_all(s);
    if (planned != s->planned)
        s->since = now;
    s->planned = planned;
}

/* ---- what is reported -------------------------------------------------- */

static bool
is_reported(const struct shadow *s, const struct entry *e, int64_t now)
{
    return (e->leaves == 0 || now < e->leaves) &&
           now - e->since >= SHADOW_STANDS &&
           (s->others == 0 || !is_status(e->action));
}

/* Something came too late to be reported by now. */
static bool
is_in_wait(const struct shadow *s, int64_t now)
{
    const struct entry *e;
    size_t pos = 0;

    while ((e = map_next(&s->by_key, &pos)) != NULL)
        if (now - e->since < SHADOW_STANDS)
            return true;
    return false;
}

/* Where others never rest, something always is in wait. */
static bool
is_known(const struct shadow *s, int64_t now)
{
    int64_t looked = now - s->since;

    return s->planned && looked >= SHADOW_STANDS &&
           (looked >= 2 * SHADOW_STANDS || !is_in_wait(s, now));
}

void
shadow_tell(struct shadow *s, int64_t now)
{
    struct entry *e;
    size_t pos = 0;

    while ((e = map_next(&s->by_key, &pos)) != NULL) {
        if (e->leaves != 0 && now >= e->leaves)
            forget(s, e);
        else if (e->told != is_reported(s, e, now))
            tell(e, !e->told);
    }
}

bool
shadow_is_restless(const struct shadow *s, int64_t now)
{
    const struct entry *e;
    size_t pos = 0;

    if (is_in_wait(s, now) || (s->planned && !is_known(s, now)))
        return true;
    while ((e = map_next(&s->by_key, &pos)) != NULL)
        if (e->leaves != 0)
            return true;
    return false;
}

static int
by_place(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    int order = strcmp(resources[x->action], resources[y->action]);

    return order != 0 ? order : strcmp(x->key, y->key);
}

/* Those that are reported, in order; to be freed. */
static const struct entry **
sorted(const struct shadow *s, int64_t now, size_t *count)
{
    const struct entry **all =
        mem_zalloc((s->by_key.count + 1) * sizeof(struct entry *));
    const struct entry *e;
    size_t pos = 0;

    *count = 0;
    while ((e = map_next(&s->by_key, &pos)) != NULL)
        if (is_reported(s, e, now))
            all[(*count)++] = e;
    qsort(all, *count, sizeof(struct entry *), by_place);
    return all;
}

bool
shadow_in_sync(const struct shadow *s, int64_t now, struct err *reason)
{
    const struct entry **all;
    struct buf text = {0};
    size_t count;
    char *line;

    if (!is_known(s, now)) {
        err_set(reason, "looks for what it would write");
        return false;
    }
    all = sorted(s, now, &count);
    if (count > 0)
        buf_printf(&text, "would make %zu write%s: ", count,
                   count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < FEW; i++)
        buf_printf(&text, "%s%s %s %s", i == 0 ? "" : ", ", all[i]->verb,
                   resources[all[i]->action], name_of(all[i]));
    buf_addz(&text, count > FEW ? ", ... (mokkactl shadow)" : "");
    free(all);
    line = buf_take(&text);
    err_set(reason, "%s", line);
    free(line);
    return count == 0;
}

void
shadow_count(const struct shadow *s, int64_t now, int64_t counts[ACTION_COUNT])
{
    const struct entry *e;
    size_t pos = 0;

    memset(counts, 0, ACTION_COUNT * sizeof(*counts));
    while ((e = map_next(&s->by_key, &pos)) != NULL)
        counts[e->action] += is_reported(s, e, now);
}

static void
add_line(struct buf *out, const struct entry *e, int64_t now)
{
    buf_printf(out, "{\"verb\":\"%s\",\"resource\":\"%s\",\"name\":", e->verb,
               resources[e->action]);
    json_text_string(out, str_of(name_of(e)));
    buf_printf(out, ",\"seconds\":%" PRId64 ",\"what\":",
               (now - e->since) / CLOCK_SECOND);
    json_text_string(out, str_of(e->what));
    buf_addz(out, "}\n");
}

int
shadow_list(const struct shadow *s, int64_t now, struct buf *out,
            struct err *err)
{
    const struct entry **all;
    size_t count;

    if (!is_known(s, now))
        return err_set(err,
                       "what it would write is not known yet, ask again when "
                       "/readyz shows another reason");
    all = sorted(s, now, &count);
    for (size_t i = 0; i < count; i++)
        add_line(out, all[i], now);
    free(all);
    return 0;
}
