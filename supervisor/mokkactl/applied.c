/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/applied.h"

#include <stdbool.h>
#include <string.h>

#include "common/kube/json.h"
#include "common/mem.h"

/* What only a server sets. */
static bool
is_the_servers(const char *key)
{
    static const char *const keys[] = {"uid", "resourceVersion", "generation",
                                       "creationTimestamp", "managedFields"};

    for (size_t i = 0; i < nitems(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool
is_merged(const char *key, const json_t *value)
{
    return json_is_object(value) &&
           (strcmp(key, "labels") == 0 || strcmp(key, "annotations") == 0);
}

/* Puts what the file says into metadata, that of the one that stands. */
static void
merge(json_t *metadata, json_t *given)
{
    const char *key;
    json_t *value;

    json_object_foreach(given, key, value)
    {
        json_t *old = json_object_get(metadata, key);

        if (is_the_servers(key))
            continue;
        if (old != NULL && is_merged(key, value))
            json_object_update(old, value);
        else
            json_object_set(metadata, key, value);
    }
}

/* Nodes have no generation, and their spec does not count. */
static void
count_change(json_t *metadata, const json_t *object,
             const struct stored *standing)
{
    json_t *spec = stored_tree(standing, PART_SPEC);
    json_t *generation = json_object_get(metadata, "generation");

    if (json_is_integer(generation) &&
        !json_equal(spec, json_object_get(object, part_name(PART_SPEC))))
        json_integer_set(generation, json_integer_value(generation) + 1);
    json_decref(spec);
}

int
applied(json_t *object, const struct stored *standing, struct err *err)
{
    const char *uid = kube_json_text(object, "metadata.uid");
    json_t *status = stored_tree(standing, PART_STATUS);
    json_t *metadata;

    if (*uid != '\0' && strcmp(uid, standing->uid) != 0) {
        json_decref(status);
        return err_set(err,
                       "its uid is %s, but the cluster's object of that name "
                       "has %s: leave metadata.uid out",
                       uid, standing->uid);
    }
    metadata = stored_tree(standing, PART_METADATA);
    merge(metadata, json_object_get(object, "metadata"));
    count_change(metadata, object, standing);
    json_object_set_new(object, "metadata", metadata);
    if (status != NULL)
        json_object_set_new(object, part_name(PART_STATUS), status);
    else
        json_object_del(object, part_name(PART_STATUS));
    return 0;
}
