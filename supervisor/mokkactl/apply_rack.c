/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "projector/render.h"
#include "supervisor/mokkactl/apply_kind.h"
#include "supervisor/mokkactl/defaults.h"
#include "supervisor/mokkactl/rack_text.h"

/* ---- what a server checks ---------------------------------------------- */

/* Keeps the first thing that is wrong. */
static void
is_wrong(void *arg, const struct spot *spot, const char *what)
{
    struct err *first = arg;
    struct buf path = {0};
    char *text;

    if (first->text[0] != '\0')
        return;
    spot_add(&path, spot);
    text = buf_take(&path);
    err_set(first, "%s: %s", text, what);
    free(text);
}

static void
is_unknown(void *arg, const struct spot *spot)
{
    (void)arg;
    (void)spot;
}

static int
check(const json_t *body, struct err *err)
{
    const struct schema_report report = {is_wrong, is_unknown, err};

    err->text[0] = '\0';
    schema_check(schema_of(API_RACK), body, &report);
    return err->text[0] == '\0' ? 0 : -1;
}

/* ---- writing ----------------------------------------------------------- */

/* The members of metadata that are the server's, not the writer's. */
static const char *const servers_own[] = {
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
};

static void
keep_servers_own(json_t *metadata, const json_t *standing)
{
    for (size_t i = 0; i < nitems(servers_own); i++) {
        json_t *value = json_object_get(standing, servers_own[i]);

        if (value != NULL)
            json_object_set(metadata, servers_own[i], value);
    }
}

/* Ours as the writer of the spec, in short form. */
static json_t *
new_managed_fields(void)
{
    return json_pack("[{s:s, s:s, s:s, s:s, s:s, s:{s:{}, s:{}}}]", "manager",
                     FIELD_MANAGER, "operation", "Update", "apiVersion",
                     API_GROUP_VERSION, "time", DEFAULT_TIME, "fieldsType",
                     "FieldsV1", "fieldsV1", "f:metadata", "f:spec");
}

static void
fill_new(const struct stored *o, json_t *metadata)
{
    json_object_set_new(metadata, "uid", json_string(o->uid));
    json_object_set_new(metadata, "generation", json_integer(1));
    json_object_set_new(metadata, "creationTimestamp",
                        json_string(DEFAULT_TIME));
    json_object_set_new(metadata, "managedFields", new_managed_fields());
}

/* A changed spec is a new generation. */
static void
fill_changed(const struct stored *o, json_t *metadata, bool moves)
{
    json_t *standing = stored_tree(o, PART_METADATA);
    int64_t generation =
        json_integer_value(json_object_get(standing, "generation"));

    keep_servers_own(metadata, standing);
    if (moves)
        json_object_set_new(metadata, "generation",
                            json_integer(generation + 1));
    json_decref(standing);
}

/* Is the spec another one, not just another text? */
static bool
is_another(const struct stored *o, const json_t *spec)
{
    json_t *standing = stored_tree(o, PART_SPEC);
    bool same = standing != NULL && json_equal(standing, spec);

    json_decref(standing);
    return !same;
}

static void
store(struct work *w, struct stored *o, json_t *body)
{
    json_t *metadata = json_object_get(body, "metadata");
    json_t *spec = json_object_get(body, "spec");
    struct str text = w->intent.rack.spec;
    bool moves = is_another(o, spec);

    if (o->now[PART_METADATA] == NULL)
        fill_new(o, metadata);
    else
        fill_changed(o, metadata, moves);
    if (moves) {
        stored_set(o, PART_SPEC, mem_dup(text.s, text.n));
        stored_forget_rack(o);
    }
    apply_commit(w, o, metadata, spec);
}

/* ---- RACK_WRITE -------------------------------------------------------- */

static const char *
controller(const json_t *metadata, const char *member)
{
    json_t *owner;
    size_t i;

    json_array_foreach(json_object_get(metadata, "ownerReferences"), i, owner)
    {
        if (json_is_true(json_object_get(owner, "controller")))
            return kube_json_text(owner, member);
    }
    return "";
}

/* The name is taken: by a rack of ours, or by somebody else's. */
static void
end_taken(struct work *w, const struct stored *o)
{
    json_t *metadata = stored_tree(o, PART_METADATA);
    const char *uid = controller(metadata, "uid");
    const struct owners *owners = &w->intent.rack.owners;
    bool ours = false;
    struct err err;

    for (size_t i = 0; i < owners->count; i++)
        ours = ours || (owners->items[i].controller == 1 &&
                        str_is(owners->items[i].uid, uid));
    err_set(&err, "the name is taken by a rack of %s %s (%s)",
            controller(metadata, "kind"), controller(metadata, "name"), uid);
    if (ours)
        apply_end(w, OUTCOME_STALE, "it exists already");
    else
        apply_end(w, OUTCOME_CONFLICT, err.text);
    json_decref(metadata);
}

/* Whether the rack is still at the version that its author saw; if not, the
 * work has ended. */
static bool
is_current(struct work *w, const struct stored *o)
{
    json_t *metadata = stored_tree(o, PART_METADATA);
    bool same = str_is(w->intent.target.version,
                       kube_json_text(metadata, "resourceVersion"));

    json_decref(metadata);
    if (!same)
        apply_end(w, OUTCOME_STALE, "it has changed");
    return same;
}

