/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/render_json.h"

#include "common/kube/json.h"
#include "common/mem.h"

static int
dump_bytes(const char *bytes, size_t n, void *out)
{
    buf_add(out, bytes, n);
    return 0;
}

void
render_dump(struct buf *out, const json_t *object)
{
    if (json_dump_callback(object, dump_bytes, out, JSON_COMPACT) != 0)
        fatal("an object that was parsed cannot be written");
}

json_t *
render_copy(const json_t *live, struct err *err)
{
    json_t *metadata = NULL;
    json_t *copy;

    if (kube_json_object(live, "metadata", &metadata, err) != 1) {
        err_set(err, "an object without metadata");
        return NULL;
    }
    copy = json_copy((json_t *)live);
    metadata = json_copy(metadata);
    json_object_del(metadata, "managedFields");
    json_object_set_new(copy, "metadata", metadata);
    return copy;
}

bool
render_is(const json_t *value, struct str text)
{
    return json_is_string(value) && str_is(text, json_string_value(value));
}

json_t *
render_string(struct str text)
{
    json_t *string = json_stringn(text.s, text.n);

    return string != NULL ? string : json_string("");
}
