/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendering a rack (mokka-api 7.1 to 7.4).
 *
 * A rack's spec is text from the start: it is digested, counted and sent, never
 * read here.  Members in this order, none left out when zero:
 *
 *   spec       inventoryRef, profileRef, identity, nodes
 *   refs       name, uid; the profile's also generation, revision
 *   identity   rackGroup, rackIndex, fabricUUID, cliqueID
 *   node       index, nodeRef (only if bound), gpus
 *   GPU        index, uuid, serial, minorNumber, pciAddress, rootComplex,
 *              numaNode, hostProcessorIndex
 *
 * Digest and size are those of the text without any nodeRef.
 */
#include "placer/rack.h"

#include <inttypes.h>
#include <sha2.h>

#include "common/api.h"
#include "common/json_text.h"
#include "common/mem.h"
#include "placer/label.h"

/* A rendering under way. Text from mark on is not digested yet. */
struct render {
    const struct rack_input *in;
    const struct rack_bindings *bindings;
    struct rack_facts *facts;
    struct buf *out;
    size_t mark;
    SHA2_CTX sha;
};

/* 7.1 */
static int
check_input(const struct rack_input *in, struct err *err)
{
    const struct profile *p = in->profile;

    if (in->inventory.name.n == 0 || in->inventory.uid.n == 0)
        return err_set(err, "a rack needs its inventory's name and uid");
    if (in->group.n == 0)
        return err_set(err, "a rack needs its group's id");
    if (in->index < 0 || in->index >= in->count)
        return err_set(
            err, "rack index %" PRId64 ", the group has %" PRId64 " racks",
            in->index, in->count);
    if (p == NULL)
        return err_set(err, "a rack needs a profile");
    if (*p->name == '\0' || *p->uid == '\0' || p->generation < 1)
        return err_set(err, "a rack needs its profile's name, uid and "
                            "generation");
    if (!p->valid)
        return err_set(err, "profile %s: %s", p->name, p->issue.text);
    return 0;
}

/* Digests what was written, up to here. */
static void
digest_up_to(struct render *r, size_t here)
{
    SHA256Update(&r->sha, (const uint8_t *)buf_bytes(r->out) + r->mark,
                 here - r->mark);
    r->facts->bytes += here - r->mark;
    r->mark = here;
}

/* Leaves out of the digest what was written since it went up to here. */
static void
digest_none(struct render *r)
{
    r->mark = r->out->len;
}

static void
add_text(struct buf *out, const char *before, struct str text)
{
    buf_addz(out, before);
    json_text_string(out, text);
}

static void
add_head(struct render *r)
{
    const struct rack_input *in = r->in;
    const struct profile *p = in->profile;

    add_text(r->out, "{\"inventoryRef\":{\"name\":", in->inventory.name);
    add_text(r->out, ",\"uid\":", in->inventory.uid);
    add_text(r->out, "},\"profileRef\":{\"name\":", str_of(p->name));
    add_text(r->out, ",\"uid\":", str_of(p->uid));
    buf_printf(r->out, ",\"generation\":%" PRId64 ",\"revision\":\"%s\"}",
               p->generation, p->revision);
    add_text(r->out, ",\"identity\":{\"rackGroup\":", in->group);
    buf_printf(r->out,
               ",\"rackIndex\":%" PRId64
               ",\"fabricUUID\":\"%s\",\"cliqueID\":%d},\"nodes\":[",
               in->index, r->facts->fabric, CLIQUE_ID);
}

/* The binding is neither digested nor counted. */
static void
add_binding(struct render *r, size_t slot)
{
    const struct object_ref *node;

    if (r->bindings == NULL || r->bindings->nodes == NULL)
        return;
    node = &r->bindings->nodes[slot];
    if (node->name.n == 0)
        return;
    digest_up_to(r, r->out->len);
    add_text(r->out, ",\"nodeRef\":{\"name\":", node->name);
    add_text(r->out, ",\"uid\":", node->uid);
    buf_addc(r->out, '}');
    digest_none(r);
}

static void
add_number(struct buf *out, const char *before, int64_t number)
{
    buf_addz(out, before);
    buf_addi(out, number);
}