static void
create(struct work *w, json_t *body)
{
    struct str name = arena_str(w->arena, w->intent.target.name);
    struct stored *o = cluster_get(w->c, KIND_RACK, name.s);

    if (o != NULL) {
        end_taken(w, o);
        return;
    }
    store(w, cluster_make(w->c, KIND_RACK, name.s), body);
}

/* As the projector does it: slots that stay as they are come from the live
 * rack. */
static void
merge_kept(struct work *w)
{
    struct str name = arena_str(w->arena, w->intent.target.name);
    const struct stored *o = cluster_get(w->c, KIND_RACK, name.s);
    struct buf spec = {0};
    json_t *live;

    if (o == NULL || !render_keeps(w->intent.rack.spec))
        return;
    live = json_pack("{s:o}", "spec", stored_tree(o, PART_SPEC));
    if (render_kept(&spec, w->intent.rack.spec, live, NULL) > 0)
        w->intent.rack.spec = arena_str(w->arena, buf_str(&spec));
    buf_fini(&spec);
    json_decref(live);
}

static void
update(struct work *w, json_t *body)
{
    struct stored *o = apply_target(w, KIND_RACK);

    if (o != NULL && is_current(w, o))
        store(w, o, body);
}

/* The body that the projector would send. */
static json_t *
body_of(const struct intent_rack *i, struct err *err)
{
    struct buf text = {0};
    json_t *body;

    render_rack(&text, i);
    body = kube_json_parse(buf_str(&text), err);
    buf_fini(&text);
    return body;
}

/* The group and the state of the profile that a rack is made for: what else
 * there is in it are its number, identities and Nodes, which are as they must
 * be. */
static char *
shape_of(const struct object_rack *r)
{
    return mem_printf(
        "%.*s %.*s %.*s %.*s %lld %.*s", (int)r->inventory.name.n,
        r->inventory.name.s, (int)r->inventory.uid.n, r->inventory.uid.s,
        (int)r->group.n, r->group.s, (int)r->profile.uid.n, r->profile.uid.s,
        (long long)r->profile_generation, (int)r->revision.n, r->revision.s);
}

/* Another rack of a shape that was taken before: there is nothing to check, and
 * its spec needs no parsing. false if it is not such a one. */
static bool
create_alike(struct work *w, const struct object_rack *rack)
{
    struct intent_rack bare = w->intent.rack;
    struct str name = arena_str(w->arena, w->intent.target.name);
    struct str spec = w->intent.rack.spec;
    struct stored *o;
    json_t *body;

    if (w->intent.target.uid.n > 0 ||
        cluster_get(w->c, KIND_RACK, name.s) != NULL)
        return false;
    bare.spec = STR("{}");
    body = body_of(&bare, NULL);
    o = cluster_make(w->c, KIND_RACK, name.s);
    fill_new(o, json_object_get(body, "metadata"));
    stored_set(o, PART_SPEC, mem_dup(spec.s, spec.n));
    stored_keep_rack(o, rack);
    apply_commit(w, o, json_object_get(body, "metadata"), NULL);
    json_decref(body);
    return true;
}

static void
write_checked(struct work *w, const char *shape)
{
    struct err err;
    json_t *body = body_of(&w->intent.rack, &err);

    if (body == NULL || check(body, &err) != 0) {
        apply_end(w, OUTCOME_INVALID, err.text);
    } else {
        if (shape != NULL)
            cluster_learn_shape(w->c, shape);
        if (w->intent.target.uid.n == 0)
            create(w, body);
        else
            update(w, body);
    }
    json_decref(body);
}

void
apply_rack_write(struct work *w)
{
    struct object_rack rack;
    char *shape = NULL;

    merge_kept(w);
    if (rack_text_read(&rack, w->intent.rack.spec, w->arena))
        shape = shape_of(&rack);
    if (shape == NULL || !cluster_knows_shape(w->c, shape) ||
        !create_alike(w, &rack))
        write_checked(w, shape);
    free(shape);
}

/* ---- RACK_DELETE ------------------------------------------------------- */

/* Without slots and without our finalizer, as the projector's PUT leaves it. */
static void
strip(struct stored *o, json_t *live)
{
    struct buf out = {0};
    json_t *stripped, *list;

    if (render_retired(&out, live, NULL) == 1) {
        stripped = kube_json_parse(buf_str(&out), NULL);
        list = kube_json_at(stripped, "metadata.finalizers");
        json_object_set(json_object_get(live, "metadata"), "finalizers", list);
        stored_set_tree(o, PART_SPEC, json_object_get(stripped, "spec"));
        if (json_array_size(list) > 0)
            stored_forget_rack(o); /* it stays, for others' finalizers */
        json_decref(stripped);
    }
    buf_fini(&out);
}

void
apply_rack_delete(struct work *w)
{
    struct stored *o = apply_target(w, KIND_RACK);
    json_t *live, *metadata;

    if (o == NULL || !is_current(w, o))
        return;
    live = stored_object(o, false);
    metadata = json_object_get(live, "metadata");
    strip(o, live);
    if (json_object_get(metadata, "deletionTimestamp") == NULL)
        json_object_set_new(metadata, "deletionTimestamp",
                            json_string(DEFAULT_TIME));
    apply_commit(w, o, metadata, NULL);
    json_decref(live);
}
