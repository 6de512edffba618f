/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/columns.h"
#include "supervisor/mokkactl/show.h"

/* Lists of Nodes are cut after so many. */
#define LIST_MAX 20

/* ---- groups ------------------------------------------------------------ */

static void
add_head(struct columns *c)
{
    static const char *const head[] = {
        "INVENTORY", "GROUP", "PROFILE", "RACKS",   "SLOTS",   "BOUND",
        "NEW",       "FREED", "FREE",    "MATCHED", "PENDING",
    };

    for (size_t i = 0; i < nitems(head); i++)
        columns_text(c, head[i]);
    columns_end(c);
}

static void
add_group(struct columns *c, const struct view_inventory *i,
          const struct view_group *g)
{
    char racks[64];

    snprintf(racks, sizeof(racks), "%" PRId64 "/%" PRId64, g->standing,
             g->declared);
    columns_text(c, i->o->name);
    columns_text(c, g->id);
    columns_text(c, g->profile);
    columns_text(c, racks);
    columns_number(c, g->slots);
    columns_number(c, g->bound);
    columns_number(c, g->fresh);
    columns_number(c, g->released);
    columns_number(c, g->slots - g->bound);
    columns_number(c, g->requested);
    columns_number(c, g->pending);
    columns_end(c);
}

static void
show_groups(FILE *out, const struct view *v)
{
    struct columns c = {0};

    add_head(&c);
    for (size_t i = 0; i < v->inventory_count; i++)
        for (size_t j = 0; j < v->inventories[i].group_count; j++)
            add_group(&c, &v->inventories[i], &v->inventories[i].groups[j]);
    columns_print(&c, out);
}

/* ---- maps -------------------------------------------------------------- */

static const struct {
    char mark;
    const char *says;
} legend[] = {
    {MARK_BOUND, "bound"},    {MARK_NEW, "new"},   {MARK_BLOCKED, "blocked"},
    {MARK_RELEASED, "freed"}, {MARK_FREE, "free"},
};

static void
show_legend(FILE *out)
{
    const char *before = "\nRacks (slots:";

    for (size_t i = 0; i < nitems(legend); i++, before = ",")
        fprintf(out, "%s %c %s", before, legend[i].mark, legend[i].says);
    fputs("; x: the rack goes)\n", out);
}

static void
show_maps(FILE *out, const struct view *v)
{
    bool any = false;

    for (size_t i = 0; i < v->inventory_count; i++)
        for (size_t j = 0; j < v->inventories[i].group_count; j++) {
            const struct view_group *g = &v->inventories[i].groups[j];

            if (g->rack_count == 0)
                continue;
            if (!any)
                show_legend(out);
            any = true;
            show_map(out, &v->inventories[i], g);
        }
}

/* ---- what is not as it should be --------------------------------------- */

/* The conditions that are not True. */
static void
show_conditions(FILE *out, const struct view_inventory *i, bool *any)
{
    json_t *c;
    size_t j;

    json_array_foreach(json_object_get(i->status, "conditions"), j, c)
    {
        if (strcmp(kube_json_text(c, "status"), "True") == 0)
            continue;
        if (!*any)
            fputs("\nNot as declared\n", out);
        *any = true;
        fprintf(out, "  %s: %s (%s): %s\n", i->o->name,
                kube_json_text(c, "type"), kube_json_text(c, "reason"),
                kube_json_text(c, "message"));
    }
}

static void
show_refusals(FILE *out, const struct story *story, bool *any)
{
    const struct story_refusal *r;
    size_t pos = 0, count = 0;

    while ((r = map_next(&story->refused, &pos)) != NULL) {
        if (!*any)
            fputs("\nNot as declared\n", out);
        *any = true;
        if (count++ < LIST_MAX)
            fprintf(out, "  the API server would refuse %s %s: %s\n",
                    action_name(r->action), r->name, r->reason);
    }
    if (count > LIST_MAX)
        fprintf(out, "  ... %zu more are refused\n", count - LIST_MAX);
}

