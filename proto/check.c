/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/check.h"

#include <stdbool.h>
#include <stdint.h>

/* How a first byte reads: what follows it, and what that holds. */
struct shape {
    uint8_t fixed;    /* bytes of payload of a known size */
    uint8_t length;   /* bytes of a length field, big endian */
    uint8_t children; /* values for each unit of the length: 0, 1 or 2 */
    bool allowed;
};

/* 0xc0 to 0xdf; the ranges around them follow from the byte itself. */
static const struct shape shapes[32] = {
    [0x00] = {0, 0, 0, true}, /* nil */
    [0x02] = {0, 0, 0, true}, /* false */
    [0x03] = {0, 0, 0, true}, /* true */
    [0x04] = {0, 1, 0, true}, /* bin */
    [0x05] = {0, 2, 0, true}, [0x06] = {0, 4, 0, true},
    [0x0a] = {4, 0, 0, true},                           /* float */
    [0x0b] = {8, 0, 0, true}, [0x0c] = {1, 0, 0, true}, /* unsigned */
    [0x0d] = {2, 0, 0, true}, [0x0e] = {4, 0, 0, true},
    [0x0f] = {8, 0, 0, true}, [0x10] = {1, 0, 0, true}, /* signed */
    [0x11] = {2, 0, 0, true}, [0x12] = {4, 0, 0, true},
    [0x13] = {8, 0, 0, true}, [0x19] = {0, 1, 0, true}, /* str */
    [0x1a] = {0, 2, 0, true}, [0x1b] = {0, 4, 0, true},
    [0x1c] = {0, 2, 1, true},                           /* array */
    [0x1d] = {0, 4, 1, true}, [0x1e] = {0, 2, 2, true}, /* map */
    [0x1f] = {0, 4, 2, true},
};

struct walk {
    const unsigned char *s;
    size_t n, at;
    size_t elements;
    uint64_t open[CHECK_DEPTH]; /* values still due at each level */
    size_t depth;
};

/* Reads one header; *payload bytes and *children values follow it. */
static bool
header(struct walk *w, uint64_t *payload, uint64_t *children)
{
    unsigned char c = w->s[w->at++];
    const struct shape *shape;
    uint64_t length = 0;

    *payload = *children = 0;
    if (c < 0x80 || c >= 0xe0)
        return true;
    if (c < 0x90)
        return *children = 2 * (c & 0x0fu), true;
    if (c < 0xa0)
        return *children = c & 0x0fu, true;
    if (c < 0xc0)
        return *payload = c & 0x1fu, true;
    shape = &shapes[c & 0x1f];
    if (!shape->allowed || w->n - w->at < shape->length)
        return false;
    for (int i = 0; i < shape->length; i++)
        length = length << 8 | w->s[w->at++];
    *children = length * shape->children;
    *payload = shape->children == 0 ? shape->fixed + length : 0;
    return true;
}

/* One value of the current level is complete; so may be those around it. */
static void
complete(struct walk *w)
{
    while (w->depth > 0 && --w->open[w->depth - 1] == 0)
        w->depth--;
}

static const char *
value(struct walk *w)
{
    uint64_t payload;
    uint64_t children;

    if (w->at >= w->n)
        return "ends too early";
    if (++w->elements > CHECK_ELEMENTS)
        return "holds too many values";
    if (!header(w, &payload, &children))
        return "has a header that is cut or of a type not in use";
    if (payload > w->n - w->at)
        return "has a length beyond its end";
    w->at += payload;
    /* Every value takes a byte at least. */
    if (children > w->n - w->at)
        return "has a count beyond its end";
    if (children == 0) {
        complete(w);
        return NULL;
    }
    if (w->depth == CHECK_DEPTH)
        return "is nested too deeply";
    w->open[w->depth++] = children;
    return NULL;
}

int
check_body(struct str body, struct err *err)
{
    struct walk w = {.s = (const unsigned char *)body.s, .n = body.n};

    do {
        const char *fault = value(&w);

        if (fault != NULL)
            return err_set(err, "body %s (offset %zu of %zu)", fault, w.at,
                           w.n);
    } while (w.depth > 0);
    if (w.at != w.n)
        return err_set(err, "body has %zu bytes after its end", w.n - w.at);
    return 0;
}
