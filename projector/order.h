/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_ORDER_H
#define PROJECTOR_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/intent.h"

/*
 * An intent as it is kept from its frame to its result: packed, in one piece of
 * memory, to be freed with free().
 */
struct order {
    uint16_t type;    /* MSG_RACK_WRITE, ... */
    uint32_t id;      /* of its frame */
    bool rests;       /* its author was told that it does (intent.h) */
    unsigned repeats; /* times in a row that the same was carried out before */
    bool kept;        /* its last attempt's answer said so (intent.h) */
    bool passing;     /* the status of a rack whose Nodes are being projected:
                       * each of them changes it */
    enum action action;
    struct target target;
    /* The body of its message, but uid and version of the target left empty:
     * so orders for the same content have the same bytes, however old the
     * object was that their author saw. */
    struct str content;
    /* A hash of the content, or of its part that is to be: of a rack's write
     * its spec, since the rest is given back as it stands.  What writes nothing
     * has none: 0. */
    uint64_t essence;
};

/* The intent in a message of that type. NULL and err if the body is not as the
 * catalogue says; type must be one that carries an intent. */
struct order *order_new(uint16_t type, uint32_t id, const struct value *body,
                        struct err *err);

/* Both want the same content for the object of that name, whatever uid and
 * version their authors saw. */
bool order_same(const struct order *a, const struct order *b);

/* An order unpacked; which member counts is told by the type. The target is the
 * first member of each. */
union intent {
    struct target target; /* all that MSG_RACK_DELETE and _LOOK hold */
    struct intent_rack rack;
    struct intent_node node;
    struct intent_finalizer finalizer;
    struct intent_status status;
};

/* Unpacks to the arena, with the target in full. */
void order_read(union intent *intent, const struct order *order,
                struct arena *arena);

#endif
