/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/managed.h"

#include <stdbool.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/defaults.h"

static const struct key {
    int bit;
    const char *map; /* of the metadata */
    const char *set; /* of a field set */
    const char *name;
} keys[] = {
    {KEY_ASSIGNED, "labels", "f:labels", LABEL_ASSIGNED},
    {KEY_CLIQUE, "labels", "f:labels", LABEL_CLIQUE},
    {KEY_ANNOTATION, "annotations", "f:annotations", ANNOTATION_ASSIGNMENT},
};

/* The value at key, made if it is not there. */
static json_t *
inner(json_t *object, const char *key, json_t *(*make)(void))
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        value = make();
        json_object_set_new(object, key, value);
    }
    return value;
}

static bool
is_ours(const json_t *entry)
{
    return strcmp(kube_json_text(entry, "manager"), FIELD_MANAGER) == 0 &&
           strcmp(kube_json_text(entry, "operation"), "Apply") == 0 &&
           kube_json_text(entry, "subresource")[0] == '\0';
}

static void
drop_entry(json_t *metadata)
{
    json_t *list = json_object_get(metadata, "managedFields");

    for (size_t i = json_array_size(list); i > 0; i--)
        if (is_ours(json_array_get(list, i - 1)))
            json_array_remove(list, i - 1);
    if (list != NULL && json_array_size(list) == 0)
        json_object_del(metadata, "managedFields");
}

/* Appends "f:labels":{...} of the keys in the set. */
static void
add_field_map(struct buf *out, const char *name, int set)
{
    const char *before = "";

    buf_printf(out, "\"%s\":{", name);
    for (size_t i = 0; i < nitems(keys); i++) {
        if (!(set & keys[i].bit) || strcmp(keys[i].set, name) != 0)
            continue;
        buf_printf(out, "%s\"f:%s\":{}", before, keys[i].name);
        before = ",";
    }
    buf_addc(out, '}');
}

void
managed_fields(struct buf *out, int set)
{
    buf_addz(out, "{\"f:metadata\":{");
    if (set & KEY_ANNOTATION)
        add_field_map(out, "f:annotations", set);
    if (set & (KEY_ASSIGNED | KEY_CLIQUE)) {
        buf_addz(out, set & KEY_ANNOTATION ? "," : "");
        add_field_map(out, "f:labels", set);
    }
    buf_addz(out, "}}");
}

static json_t *
new_entry(int set)
{
    json_t *entry = json_object();
    struct buf fields = {0};

    managed_fields(&fields, set);
    json_object_set_new(entry, "manager", json_string(FIELD_MANAGER));
    json_object_set_new(entry, "operation", json_string("Apply"));
    json_object_set_new(entry, "apiVersion", json_string("v1"));
    json_object_set_new(entry, "time", json_string(DEFAULT_TIME));
    json_object_set_new(entry, "fieldsType", json_string("FieldsV1"));
    json_object_set_new(entry, "fieldsV1",
                        kube_json_parse(buf_str(&fields), NULL));
    buf_fini(&fields);
    return entry;
}

void
managed_claim(json_t *metadata, int set)
{
    drop_entry(metadata);
    if (set != 0)
        json_array_append_new(inner(metadata, "managedFields", json_array),
                              new_entry(set));
}

int
managed_set(json_t *metadata, const struct intent_node *i)
{
    const struct str values[nitems(keys)] = {STR(LABEL_TRUE), i->clique,
                                             i->annotation};
    int set = 0;

    for (size_t k = 0; k < nitems(keys); k++) {
        if (values[k].n == 0)
            continue;
        json_object_set_new(inner(metadata, keys[k].map, json_object),
                            keys[k].name,
                            json_stringn(values[k].s, values[k].n));
        set |= keys[k].bit;
    }
    return set;
}

static void
take_off(json_t *metadata, const struct key *key)
{
    json_t *map = json_object_get(metadata, key->map);

    json_object_del(map, key->name);
    if (map != NULL && json_object_size(map) == 0)
        json_object_del(metadata, key->map);
}

void
managed_clear(json_t *metadata, int set)
{
    for (size_t k = 0; k < nitems(keys); k++)
        if (set & keys[k].bit)
            take_off(metadata, &keys[k]);
}

int
managed_present(const json_t *metadata)
{
    int set = 0;

    for (size_t k = 0; k < nitems(keys); k++)
        if (json_object_get(json_object_get(metadata, keys[k].map),
                            keys[k].name) != NULL)
            set |= keys[k].bit;
    return set;
}
