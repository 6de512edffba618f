/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_JSON_ITEMS_H
#define INFORMER_JSON_ITEMS_H

#include <stddef.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Takes a list of objects in JSON apart, from bytes fed as they come in pieces
 * of any size: each member of "items" is given on as its own text, and the text
 * of "metadata" is kept.  So a list costs the memory of its largest item, and
 * an item that is malformed costs itself only.  Texts are cut out by counting
 * quotes and brackets, not parsed: whoever gets them does that.
 */
struct json_items;

/* An item, or metadata, has at most so many bytes; larger ones are left out. */
#define JSON_ITEM_MAX ((size_t)4 << 20)

struct json_items_calls {
    void (*item)(void *arg, struct str text);
    /* An item that is too large and was left out. */
    void (*bad)(void *arg, const struct err *err);
    void *arg;
};

struct json_items *json_items_new(const struct json_items_calls *calls);

/* NULL is fine. Not from within a callback. */
void json_items_free(struct json_items *list);

/* -1 and err if the bytes can be no list; feed no more then. */
int json_items_feed(struct json_items *list, struct str bytes, struct err *err);

/* The answer has ended.  metadata gets the text of that member (it lives as
 * long as list).  -1 and err if the list is not complete. */
int json_items_finish(const struct json_items *list, struct str *metadata,
                      struct err *err);

#endif
