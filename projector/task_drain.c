/* SPDX-License-Identifier: Apache-2.0 */
#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/status.h"
#include "projector/task_kind.h"

/*
 * Before an inventory loses its finalizer, the racks are asked for that there
 * really are (mokka-control 5.6): one that its author does not see yet keeps
 * it.
 */
#define PAGE "500"
#define ACCEPT                                                                 \
    "application/"                                                             \
    "json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," TASK_JSON
/* A longer name is no label value: then the racks do not bear it. */
#define LABEL_VALUE_MAX 63

static const struct task_place racks = {
    .group = API_GROUP, .resource = API_RACKS, .collection = true};

static bool
is_owner(const struct task *t, const json_t *reference)
{
    const struct target *inventory = &t->intent.target;

    return json_is_true(json_object_get(reference, "controller")) &&
           strcmp(kube_json_text(reference, "apiVersion"), API_GROUP_VERSION) ==
               0 &&
           strcmp(kube_json_text(reference, "kind"), API_INVENTORY) == 0 &&
           str_is(inventory->name, kube_json_text(reference, "name")) &&
           str_is(inventory->uid, kube_json_text(reference, "uid"));
}

static bool
is_owned(const struct task *t, const json_t *rack)
{
    const json_t *list = kube_json_at(rack, "metadata.ownerReferences");
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (is_owner(t, item))
            return true;
    }
    return false;
}

/* A rack of the inventory in a page, or NULL. */
static const json_t *
find_owned(const struct task *t, const json_t *items)
{
    const json_t *rack;
    size_t i;

    json_array_foreach(items, i, rack)
    {
        if (is_owned(t, rack))
            return rack;
    }
    return NULL;
}

static enum task_move
wait_for(struct task *t, const json_t *rack)
{
    struct err text;

    err_set(&text, "rack %s is still there",
            kube_json_text(rack, "metadata.name"));
    t->facts.waiting = true;
    return task_fail(t, text.text);
}

static enum task_move ask(struct task *t, const char *from);

static enum task_move
judge(struct task *t, const json_t *page)
{
    json_t *items = NULL;
    const json_t *rack;
    const char *more;
    struct err err;

    if (kube_json_array(page, "items", &items, &err) < 0)
        return task_fail(t, err.text);
    rack = find_owned(t, items);
    more = kube_json_text(page, "metadata.continue");
    if (rack != NULL)
        return wait_for(t, rack);
    return more[0] != '\0' ? ask(t, more) : task_edit(t);
}

/* A page that has expired is a list to begin anew. */
static enum task_move
listed(struct task *t, const struct kube_response *response)
{
    enum task_move move;
    json_t *page;
    struct err err;

    if (!task_accepted(response))
        return task_retry(t, response);
    page = task_object(t, response, &err);
    move = page == NULL ? task_fail(t, err.text) : judge(t, page);
    json_decref(page);
    return move;
}

static enum task_move
ask(struct task *t, const char *from)
{
    struct str name = t->intent.target.name;
    char selector[sizeof(LABEL_INVENTORY) + LABEL_VALUE_MAX + 1];

    if (task_send(t, "GET", &racks, listed) == TASK_END)
        return TASK_END;
    t->request.accept = ACCEPT;
    if (name.n <= LABEL_VALUE_MAX) {
        snprintf(selector, sizeof(selector), "%s=%s", LABEL_INVENTORY, name.s);
        task_query(t, "labelSelector", selector);
    }
    task_query(t, "limit", PAGE);
    if (from[0] != '\0')
        task_query(t, "continue", from);
    return TASK_SEND;
}

enum task_move
task_drain(struct task *t)
{
    return ask(t, "");
}
