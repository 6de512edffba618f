/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assignment.h"

#include <inttypes.h>
#include <string.h>

#include "common/json_read.h"
#include "common/json_text.h"

#define VERSION 1
#define SLOT ",\"nodeIndex\":"

static void
add_text(struct buf *out, const char *before, struct str text)
{
    buf_addz(out, before);
    json_text_string(out, text);
}

static void
add_ref(struct buf *out, const char *before, struct object_ref ref)
{
    buf_addz(out, before);
    add_text(out, "{\"name\":", ref.name);
    add_text(out, ",\"uid\":", ref.uid);
}

int
assignment_begin(struct buf *out, const struct assignment *a, struct err *err)
{
    if (a->rack.name.n == 0 || a->rack.uid.n == 0)
        return err_set(err, "an assignment needs its rack's name and uid");
    if (a->rack_index < 0)
        return err_set(err, "an assignment needs a slot, not rack %" PRId64,
                       a->rack_index);
    buf_addz(out, "{\"v\":");
    buf_addi(out, VERSION);
    add_ref(out, ",\"inventory\":", a->inventory);
    add_ref(out, "},\"rack\":", a->rack);
    add_ref(out, "},\"profile\":", a->profile);
    add_text(out, ",\"revision\":", a->revision);
    add_text(out, "},\"rackGroup\":", a->group);
    buf_addz(out, ",\"rackIndex\":");
    buf_addi(out, a->rack_index);
    return 0;
}

int
assignment_slot(struct buf *out, int64_t node_index, struct str node_uid,
                struct err *err)
{
    if (node_uid.n == 0)
        return err_set(err, "an assignment needs its Node's uid");
    if (node_index < 0)
        return err_set(err, "an assignment needs a slot, not node %" PRId64,
                       node_index);
    buf_addz(out, SLOT);
    buf_addi(out, node_index);
    add_text(out, ",\"nodeUID\":", node_uid);
    buf_addc(out, '}');
    return 0;
}

struct str
assignment_head(struct str text)
{
    const char *slot =
        text.n == 0 ? NULL : memmem(text.s, text.n, SLOT, strlen(SLOT));

    return (struct str){text.s, slot == NULL ? 0 : (size_t)(slot - text.s)};
}

int
assignment_encode(struct buf *out, const struct assignment *a, struct err *err)
{
    size_t before = out->len;

    if (assignment_begin(out, a, err) != 0)
        return -1;
    if (assignment_slot(out, a->node_index, a->node_uid, err) == 0)
        return 0;
    out->len = before;
    return -1;
}

struct reading {
    int64_t version;
    struct assignment a;
};

#define PLACE(member) offsetof(struct reading, member)

static const struct json_member inventory_members[] = {
    {"name", JSON_FORM_TEXT, PLACE(a.inventory.name), NULL},
    {"uid", JSON_FORM_TEXT, PLACE(a.inventory.uid), NULL},
    {NULL, JSON_FORM_TEXT, 0, NULL},
};

static const struct json_member rack_members[] = {
    {"name", JSON_FORM_TEXT, PLACE(a.rack.name), NULL},
    {"uid", JSON_FORM_TEXT, PLACE(a.rack.uid), NULL},
    {NULL, JSON_FORM_TEXT, 0, NULL},
};

static const struct json_member profile_members[] = {
    {"name", JSON_FORM_TEXT, PLACE(a.profile.name), NULL},
    {"uid", JSON_FORM_TEXT, PLACE(a.profile.uid), NULL},
    {"revision", JSON_FORM_TEXT, PLACE(a.revision), NULL},
    {NULL, JSON_FORM_TEXT, 0, NULL},
};

static const struct json_member members[] = {
    {"v", JSON_FORM_NUMBER, PLACE(version), NULL},
    {"inventory", JSON_FORM_OBJECT, 0, inventory_members},
    {"rack", JSON_FORM_OBJECT, 0, rack_members},
    {"profile", JSON_FORM_OBJECT, 0, profile_members},
    {"rackGroup", JSON_FORM_TEXT, PLACE(a.group), NULL},
    {"rackIndex", JSON_FORM_NUMBER, PLACE(a.rack_index), NULL},
    {"nodeIndex", JSON_FORM_NUMBER, PLACE(a.node_index), NULL},
    {"nodeUID", JSON_FORM_TEXT, PLACE(a.node_uid), NULL},
    {NULL, JSON_FORM_TEXT, 0, NULL},
};

int
assignment_decode(struct assignment *a, struct str text, struct arena *arena,
                  struct err *err)
{
    struct reading reading = {0};

    if (json_read(&reading, members, text, arena, err) != 0)
        return err_prefix(err, "assignment");
    if (reading.version != VERSION)
        return err_set(err, "assignment: version %" PRId64 ", only %d is known",
                       reading.version, VERSION);
    *a = reading.a;
    return 0;
}

static bool
ref_eq(struct object_ref a, struct object_ref b)
{
    return str_eq(a.name, b.name) && str_eq(a.uid, b.uid);
}

bool
assignment_same(const struct assignment *a, const struct assignment *b)
{
    return ref_eq(a->inventory, b->inventory) && ref_eq(a->rack, b->rack) &&
           str_eq(a->group, b->group) && a->rack_index == b->rack_index &&
           a->node_index == b->node_index && str_eq(a->node_uid, b->node_uid);
}
