/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/intake.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"

void
intake_begin(struct intake *in)
{
    in->unnamed = false;
    store_begin(in->store, in->r->kind);
}

void
intake_end(struct intake *in, const char *version)
{
    store_end(in->store, in->r->kind, !in->unnamed, version);
}

static void
leave_out(struct intake *in, struct str name, const struct err *err)
{
    char *text = mem_dup(name.s, name.n);

    in->bad++;
    in->unnamed = in->unnamed || name.n == 0;
    log_warn("object skipped", F_STR("resource", in->r->plural),
             F_STR("name", text), F_STR("error", err->text));
    free(text);
}

/* Extracts and puts in.  -1 and err if the object cannot be taken. */
static int
take(struct intake *in, const struct wire_object *object, struct arena *arena,
     struct err *err)
{
    struct record record;

    if (in->r->extract(&record, object, arena, err) != 0)
        return -1;
    if (!resource_selects(in->r, record.meta.labels)) {
        store_remove(in->store, in->r->kind, record.meta.name, record.meta.uid);
        return 0;
    }
    return store_put(in->store, &record, err) == STORE_REFUSED ? -1 : 0;
}

void
intake_put(struct intake *in, const struct wire_object *object)
{
    struct arena arena = {0};
    struct err err;

    if (take(in, object, &arena, &err) != 0) {
        struct str name = extract_identity(object).name;

        leave_out(in, name, &err);
        store_keep(in->store, in->r->kind, name);
    }
    arena_fini(&arena);
}

void
intake_remove(struct intake *in, const struct wire_object *object)
{
    struct identity id = extract_identity(object);

    store_remove(in->store, in->r->kind, id.name, id.uid);
}

void
intake_bad(struct intake *in, const struct err *err)
{
    leave_out(in, STR(""), err);
}
