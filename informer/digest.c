/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/digest.h"

#include <inttypes.h>
#include <sha2.h>

#include "common/json_text.h"

/* A member: its key in the text, where its value is read, and how. */
struct member {
    const char *key, *path;
    enum { MEMBER_TEXT, MEMBER_NUMBER } type;
};

static const struct member inventory_ref[] = {
    {"name", "spec.inventoryRef.name", MEMBER_TEXT},
    {"uid", "spec.inventoryRef.uid", MEMBER_TEXT},
    {0},
};

static const struct member profile_ref[] = {
    {"name", "spec.profileRef.name", MEMBER_TEXT},
    {"uid", "spec.profileRef.uid", MEMBER_TEXT},
    {"generation", "spec.profileRef.generation", MEMBER_NUMBER},
    {"revision", "spec.profileRef.revision", MEMBER_TEXT},
    {0},
};

static const struct member identity[] = {
    {"rackGroup", "spec.identity.rackGroup", MEMBER_TEXT},
    {"rackIndex", "spec.identity.rackIndex", MEMBER_NUMBER},
    {"fabricUUID", "spec.identity.fabricUUID", MEMBER_TEXT},
    {"cliqueID", "spec.identity.cliqueID", MEMBER_NUMBER},
    {0},
};

static const struct member gpu[] = {
    {"index", "index", MEMBER_NUMBER},
    {"uuid", "uuid", MEMBER_TEXT},
    {"serial", "serial", MEMBER_TEXT},
    {"minorNumber", "minorNumber", MEMBER_NUMBER},
    {"pciAddress", "pciAddress", MEMBER_TEXT},
    {"rootComplex", "rootComplex", MEMBER_TEXT},
    {"numaNode", "numaNode", MEMBER_NUMBER},
    {"hostProcessorIndex", "hostProcessorIndex", MEMBER_NUMBER},
    {0},
};

static void
add_members(struct buf *out, struct reader *r, const struct member *m)
{
    for (const char *before = "{"; m->key != NULL; m++, before = ",") {
        buf_printf(out, "%s\"%s\":", before, m->key);
        if (m->type == MEMBER_TEXT)
            json_text_string(out, reader_text(r, m->path));
        else
            buf_printf(out, "%" PRId64, reader_number(r, m->path));
    }
    buf_addc(out, '}');
}

static void
add_gpus(struct buf *out, struct reader *node)
{
    const json_t *list = reader_list(node, "gpus");

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct reader r = reader_open(node, json_array_get(list, i));

        buf_addz(out, i > 0 ? "," : "");
        add_members(out, &r, gpu);
        reader_close(node, &r);
    }
}

static void
add_nodes(struct buf *out, struct reader *rack)
{
    const json_t *list = reader_list(rack, "spec.nodes");

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct reader r = reader_open(rack, json_array_get(list, i));

        buf_printf(out, "%s{\"index\":%" PRId64 ",\"gpus\":[", i > 0 ? "," : "",
                   reader_number(&r, "index"));
        add_gpus(out, &r);
        buf_addz(out, "]}");
        reader_close(rack, &r);
    }
}

void
digest_rack_text(struct buf *out, struct reader *r)
{
    buf_addz(out, "{\"inventoryRef\":");
    add_members(out, r, inventory_ref);
    buf_addz(out, ",\"profileRef\":");
    add_members(out, r, profile_ref);
    buf_addz(out, ",\"identity\":");
    add_members(out, r, identity);
    buf_addz(out, ",\"nodes\":[");
    add_nodes(out, r);
    buf_addz(out, "]}");
}

struct str
digest_rack(struct reader *r)
{
    char hex[SHA256_DIGEST_STRING_LENGTH];
    struct buf text = {0};

    digest_rack_text(&text, r);
    SHA256Data((const uint8_t *)buf_bytes(&text), text.len, hex);
    buf_fini(&text);
    return arena_str(r->arena, str_of(hex));
}
