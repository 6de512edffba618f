/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/path.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

/* What RFC 3986 calls unreserved: never escaped. */
static bool
is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

static void
add_escaped(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (is_plain(c))
            buf_addc(out, *text);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static int
check_piece(const char *what, const char *piece, struct err *err)
{
    if (piece == NULL)
        return 0;
    if (*piece == '\0' || strcmp(piece, ".") == 0 || strcmp(piece, "..") == 0)
        return err_set(err, "\"%s\" is no %s to put in a request path", piece,
                       what);
    return 0;
}

static void
add_piece(struct buf *out, const char *piece)
{
    if (piece == NULL)
        return;
    buf_addc(out, '/');
    add_escaped(out, piece);
}

int
kube_path_add(struct buf *out, const struct kube_path *path, struct err *err)
{
    const char *group =
        path->group != NULL && *path->group != '\0' ? path->group : NULL;
    const struct {
        const char *what, *piece;
    } pieces[] = {
        {"group", group},
        {"version", path->version},
        {"namespace", path->namespace == NULL ? NULL : "namespaces"},
        {"namespace", path->namespace},
        {"resource", path->resource},
        {"name", path->name},
        {"subresource", path->subresource},
    };

    for (size_t i = 0; i < nitems(pieces); i++)
        if (check_piece(pieces[i].what, pieces[i].piece, err) < 0)
            return -1;
    buf_addz(out, group == NULL ? "/api" : "/apis");
    for (size_t i = 0; i < nitems(pieces); i++)
        add_piece(out, pieces[i].piece);
    return 0;
}

void
kube_path_query(struct buf *out, const char *key, const char *value)
{
    struct str text = buf_str(out);

    buf_addc(out, memchr(text.s, '?', text.n) == NULL ? '?' : '&');
    add_escaped(out, key);
    buf_addc(out, '=');
    add_escaped(out, value);
}

void
kube_path_query_int(struct buf *out, const char *key, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    kube_path_query(out, key, text);
}
