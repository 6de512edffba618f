/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/ownership.h"

#include <stdio.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/meta.h"
#include "common/mem.h"
#include "projector/render.h"

static const struct key {
    int bit;           /* enum projected_key */
    const char *where; /* in a field set */
    const char *name;
} keys[] = {
    {KEY_ASSIGNED, "f:labels", LABEL_ASSIGNED},
    {KEY_CLIQUE, "f:labels", LABEL_CLIQUE},
    {KEY_ANNOTATION, "f:annotations", ANNOTATION_ASSIGNMENT},
};

static bool
mentions(struct str text, const char *name)
{
    return text.n > 0 && memmem(text.s, text.n, name, strlen(name)) != NULL;
}

static bool
mentions_any(struct str fields)
{
    for (size_t i = 0; i < nitems(keys); i++)
        if (mentions(fields, keys[i].name))
            return true;
    return false;
}

/* The keys that a field set in the form FieldsV1 holds; -1 and err. */
static int
keys_in(struct str fields, struct err *err)
{
    json_t *set = kube_json_parse(fields, err);
    json_t *metadata = kube_json_at(set, "f:metadata");
    int found = 0;

    if (set == NULL)
        return -1;
    for (size_t i = 0; i < nitems(keys); i++) {
        char member[64];

        snprintf(member, sizeof(member), "f:%s", keys[i].name);
        if (json_object_get(json_object_get(metadata, keys[i].where), member) !=
            NULL)
            found |= keys[i].bit;
    }
    json_decref(set);
    return found;
}

static bool
is_ours(const struct kube_managed *m)
{
    return str_is(m->manager, FIELD_MANAGER) && str_is(m->operation, "Apply") &&
           str_is(m->api_version, "v1");
}

void
ownership_add_name(struct buf *list, struct str name)
{
    struct str rest = buf_str(list);

    while (rest.n > 0) {
        const char *comma = memchr(rest.s, ',', rest.n);
        size_t n = comma == NULL ? rest.n : (size_t)(comma - rest.s);

        if (str_eq((struct str){rest.s, n}, name))
            return;
        n += comma == NULL ? 0 : 1;
        rest = (struct str){rest.s + n, rest.n - n};
    }
    if (list->len > 0)
        buf_addc(list, ',');
    buf_adds(list, name);
}

static int
read_owner(struct ownership *o, const struct kube_managed *m, struct err *err)
{
    int owned;

    if (m->subresource.n > 0 || !str_is(m->fields_type, "FieldsV1") ||
        !mentions_any(m->fields))
        return 0;
    owned = keys_in(m->fields, err);
    if (owned < 0)
        return err_prefix(err, "fields of manager %.*s", (int)m->manager.n,
                          m->manager.s);
    if (is_ours(m)) {
        o->ours |= owned;
    } else if (owned != 0) {
        o->foreign |= owned;
        ownership_add_name(&o->rivals, m->manager);
    }
    return 0;
}

static void
read_values(struct ownership *o, const struct kube_meta *meta)
{
    struct kube_meta_walk walk = {0};
    struct str key, value;

    while (kube_meta_label(meta, &walk, &key, &value)) {
        if (str_is(key, LABEL_ASSIGNED)) {
            o->present |= KEY_ASSIGNED;
            o->assigned = str_is(value, LABEL_TRUE);
        } else if (str_is(key, LABEL_CLIQUE)) {
            o->present |= KEY_CLIQUE;
            o->clique = value;
        }
    }
    if (kube_meta_annotation_at(meta, ANNOTATION_ASSIGNMENT, &o->annotation))
        o->present |= KEY_ANNOTATION;
}

int
ownership_read(struct ownership *o, const struct kube_meta *meta,
               struct err *err)
{
    struct kube_meta_walk walk = {0};
    struct kube_managed managed;

    *o = (struct ownership){0};
    read_values(o, meta);
    while (kube_meta_managed(meta, &walk, &managed))
        if (read_owner(o, &managed, err) != 0) {
            ownership_fini(o);
            return -1;
        }
    return 0;
}

void
ownership_fini(struct ownership *o)
{
    buf_fini(&o->rivals);
}

void
ownership_names(struct buf *out, int set)
{
    for (size_t i = 0; i < nitems(keys); i++)
        if (set & keys[i].bit)
            ownership_add_name(out, str_of(keys[i].name));
}