static void
add_gpu(struct render *r, const struct identity_gpus *gpus, uint32_t node,
        const struct profile_slot *slot)
{
    struct buf *out = r->out;
    char uuid[IDENTITY_GPU];
    char serial[IDENTITY_SERIAL];

    identity_gpu(gpus, node, (uint32_t)slot->index, uuid, serial);
    add_number(out,
               slot->index == 0 ? "{\"index\":" : ",{\"index\":", slot->index);
    buf_addz(out, ",\"uuid\":\"");
    buf_addz(out, uuid);
    buf_addz(out, "\",\"serial\":\"");
    buf_addz(out, serial);
    add_number(out, "\",\"minorNumber\":", slot->index);
    buf_addz(out, ",\"pciAddress\":\"");
    buf_addz(out, slot->pci);
    buf_addz(out, "\",\"rootComplex\":\"");
    buf_addz(out, slot->root);
    add_number(out, "\",\"numaNode\":", slot->numa);
    add_number(out, ",\"hostProcessorIndex\":", slot->host_cpu);
    buf_addc(out, '}');
}

static void
add_nodes(struct render *r)
{
    const struct profile *p = r->in->profile;
    struct identity_gpus gpus;

    identity_gpus_init(&gpus, r->in->inventory.uid, r->in->group,
                       (uint32_t)r->in->index);
    for (int32_t node = 0; node < p->nodes_per_rack; node++) {
        add_number(r->out, node == 0 ? "{\"index\":" : ",{\"index\":", node);
        add_binding(r, (size_t)node);
        buf_addz(r->out, ",\"gpus\":[");
        for (int32_t gpu = 0; gpu < p->gpus; gpu++)
            add_gpu(r, &gpus, (uint32_t)node, &p->slots[gpu]);
        buf_addz(r->out, "]}");
    }
}

/* Slots of the live object that outlive the rendering. */
static void
add_kept(struct render *r)
{
    digest_up_to(r, r->out->len);
    for (size_t i = 0; r->bindings != NULL && i < r->bindings->kept_count; i++)
        buf_printf(r->out, ",{\"index\":%" PRId64 "}", r->bindings->kept[i]);
    digest_none(r);
}

/* What merging may break: 7.3, also of the merged spec (7.5). */
static int
check_kept(const struct rack_input *in, const struct rack_bindings *bindings,
           struct err *err)
{
    int64_t last = in->profile->nodes_per_rack - 1;

    for (size_t i = 0; bindings != NULL && i < bindings->kept_count; i++) {
        if (bindings->kept[i] <= last ||
            bindings->kept[i] >= MAX_NODES_PER_RACK)
            return err_set(err,
                           "node index %" PRId64 " after %" PRId64
                           ", must rise and be below %d",
                           bindings->kept[i], last, MAX_NODES_PER_RACK);
        last = bindings->kept[i];
    }
    return 0;
}

static void
name_facts(struct rack_facts *facts, const struct rack_input *in)
{
    *facts = (struct rack_facts){.bytes = 0};
    identity_rack_name(in->inventory.name, in->inventory.uid, in->group,
                       (uint32_t)in->index, facts->name);
    identity_fabric(in->inventory.uid, in->group, (uint32_t)in->index,
                    facts->fabric);
}

/* To out, which is emptied of it again on failure. */
static int
render(struct rack_facts *facts, struct buf *out, const struct rack_input *in,
       const struct rack_bindings *bindings, struct err *err)
{
    struct render r = {.in = in,
                       .bindings = bindings,
                       .facts = facts,
                       .out = out,
                       .mark = out->len};
    size_t before = out->len;

    name_facts(facts, in);
    SHA256Init(&r.sha);
    add_head(&r);
    add_nodes(&r);
    add_kept(&r);
    buf_addz(out, "]}");
    digest_up_to(&r, out->len);
    SHA256End(&r.sha, facts->digest);
    if (facts->bytes <= MAX_RACK_BYTES)
        return 0;
    out->len = before;
    return err_set(err, "the spec of a rack has %zu bytes, the limit is %d",
                   facts->bytes, MAX_RACK_BYTES);
}

int
rack_render(struct rack_facts *facts, struct buf *spec,
            const struct rack_input *in, const struct rack_bindings *bindings,
            struct err *err)
{
    struct buf scratch = {0};
    int failed;

    if (check_input(in, err) != 0 || check_kept(in, bindings, err) != 0)
        return -1;
    failed = render(facts, spec != NULL ? spec : &scratch, in, bindings, err);
    buf_fini(&scratch);
    return failed;
}
