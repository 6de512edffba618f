/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/managed.h"

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

/* The object at key, made if it is not there. */
static json_t *
inner(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        value = json_object();
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

/* Our entry, for the keys in the set. */
static json_t *
new_entry(int set)
{
    json_t *entry = json_object();
    json_t *fields = json_object();

    for (size_t i = 0; i < nitems(keys); i++) {
        char *field = mem_printf("f:%s", keys[i].name);

        if (set & keys[i].bit)
            json_object_set_new(inner(inner(fields, "f:metadata"), keys[i].set),
                                field, json_object());
        free(field);
    }
    json_object_set_new(entry, "manager", json_string(FIELD_MANAGER));
    json_object_set_new(entry, "operation", json_string("Apply"));
    json_object_set_new(entry, "apiVersion", json_string("v1"));
    json_object_set_new(entry, "time", json_string(DEFAULT_TIME));
    json_object_set_new(entry, "fieldsType", json_string("FieldsV1"));
    json_object_set_new(entry, "fieldsV1", fields);
    return entry;
}

static void
put_entry(json_t *metadata, int set)
{
    json_t *list;

    drop_entry(metadata);
    list = json_object_get(metadata, "managedFields");
    if (list == NULL) {
        list = json_array();
        json_object_set_new(metadata, "managedFields", list);
    }
    json_array_append_new(list, new_entry(set));
}

static void
put(json_t *metadata, const struct key *key, struct str value)
{
    json_object_set_new(inner(metadata, key->map), key->name,
                        json_stringn(value.s, value.n));
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
managed_apply(json_t *metadata, const struct intent_node *i)
{
    const struct str values[nitems(keys)] = {STR("true"), i->clique,
                                             i->annotation};
    int set = 0;

    for (size_t k = 0; k < nitems(keys); k++) {
        if (values[k].n == 0)
            continue;
        put(metadata, &keys[k], values[k]);
        set |= keys[k].bit;
    }
    put_entry(metadata, set);
}

void
managed_release(json_t *metadata, int ours_alone)
{
    for (size_t k = 0; k < nitems(keys); k++)
        if (ours_alone & keys[k].bit)
            take_off(metadata, &keys[k]);
    drop_entry(metadata);
}

bool
managed_adopt(json_t *metadata)
{
    int set = 0;

    for (size_t k = 0; k < nitems(keys); k++)
        if (json_object_get(json_object_get(metadata, keys[k].map),
                            keys[k].name) != NULL)
            set |= keys[k].bit;
    if (!(set & KEY_ANNOTATION))
        return false;
    put_entry(metadata, set);
    return true;
}
