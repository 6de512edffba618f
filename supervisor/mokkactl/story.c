/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/story.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* Everything but the maps lies in the arena. */
static char *
keep(struct story *s, struct str text)
{
    return (char *)arena_str(&s->arena, text).s;
}

void
story_fini(struct story *s)
{
    map_fini(&s->released);
    map_fini(&s->retired);
    map_fini(&s->conflicts);
    map_fini(&s->refused);
    free(s->waiting);
    free(s->unselected);
    arena_fini(&s->arena);
    *s = (struct story){0};
}

/* Puts value at a key that is copied. */
static void
put(struct story *s, struct map *map, char *key, void *value)
{
    map_put(map, keep(s, str_of(key)), value);
    free(key);
}

static char *
slot_key(const char *rack, int64_t index, struct str uid)
{
    return mem_printf("%s %" PRId64 " %.*s", rack, index, (int)uid.n, uid.s);
}

static const struct log_field *
field(const struct log_field *fields, const char *key)
{
    static const struct log_field none = {.key = "", .text = ""};

    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return &none;
}

static const char *
text(const struct log_field *fields, const char *key)
{
    const char *value = field(fields, key)->text;

    return value == NULL ? "" : value;
}

static void
on_released(struct story *s, const struct log_field *fields)
{
    put(s, &s->released,
        slot_key(text(fields, "rack"), field(fields, "nodeIndex")->number,
                 str_of(text(fields, "nodeUID"))),
        keep(s, str_of(text(fields, "reason"))));
}

static void
on_retired(struct story *s, const struct log_field *fields)
{
    put(s, &s->retired, mem_strdup(text(fields, "rack")),
        keep(s, str_of(text(fields, "reason"))));
}

static size_t
count(const char *text_, char of)
{
    size_t n = 0;

    for (; *text_ != '\0'; text_++)
        n += *text_ == of;
    return n;
}

/* The keys, and whose they are; said once where somebody owns each. */
static char *
join_conflict(const char *keys, const char *managers)
{
    if (managers[0] == '\0')
        return mem_strdup(keys);
    if (count(keys, ',') == count(managers, ';'))
        return mem_strdup(managers);
    return mem_printf("%s (%s)", keys, managers);
}

static void
on_conflict(struct story *s, const struct log_field *fields)
{
    char *with =
        join_conflict(text(fields, "fields"), text(fields, "managers"));

    story_conflict(s, STORY_METADATA, str_of(text(fields, "node")),
                   str_of(text(fields, "rack")), str_of(with));
    free(with);
}

void
story_log(void *arg, enum log_level level, const char *msg,
          const struct log_field *fields)
{
    static const struct {
        const char *msg;
        void (*take)(struct story *s, const struct log_field *fields);
    } lines[] = {
        {"node released", on_released},
        {"rack retired", on_retired},
        {"metadata conflict blocks projection", on_conflict},
    };

    (void)level;
    for (size_t i = 0; i < nitems(lines); i++)
        if (strcmp(lines[i].msg, msg) == 0)
            lines[i].take(arg, fields);
}

static char *
refusal_key(enum action action, struct str name)
{
    return mem_printf("%d %.*s", (int)action, (int)name.n, name.s);
}

unsigned
story_refused(const struct story *s, enum action action, struct str name)
{
    const struct story_refusal *r;
    char *key;

    if (s->refused.count == 0)
        return 0;
    key = refusal_key(action, name);
    r = map_get(&s->refused, key);
    free(key);
    return r == NULL ? 0 : r->times;
}

void
story_refuse(struct story *s, const struct result *result)
{
    struct story_refusal *r = arena_alloc(&s->arena, sizeof(*r));

    *r = (struct story_refusal){
        result->action, keep(s, result->name), keep(s, result->reason),
        1 + story_refused(s, result->action, result->name)};
    put(s, &s->refused, refusal_key(result->action, result->name), r);
}

void
story_unrefuse(struct story *s, const struct result *result)
{
    char *key;

    if (s->refused.count == 0)
        return;
    key = refusal_key(result->action, result->name);
    map_remove(&s->refused, key);
    free(key);
}

void
story_wait(struct story *s, struct str node, struct str inventory,
           struct str group)
{
    if (s->waiting_count == s->waiting_room) {
        s->waiting_room = s->waiting_room == 0 ? 64 : 2 * s->waiting_room;
        s->waiting =
            mem_resize(s->waiting, s->waiting_room, sizeof(*s->waiting));
    }
    s->waiting[s->waiting_count++] = (struct story_waiting){
        keep(s, node), keep(s, inventory), keep(s, group)};
}

void
story_unselected(struct story *s, struct str node)
{
    if (s->unselected_count == s->unselected_room) {
        s->unselected_room =
            s->unselected_room == 0 ? 64 : 2 * s->unselected_room;
        s->unselected = mem_resize(s->unselected, s->unselected_room,
                                   sizeof(*s->unselected));
    }
    s->unselected[s->unselected_count++] = keep(s, node);
}

void
story_conflict(struct story *s, enum story_conflict_kind kind, struct str node,
               struct str rack, struct str with)
{
    struct story_conflict *c = arena_alloc(&s->arena, sizeof(*c));

    *c = (struct story_conflict){kind, keep(s, node), keep(s, rack),
                                 keep(s, with)};
    map_put(&s->conflicts, c->node, c);
}

const char *
story_conflict_name(enum story_conflict_kind kind)
{
    static const char *const names[] = {
        [STORY_OVERLAP] = "SelectorOverlap",
        [STORY_DUPLICATE] = "DuplicateBinding",
        [STORY_METADATA] = "NodeMetadataConflict",
    };

    return names[kind];
}

const char *
story_released(const struct story *s, const char *rack, int64_t index,
               struct str uid)
{
    char *key = slot_key(rack, index, uid);
    const char *reason = map_get(&s->released, key);

    free(key);
    return reason != NULL ? reason : story_retired(s, rack);
}

const char *
story_retired(const struct story *s, const char *rack)
{
    return map_get(&s->retired, rack);
}
