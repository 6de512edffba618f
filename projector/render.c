/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/render.h"

#include "common/api.h"
#include "common/json_text.h"

/*
 * Writing an object member by member: first is true until one was written.
 */
static void
key(struct buf *out, bool *first, struct str name)
{
    if (!*first)
        buf_addc(out, ',');
    *first = false;
    json_text_string(out, name);
    buf_addc(out, ':');
}

static void
text(struct buf *out, bool *first, const char *name, struct str value)
{
    key(out, first, str_of(name));
    json_text_string(out, value);
}

/* The same, but not if it is empty. */
static void
text_if(struct buf *out, bool *first, const char *name, struct str value)
{
    if (value.n > 0)
        text(out, first, name, value);
}

static void
pairs_if(struct buf *out, bool *first, const char *name, struct pairs pairs)
{
    bool inner = true;

    if (pairs.count == 0)
        return;
    key(out, first, str_of(name));
    buf_addc(out, '{');
    for (size_t i = 0; i < pairs.count; i++) {
        key(out, &inner, pairs_at(pairs, i)->key);
        json_text_string(out, pairs_at(pairs, i)->value);
    }
    buf_addc(out, '}');
}

static void
strs_if(struct buf *out, bool *first, const char *name, struct strs strs)
{
    if (strs.count == 0)
        return;
    key(out, first, str_of(name));
    for (size_t i = 0; i < strs.count; i++) {
        buf_addc(out, i == 0 ? '[' : ',');
        json_text_string(out, strs.items[i]);
    }
    buf_addc(out, ']');
}

/* -1 is a flag that is not there. */
static void
flag_if(struct buf *out, bool *first, const char *name, int value)
{
    if (value < 0)
        return;
    key(out, first, str_of(name));
    buf_addz(out, value ? "true" : "false");
}

static void
owner(struct buf *out, const struct object_owner *o)
{
    bool first = true;

    buf_addc(out, '{');
    text(out, &first, "apiVersion", o->api_version);
    text(out, &first, "kind", o->kind);
    text(out, &first, "name", o->name);
    text(out, &first, "uid", o->uid);
    flag_if(out, &first, "controller", o->controller);
    flag_if(out, &first, "blockOwnerDeletion", o->block);
    buf_addc(out, '}');
}

static void
owners_if(struct buf *out, bool *first, struct owners owners)
{
    if (owners.count == 0)
        return;
    key(out, first, STR("ownerReferences"));
    for (size_t i = 0; i < owners.count; i++) {
        buf_addc(out, i == 0 ? '[' : ',');
        owner(out, &owners.items[i]);
    }
    buf_addc(out, ']');
}

void
render_rack(struct buf *out, const struct intent_rack *i)
{
    bool first = true;

    buf_addz(out, "{\"apiVersion\":\"" API_GROUP_VERSION
                  "\",\"kind\":\"" API_RACK "\",\"metadata\":{");
    text(out, &first, "name", i->target.name);
    text_if(out, &first, "uid", i->target.uid);
    text_if(out, &first, "resourceVersion", i->target.version);
    pairs_if(out, &first, "labels", i->labels);
    pairs_if(out, &first, "annotations", i->annotations);
    strs_if(out, &first, "finalizers", i->finalizers);
    owners_if(out, &first, i->owners);
    buf_addz(out, "},\"spec\":");
    buf_adds(out, i->spec);
    buf_addc(out, '}');
}

void
render_delete(struct buf *out, const struct target *target)
{
    bool first = true;

    buf_addz(out, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
                  "\"preconditions\":{");
    text(out, &first, "uid", target->uid);
    text_if(out, &first, "resourceVersion", target->version);
    buf_addz(out, "}}");
}

void
render_node(struct buf *out, const struct intent_node *i)
{
    const struct pair annotation = {STR(ANNOTATION_ASSIGNMENT), i->annotation};
    const struct pair labels[] = {{STR(LABEL_ASSIGNED), STR(LABEL_TRUE)},
                                  {STR(LABEL_CLIQUE), i->clique}};
    bool first = true;

    buf_addz(out, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{");
    text(out, &first, "name", i->target.name);
    text(out, &first, "uid", i->target.uid);
    if (!i->release)
        pairs_if(out, &first, "labels",
                 (struct pairs){labels, i->clique.n == 0 ? 1 : 2, NULL});
    if (!i->release || i->keep)
        pairs_if(out, &first, "annotations",
                 (struct pairs){&annotation, 1, NULL});
    buf_addz(out, "}}");
}
