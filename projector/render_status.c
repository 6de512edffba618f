/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/render.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "projector/render_json.h"

/* The live condition of that type, or NULL. */
static const json_t *
find_condition(const json_t *conditions, struct str type)
{
    json_t *item;
    size_t i;

    json_array_foreach((json_t *)conditions, i, item)
    {
        if (render_is(json_object_get(item, "type"), type))
            return item;
    }
    return NULL;
}

/* What both the time and the text of a standing condition depend on. */
static bool
same_verdict(const json_t *standing, const struct condition *c)
{
    return render_is(json_object_get(standing, "status"), c->status) &&
           render_is(json_object_get(standing, "reason"), c->reason);
}

static json_t *
transition_time(const json_t *standing, const struct condition *c, int64_t wall)
{
    json_t *time = json_object_get(standing, "lastTransitionTime");
    char now[CLOCK_TEXT];

    if (json_is_string(time) && same_verdict(standing, c))
        return json_incref(time);
    clock_format(wall, CLOCK_SECONDS, now);
    return json_string(now);
}

static json_t *
message(const json_t *standing, const struct condition *c)
{
    json_t *text_ = json_object_get(standing, "message");
    json_t *observed = json_object_get(standing, "observedGeneration");
    struct str words = {json_string_value(text_), json_string_length(text_)};

    if (json_is_string(text_) && same_verdict(standing, c) &&
        str_is(c->status, "True") && json_is_integer(observed) &&
        json_integer_value(observed) == c->observed &&
        !condition_same_words(words, c->message))
        return json_incref(text_);
    return render_string(c->message);
}

static json_t *
new_condition(const json_t *standing, const struct condition *c, int64_t wall)
{
    json_t *object = json_object();

    json_object_set_new(object, "lastTransitionTime",
                        transition_time(standing, c, wall));
    json_object_set_new(object, "message", message(standing, c));
    json_object_set_new(object, "observedGeneration",
                        json_integer(c->observed));
    json_object_set_new(object, "reason", render_string(c->reason));
    json_object_set_new(object, "status", render_string(c->status));
    json_object_set_new(object, "type", render_string(c->type));
    return object;
}

static int
by_type(const void *a, const void *b)
{
    const struct condition *const *x = a;
    const struct condition *const *y = b;

    return str_cmp((*x)->type, (*y)->type);
}

static json_t *
new_conditions(const json_t *live, struct conditions wanted, int64_t wall)
{
    const json_t *standing = kube_json_at(live, "status.conditions");
    const struct condition **sorted =
        mem_zalloc((wanted.count + 1) * sizeof(struct condition *));
    json_t *list = json_array();

    for (size_t i = 0; i < wanted.count; i++)
        sorted[i] = &wanted.items[i];
    qsort(sorted, wanted.count, sizeof(struct condition *), by_type);
    for (size_t i = 0; i < wanted.count; i++)
        json_array_append_new(
            list, new_condition(find_condition(standing, sorted[i]->type),
                                sorted[i], wall));
    free(sorted);
    return list;
}

static json_t *
new_status(const json_t *live, const struct object_status *wanted, int64_t wall,
           struct err *err)
{
    json_t *status = kube_json_parse(wanted->fields, err);

    if (status != NULL && !json_is_object(status)) {
        json_decref(status);
        status = NULL;
        err_set(err, "not an object");
    }
    if (status == NULL) {
        err_prefix(err, "fields of the wanted status");
        return NULL;
    }
    if (wanted->conditions.count > 0)
        json_object_set_new(status, "conditions",
                            new_conditions(live, wanted->conditions, wall));
    return status;
}

int
render_status(struct buf *out, const json_t *live,
              const struct object_status *wanted, int64_t wall, struct err *err)
{
    json_t *copy = render_copy(live, err);
    json_t *status;
    bool differs;

    if (copy == NULL)
        return -1;
    status = new_status(live, wanted, wall, err);
    if (status == NULL) {
        json_decref(copy);
        return -1;
    }
    differs = !json_equal(status, json_object_get(live, "status"));
    json_object_set_new(copy, "status", status);
    if (differs)
        render_dump(out, copy);
    json_decref(copy);
    return differs;
}
