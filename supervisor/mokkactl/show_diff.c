/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/changes.h"
#include "supervisor/mokkactl/compact.h"
#include "supervisor/mokkactl/show.h"

/* Of one object so many fields are shown, and so much of a value. */
#define FIELDS_MAX 20
#define VALUE_MAX 60
#define BEFORE_MAX 20

struct fields {
    FILE *out;
    size_t count;
};

static char *
text_of(const json_t *value)
{
    struct buf text = {0};

    if (value != NULL)
        compact(&text, value);
    return buf_take(&text);
}

/* How many bytes two texts have in common from the start, down to the begin of
 * a character. */
static size_t
common(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] != '\0' && a[n] == b[n])
        n++;
    while (n > 0 && ((unsigned char)a[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* A long text: the part that begins a little before the given byte. */
static void
put_part(FILE *out, const char *text, size_t from)
{
    size_t length = strlen(text);
    size_t n;

    if (length <= VALUE_MAX) {
        fputs(text, out);
        return;
    }
    from = from < BEFORE_MAX ? 0 : from - BEFORE_MAX;
    while (from > 0 && ((unsigned char)text[from] & 0xc0) == 0x80)
        from--;
    n = length - from < VALUE_MAX ? length - from : VALUE_MAX;
    while (n > 0 && ((unsigned char)text[from + n] & 0xc0) == 0x80)
        n--;
    fprintf(out, "%s%.*s%s", from > 0 ? "..." : "", (int)n, text + from,
            from + n < length ? "..." : "");
}

static void
show_field(void *arg, const char *path, const json_t *before, const json_t *now)
{
    struct fields *f = arg;
    char *old, *new;
    size_t from;

    if (f->count++ >= FIELDS_MAX)
        return;
    old = text_of(before);
    new = text_of(now);
    from = common(old, new);
    fprintf(f->out, "  %c %s: ",
            before == NULL ? '+'
            : now == NULL  ? '-'
                           : '~',
            path);
    put_part(f->out, old, from);
    if (before != NULL && now != NULL)
        fputs(" -> ", f->out);
    put_part(f->out, new, from);
    putc('\n', f->out);
    free(old);
    free(new);
}

/* Versions and times change with whatever else does; bindings are told as
 * such. */
static const char *const silent[] = {"resourceVersion", "managedFields",
                                     "lastTransitionTime", "nodeRef", NULL};

static void
show_fields(FILE *out, const struct stored *o)
{
    struct fields f = {.out = out};

    for (enum part part = 0; part < PARTS; part++) {
        json_t *before, *now;

        if (!o->moved[part])
            continue;
        before = stored_tree_before(o, part);
        now = stored_tree(o, part);
        changes(part_name(part), before, now, silent, show_field, &f);
        json_decref(before);
        json_decref(now);
    }
    if (f.count > FIELDS_MAX)
        fprintf(out, "  ... %zu more fields\n", f.count - FIELDS_MAX);
}

/* An object that is updated or deleted. */
static void
show_standing(FILE *out, const struct stored *o)
{
    if (!stored_differs(o))
        return;
    fprintf(out, "%s %s %s\n", o->gone ? "delete" : "update", o->schema->kind,
            o->name);
    if (!o->gone)
        show_fields(out, o);
}

static void
show_shelf(FILE *out, const struct cluster *c, unsigned shelf)
{
    size_t count;
    struct stored **list = view_sorted(c, shelf, &count);

    for (size_t i = 0; i < count; i++)
        show_standing(out, list[i]);
    free(list);
}

static void
show_slot(FILE *out, const struct story *story, const struct view_rack *r,
          const struct view_slot *slot)
{
    const char *why;

    if (str_eq(slot->now.uid, slot->before.uid))
        return;
    if (slot->before.name.n > 0) {
        why = story_released(story, r->o->name, slot->index, slot->before.uid);
        fprintf(out, "  release slot %" PRId64 " Node %s: %s\n", slot->index,
                slot->before.name.s,
                why == NULL ? "the rack is rewritten" : why);
    }
    if (slot->now.name.n > 0)
        fprintf(out, "  bind slot %" PRId64 " Node %s\n", slot->index,
                slot->now.name.s);
}

static void
show_rack(FILE *out, const struct story *story, const struct view_rack *r)
{
    const struct object_rack *rack = &r->o->rack->o;
    const char *what = r->o->gone           ? "delete"
                       : r->o->file == NULL ? "create"
                                            : "update";
    const char *why = r->o->gone ? story_retired(story, r->o->name) : NULL;

    if (!stored_differs(r->o))
        return;
    fprintf(out, "%s %s %s (%s/%s, rack %" PRId64 ", %zu slots)%s%s\n", what,
            r->o->schema->kind, r->o->name, rack->inventory.name.s,
            rack->group.s, rack->index, r->count, why == NULL ? "" : ": ",
            why == NULL ? "" : why);
    for (size_t i = 0; i < r->count; i++)
        show_slot(out, story, r, &r->slots[i]);
    if (!r->o->gone && r->o->file != NULL)
        show_fields(out, r->o);
}

void
show_diff(FILE *out, const struct view *v, const struct story *story,
          const struct cluster *c)
{
    show_shelf(out, c, KIND_INVENTORY);
    for (size_t i = 0; i < v->rack_count; i++)
        show_rack(out, story, &v->racks[i]);
    show_shelf(out, c, KIND_NODE);
}
