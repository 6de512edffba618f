/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/news.h"

#include <stdlib.h>

#include "common/mem.h"
#include "placer/placer.h"
#include "proto/frame.h"

enum topic {
    TOPIC_ADMISSION,
    TOPIC_REFERENCES,
    TOPIC_RACKS,
    TOPIC_PLACEMENT,
    TOPICS
};

static const struct {
    const char *condition, *action;
} topics[TOPICS] = {
    [TOPIC_ADMISSION] = {"Accepted", "Admit"},
    [TOPIC_REFERENCES] = {"ResolvedRefs", "Resolve"},
    [TOPIC_RACKS] = {"Programmed", "Project"},
    [TOPIC_PLACEMENT] = {"RequestsSatisfied", "Place"},
};

/* Which states are news. */
static const struct item {
    enum topic topic;
    const char *status;
    const char *reason;                           /* NULL: any */
    enum { NEWS_GOOD, NEWS_BAD, NEWS_OVER } kind; /* OVER: the bad one is */
    const char *message; /* NULL: the condition's; else one without numbers, so
                          * that the same news is the same Event */
} items[] = {
    {TOPIC_ADMISSION, "True", NULL, NEWS_GOOD, NULL},
    {TOPIC_ADMISSION, "False", NULL, NEWS_BAD, NULL},
    {TOPIC_REFERENCES, "True", NULL, NEWS_OVER, NULL},
    {TOPIC_REFERENCES, "False", NULL, NEWS_BAD, NULL},
    {TOPIC_RACKS, "True", NULL, NEWS_GOOD, NULL},
    {TOPIC_RACKS, "False", "RackOwnershipConflict", NEWS_BAD,
     "racks of it belong to or were edited by somebody else"},
    {TOPIC_RACKS, "False", "NodeMetadataConflict", NEWS_BAD,
     "on Nodes of it somebody else holds a label or annotation of the "
     "assignment"},
    {TOPIC_PLACEMENT, "True", NULL, NEWS_OVER, NULL},
    {TOPIC_PLACEMENT, "False", "PlacementConflicts", NEWS_BAD,
     "Nodes are claimed more than once"},
    {TOPIC_PLACEMENT, "False", NULL, NEWS_OVER, NULL},
};

/* What was said last of one inventory, by topic. */
struct said {
    char *name, *uid;
    struct {
        const struct item *item; /* NULL: nothing yet */
        char *reason;
        int64_t generation;
    } topics[TOPICS];
};

static void
free_said(struct said *said)
{
    if (said == NULL)
        return;
    for (int i = 0; i < TOPICS; i++)
        free(said->topics[i].reason);
    free(said->name);
    free(said->uid);
    free(said);
}

/* What this state of a condition is; NULL: no news. */
static const struct item *
item_of(const struct condition *c, enum topic topic)
{
    for (size_t i = 0; i < nitems(items); i++)
        if (items[i].topic == topic && str_is(c->status, items[i].status) &&
            (items[i].reason == NULL || str_is(c->reason, items[i].reason)))
            return &items[i];
    return NULL;
}

static const struct condition *
condition_of(const struct condition *conditions, size_t count, enum topic topic)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(conditions[i].type, topics[topic].condition))
            return &conditions[i];
    return NULL;
}

static void
note(struct said *said, enum topic topic, const struct item *item,
     struct str reason, int64_t generation)
{
    free(said->topics[topic].reason);
    said->topics[topic].item = item;
    said->topics[topic].reason = mem_dup(reason.s, reason.n);
    said->topics[topic].generation = generation;
}

/* The status that stands counts as said. */
static void
note_standing(struct said *said, const struct conditions *standing)
{
    for (int i = 0; i < TOPICS; i++) {
        const struct condition *c =
            condition_of(standing->items, standing->count, (enum topic)i);
        const struct item *item = c == NULL ? NULL : item_of(c, (enum topic)i);

        if (item != NULL)
            note(said, (enum topic)i, item, c->reason, c->observed);
    }
}

static struct said *
said_of(struct news *news, const struct object_inventory *o)
{
    struct said *said = map_get(&news->inventories, o->meta.name.s);

    if (said != NULL && str_is(o->meta.uid, said->uid))
        return said;
    if (said != NULL)
        news_forget(news, o->meta.name.s);
    said = mem_zalloc(sizeof(*said));
    said->name = mem_dup(o->meta.name.s, o->meta.name.n);
    said->uid = mem_dup(o->meta.uid.s, o->meta.uid.n);
    note_standing(said, &o->status.conditions);
    map_put(&news->inventories, said->name, said);
    return said;
}

static void
send_event(struct placer *p, const struct object_inventory *o, enum topic topic,
           const struct item *item, const struct condition *c)
{
    struct intent_event i = {
        .target = {o->meta.name, o->meta.uid, o->meta.version},
        .kind = KIND_INVENTORY,
        .warning = item->kind == NEWS_BAD,
        .reason = c->reason,
        .message = item->message == NULL ? c->message : str_of(item->message),
        .action = str_of(topics[topic].action),
    };
    struct buf body = {0};

    intent_event_pack(&body, &i);
    p->wishes.send(p->wishes.arg, MSG_EVENT, 0, buf_str(&body));
    buf_fini(&body);
}

static bool
is_said(const struct said *said, enum topic topic, const struct item *item,
        const struct condition *c, int64_t generation)
{
    return said->topics[topic].item == item &&
           said->topics[topic].generation == generation &&
           str_is(c->reason, said->topics[topic].reason);
}

void
news_inventory(struct placer *p, const struct object_inventory *o,
               const struct condition *conditions, size_t count)
{
    struct said *said = said_of(&p->news, o);
    int64_t generation = o->meta.generation;

    for (int i = 0; i < TOPICS; i++) {
        const struct condition *c =
            condition_of(conditions, count, (enum topic)i);
        const struct item *item = c == NULL ? NULL : item_of(c, (enum topic)i);

        if (item == NULL || is_said(said, (enum topic)i, item, c, generation))
            continue;
        if (item->kind != NEWS_OVER)
            send_event(p, o, (enum topic)i, item, c);
        note(said, (enum topic)i, item, c->reason, generation);
    }
}

void
news_forget(struct news *news, const char *name)
{
    free_said(map_remove(&news->inventories, name));
}

void
news_fini(struct news *news)
{
    struct said *said;
    size_t pos = 0;

    while ((said = map_next(&news->inventories, &pos)) != NULL)
        free_said(said);
    map_fini(&news->inventories);
}
