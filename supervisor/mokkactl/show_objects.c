/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/mem.h"
#include "supervisor/mokkactl/show.h"

/* The kinds in the order in which they depend on each other. */
static const unsigned order[] = {KIND_PROFILE, KIND_INVENTORY, SHELF_POLICY,
                                 KIND_RACK, KIND_NODE};

static void
show_object(FILE *out, enum emit_form form, size_t number,
            const struct stored *o)
{
    char *api_version = mem_printf("\"%s\"", o->schema->api_version);
    char *kind = mem_printf("\"%s\"", o->schema->kind);
    /* Who owns which field is shown where it was told, as kubectl does. */
    const struct emit_member members[] = {
        {"apiVersion", api_version, NULL},
        {"kind", kind, NULL},
        {"metadata", o->now[PART_METADATA],
         o->managed ? NULL : "managedFields"},
        {"spec", o->now[PART_SPEC], NULL},
        {"status", o->now[PART_STATUS], NULL},
    };

    emit_item(out, form, number, members, nitems(members));
    free(api_version);
    free(kind);
}

void
show_objects(FILE *out, const struct cluster *c, enum emit_form form)
{
    size_t number = 0;

    emit_list_begin(out, form);
    for (size_t i = 0; i < nitems(order); i++) {
        size_t count;
        struct stored **list = view_sorted(c, order[i], &count);

        for (size_t j = 0; j < count; j++)
            if (!list[j]->gone)
                show_object(out, form, number++, list[j]);
        free(list);
    }
    emit_list_end(out, form, number);
}