static void
show_conflicts(FILE *out, const struct story *story)
{
    const struct story_conflict *f;
    struct columns c = {0};
    size_t pos = 0, count = 0;

    if (story->conflicts.count == 0)
        return;
    fputs("\nConflicts\n", out);
    while ((f = map_next(&story->conflicts, &pos)) != NULL) {
        if (count++ >= LIST_MAX)
            continue;
        columns_text(&c, "");
        columns_text(&c, f->node);
        columns_text(&c, story_conflict_name(f->kind));
        columns_text(&c, f->with);
        columns_end(&c);
    }
    columns_print(&c, out);
    if (count > LIST_MAX)
        fprintf(out, "  ... %zu more\n", count - LIST_MAX);
}

static void
show_waiting(FILE *out, const struct story *story)
{
    struct columns c = {0};
    size_t count = story->waiting_count;

    if (count == 0)
        return;
    fputs("\nWithout a slot\n", out);
    for (size_t i = 0; i < count && i < LIST_MAX; i++) {
        char *group = mem_printf("%s/%s", story->waiting[i].inventory,
                                 story->waiting[i].group);

        columns_text(&c, "");
        columns_text(&c, story->waiting[i].node);
        columns_text(&c, group);
        columns_end(&c);
        free(group);
    }
    columns_print(&c, out);
    if (count > LIST_MAX)
        fprintf(out, "  ... %zu more\n", count - LIST_MAX);
}

/* Without an inventory that is no news. */
static void
show_unselected(FILE *out, const struct view *v, const struct story *story)
{
    size_t count = story->unselected_count;

    if (count == 0 || v->inventory_count == 0)
        return;
    fputs("\nSelected by no group that takes part\n", out);
    for (size_t i = 0; i < count && i < LIST_MAX; i++)
        fprintf(out, "  %s\n", story->unselected[i]);
    if (count > LIST_MAX)
        fprintf(out, "  ... %zu more\n", count - LIST_MAX);
}

/* Racks that no declared group has a place for. */
static void
show_others(FILE *out, const struct view *v)
{
    struct columns c = {0};
    size_t count = 0;

    for (size_t i = 0; i < v->rack_count; i++) {
        const struct stored *o = v->racks[i].o;
        char *group;

        if (v->racks[i].group != NULL || count++ >= LIST_MAX)
            continue;
        group = mem_printf("%s/%s", o->rack->o.inventory.name.s,
                           o->rack->o.group.s);
        columns_text(&c, "");
        columns_text(&c, o->name);
        columns_text(&c, group);
        columns_text(&c, o->gone ? "goes" : "stays");
        columns_end(&c);
        free(group);
    }
    if (count == 0)
        return;
    fputs("\nRacks of no declared group\n", out);
    columns_print(&c, out);
    if (count > LIST_MAX)
        fprintf(out, "  ... %zu more\n", count - LIST_MAX);
}

/* ---- in sum ------------------------------------------------------------ */

static void
show_sum(FILE *out, const struct view *v)
{
    fprintf(out, "\n%zu Nodes, %zu of them eligible (label %s=%s)\n", v->nodes,
            v->eligible, LABEL_ELIGIBLE, LABEL_TRUE);
    if (v->created + v->updated + v->deleted == 0) {
        fputs("Nothing would change.\n", out);
        return;
    }
    fprintf(out,
            "Would change: %zu objects created, %zu updated, %zu deleted; %zu "
            "slots bound, %zu freed (see --diff)\n",
            v->created, v->updated, v->deleted, v->bound, v->released);
}

void
show_table(FILE *out, const struct view *v, const struct story *story)
{
    bool any = false;

    if (v->inventory_count > 0) {
        show_groups(out, v);
        show_maps(out, v);
    } else {
        fputs("There is no inventory.\n", out);
    }
    for (size_t i = 0; i < v->inventory_count; i++)
        show_conditions(out, &v->inventories[i], &any);
    show_refusals(out, story, &any);
    show_others(out, v);
    show_conflicts(out, story);
    show_waiting(out, story);
    show_unselected(out, v, story);
    show_sum(out, v);
}
