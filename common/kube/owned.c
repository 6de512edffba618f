/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/owned.h"

#include <stdio.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/meta.h"
#include "common/mem.h"

#define MANAGER_MAX 128 /* the API server takes no longer name */
#define RIVALS_MAX 1024 /* bytes of names; who comes later is left out */

/* Where a field set has the keys, in the order of their bits. */
static const struct {
    const char *group, *field;
} keys[KEY_COUNT] = {
    {"f:labels", "f:" LABEL_ASSIGNED},
    {"f:labels", "f:" LABEL_CLIQUE},
    {"f:annotations", "f:" ANNOTATION_ASSIGNMENT},
};

/* The keys whose names stand in the text at all: few entries are worth
 * parsing. */
static int
mentioned(struct str fields)
{
    int set = 0;

    for (unsigned i = 0; i < KEY_COUNT; i++)
        if (fields.n > 0 && memmem(fields.s, fields.n, keys[i].field,
                                   strlen(keys[i].field)) != NULL)
            set |= 1 << i;
    return set;
}

/* The set of all keys and no other field, as the API server writes it: what
 * stands on nearly every Node. */
#define ALL_KEYS                                                               \
    "{\"f:metadata\":{\"f:annotations\":{\"f:" ANNOTATION_ASSIGNMENT           \
    "\":{}},\"f:labels\":{\"f:" LABEL_ASSIGNED "\":{},\"f:" LABEL_CLIQUE       \
    "\":{}}}}"

static int
parsed(struct str fields)
{
    json_t *root = kube_json_parse(fields, NULL);
    const json_t *meta = json_object_get(root, "f:metadata");
    int set = root == NULL ? -1 : 0;

    for (unsigned i = 0; i < KEY_COUNT && root != NULL; i++)
        if (json_object_get(json_object_get(meta, keys[i].group),
                            keys[i].field) != NULL)
            set |= 1 << i;
    json_decref(root);
    return set;
}

/* The keys that a field set owns; -1: it is not readable. */
static int
owned(struct str fields)
{
    return str_is(fields, ALL_KEYS) ? KEY_ALL : parsed(fields);
}

static bool
is_our_apply(const struct kube_managed *entry)
{
    return str_is(entry->manager, FIELD_MANAGER) &&
           str_is(entry->operation, "Apply") &&
           str_is(entry->api_version, "v1");
}

static bool
is_listed(struct str list, struct str name)
{
    while (list.n > 0) {
        const char *comma = memchr(list.s, ',', list.n);
        size_t n = comma == NULL ? list.n : (size_t)(comma - list.s);

        if (str_eq((struct str){list.s, n}, name))
            return true;
        n += comma == NULL ? 0 : 1;
        list = (struct str){list.s + n, list.n - n};
    }
    return false;
}

/* What joins names must not stand in one. */
static struct str
plain_name(char out[MANAGER_MAX], struct str manager)
{
    size_t n = manager.n < MANAGER_MAX ? manager.n : MANAGER_MAX;

    for (size_t i = 0; i < n; i++)
        out[i] = strchr(",;", manager.s[i]) == NULL ? manager.s[i] : '_';
    return (struct str){out, n};
}

static void
add_rival(struct buf *list, struct str manager)
{
    char text[MANAGER_MAX];
    struct str name = plain_name(text, manager);

    if (list->len >= RIVALS_MAX || is_listed(buf_str(list), name))
        return;
    if (list->len > 0)
        buf_addc(list, ',');
    buf_adds(list, name);
}

static void
weigh(struct owned_keys *o, const struct kube_managed *entry)
{
    int named, set;

    if (entry->subresource.n > 0 || !str_is(entry->fields_type, "FieldsV1"))
        return;
    named = mentioned(entry->fields);
    if (named == 0)
        return;
    set = owned(entry->fields);
    if (set >= 0 && is_our_apply(entry)) {
        o->ours |= set;
        return;
    }
    if (set < 0)
        set = named;
    o->foreign |= set;
    for (unsigned i = 0; i < KEY_COUNT; i++)
        if (set & (1 << i))
            add_rival(&o->rivals[i], entry->manager);
}

void
owned_keys_read(struct owned_keys *o, const struct kube_meta *meta)
{
    struct kube_meta_walk walk = {0};
    struct kube_managed entry;

    *o = (struct owned_keys){0};
    while (kube_meta_managed(meta, &walk, &entry))
        weigh(o, &entry);
}

void
owned_keys_fini(struct owned_keys *o)
{
    for (unsigned i = 0; i < KEY_COUNT; i++)
        buf_fini(&o->rivals[i]);
}

void
owned_keys_rivals(struct buf *out, const struct owned_keys *o)
{
    if (o->foreign == 0)
        return;
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (i > 0)
            buf_addc(out, ';');
        buf_adds(out, buf_str(&o->rivals[i]));
    }
}

static bool
is_our_write(const json_t *entry)
{
    const char *operation = kube_json_text(entry, "operation");

    return strcmp(kube_json_text(entry, "manager"), FIELD_MANAGER) == 0 &&
           (strcmp(operation, "Apply") == 0 ||
            strcmp(operation, "Update") == 0);
}

static bool
owns_spec(const json_t *entry)
{
    return kube_json_text(entry, "subresource")[0] == '\0' &&
           strcmp(kube_json_text(entry, "apiVersion"), API_GROUP_VERSION) ==
               0 &&
           strcmp(kube_json_text(entry, "fieldsType"), "FieldsV1") == 0 &&
           json_object_get(kube_json_at(entry, "fieldsV1"), "f:spec") != NULL;
}

bool
owned_spec(const json_t *list)
{
    const json_t *entry;
    size_t owners = 0;
    size_t ours = 0;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (!owns_spec(entry))
            continue;
        owners++;
        ours += is_our_write(entry);
    }
    return owners > 0 && ours == owners;
}
