/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "placer/questions.h"
#include "proto/frame.h"
#include "proto/show.h"
#include "proto/unpack.h"

/* A line is the message that would carry the object. */
static void
add_object(struct buf *out, const char *kind, uint16_t type, struct buf *body)
{
    struct unpacked *u = unpack_body(buf_str(body), NULL);

    buf_printf(out, "{\"kind\":\"%s\",\"object\":", kind);
    if (u != NULL)
        show_json(out, type, unpacked_root(u));
    else
        buf_addz(out, "null");
    buf_addz(out, "}\n");
    unpacked_free(u);
    buf_fini(body);
}

static void
add_profiles(struct buf *out, const struct world *w)
{
    const struct world_profile *f;
    size_t pos = 0;

    while ((f = map_next(&w->kinds[KIND_PROFILE], &pos)) != NULL) {
        buf_addz(out, "{\"kind\":\"SGPURackProfile\",\"name\":");
        json_text_string(out, str_of(f->spec.name));
        buf_addz(out, ",\"uid\":");
        json_text_string(out, str_of(f->spec.uid));
        buf_printf(out,
                   ",\"generation\":%" PRId64 ",\"valid\":%s,\"nodesPerRack\""
                   ":%d,\"gpus\":%d,\"issue\":",
                   f->spec.generation, f->spec.valid ? "true" : "false",
                   (int)f->spec.nodes_per_rack, (int)f->spec.gpus);
        json_text_string(out, str_of(f->spec.valid ? "" : f->spec.issue.text));
        buf_addz(out, "}\n");
    }
}

/* Of a spec only what was compiled is kept. */
static void
add_inventories(struct buf *out, const struct world *w)
{
    const struct world_inventory *v;
    size_t pos = 0;

    while ((v = map_next(&w->kinds[KIND_INVENTORY], &pos)) != NULL) {
        struct buf body = {0};

        object_inventory_pack(&body, &v->o, STR("\200"));
        add_object(out, "SGPUInventory", MSG_INVENTORY, &body);
    }
}

static void
add_racks(struct buf *out, const struct world *w)
{
    const struct world_rack *r;
    size_t pos = 0;

    while ((r = map_next(&w->kinds[KIND_RACK], &pos)) != NULL) {
        struct buf body = {0};

        object_rack_pack(&body, &r->o);
        add_object(out, "SGPURack", MSG_RACK, &body);
    }
}

static void
add_nodes(struct buf *out, const struct world *w)
{
    const struct world_node *n;
    size_t pos = 0;

    while ((n = map_next(&w->kinds[KIND_NODE], &pos)) != NULL) {
        struct buf body = {0};

        object_node_pack(&body, &n->o);
        add_object(out, "Node", MSG_NODE, &body);
    }
}

static void
add_wish(void *arg, enum action action, const char *name,
         const struct wish *wish)
{
    static const char *const states[] = {
        [WISH_NONE] = "none", [WISH_OPEN] = "open",       [WISH_LOST] = "lost",
        [WISH_DONE] = "done", [WISH_REFUSED] = "refused",
    };
    struct buf *out = arg;

    buf_printf(out, "{\"kind\":\"wish\",\"action\":\"%s\",\"name\":",
               action_name(action));
    json_text_string(out, str_of(name));
    buf_printf(out, ",\"state\":\"%s\",\"basis\":\"%s\",\"version\":\"%s\"",
               states[wish->state], wish->basis, wish->version);
    buf_addz(out, ",\"reason\":");
    json_text_string(out, str_of(wish->reason));
    buf_addz(out, "}\n");
}

int
question_dump(const struct placer *p, struct buf *out, struct err *err)
{
    (void)err;
    buf_printf(out,
               "{\"kind\":\"placer\",\"synced\":%s,\"term\":%" PRIu64
               ",\"planned\":%" PRIu64 ",\"wishesOpen\":%u}\n",
               p->synced ? "true" : "false", p->term, p->planned,
               p->wishes.open);
    add_profiles(out, &p->world);
    add_inventories(out, &p->world);
    add_racks(out, &p->world);
    add_nodes(out, &p->world);
    wish_each(&p->wishes, add_wish, out);
    return 0;
}
