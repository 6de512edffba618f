/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/show.h"

#define WIDTH 64 /* slots on a line */
#define LINES 40 /* of one group's map */
#define LABEL 15 /* columns for the rack's index */

/* Racks that look alike, one after another. */
struct run {
    const struct view_group *g;
    size_t first, count;
};

static bool
alike(const struct view_rack *a, const struct view_rack *b)
{
    if (a->count != b->count || a->o->gone != b->o->gone)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->slots[i].mark != b->slots[i].mark)
            return false;
    return true;
}

static struct run
next_run(const struct view_group *g, size_t first)
{
    struct run run = {g, first, 1};

    while (first + run.count < g->rack_count &&
           alike(g->racks[first], g->racks[first + run.count]))
        run.count++;
    return run;
}

static int64_t
index_of(const struct view_group *g, size_t rack)
{
    return g->racks[rack]->o->rack->o.index;
}

static void
put_label(FILE *out, const struct run *run)
{
    const struct view_rack *rack = run->g->racks[run->first];
    char label[64];
    int n = snprintf(label, sizeof(label), "%" PRId64,
                     index_of(run->g, run->first));

    if (run->count > 1)
        snprintf(label + n, sizeof(label) - (size_t)n, "-%" PRId64,
                 index_of(run->g, run->first + run->count - 1));
    fprintf(out, "  %*s%s", LABEL - 2, label, rack->o->gone ? " x " : "   ");
}

/* How many slots to show: not the whole lines at the end that are free. */
static size_t
shown_slots(const struct view_rack *rack)
{
    size_t n = rack->count;

    while (n > 0 && rack->slots[n - 1].mark == MARK_FREE)
        n--;
    n = n == 0 ? WIDTH : (n + WIDTH - 1) / WIDTH * WIDTH;
    return n < rack->count ? n : rack->count;
}

/* Returns the lines that it took. */
static size_t
put_run(FILE *out, const struct run *run)
{
    const struct view_rack *rack = run->g->racks[run->first];
    size_t count = shown_slots(rack);

    put_label(out, run);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && i % WIDTH == 0)
            fprintf(out, "\n%*s", LABEL + 3, "");
        putc(rack->slots[i].mark, out);
    }
    if (count < rack->count)
        fprintf(out, " +%zu free", rack->count - count);
    putc('\n', out);
    return 1 + (count > 0 ? (count - 1) / WIDTH : 0);
}

/* The racks from one on in a few words. */
static void
put_rest(FILE *out, const struct view_group *g, size_t first)
{
    size_t slots = 0, bound = 0;

    for (size_t i = first; i < g->rack_count; i++)
        for (size_t j = 0; j < g->racks[i]->count; j++) {
            slots++;
            bound += g->racks[i]->slots[j].now.name.n > 0;
        }
    fprintf(out, "  %*s   %zu more racks: %zu of %zu slots bound\n", LABEL - 2,
            "...", g->rack_count - first, bound, slots);
}

void
show_map(FILE *out, const struct view_inventory *i, const struct view_group *g)
{
    size_t first = 0, lines = 0;

    fprintf(out, "%s/%s\n", i->o->name, g->id);
    while (first < g->rack_count && lines < LINES) {
        struct run run = next_run(g, first);

        lines += put_run(out, &run);
        first += run.count;
    }
    if (first < g->rack_count)
        put_rest(out, g, first);
}
