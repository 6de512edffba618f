/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/pack.h"

#include <msgpack.h>

static int
append(void *out, const char *data, size_t n)
{
    buf_add(out, data, n);
    return 0;
}

static msgpack_packer
packer(struct buf *out)
{
    msgpack_packer pk;

    msgpack_packer_init(&pk, out, append);
    return pk;
}

void
pack_array(struct buf *out, size_t items)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_array(&pk, items);
}

void
pack_map(struct buf *out, size_t pairs)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_map(&pk, pairs);
}

void
pack_str(struct buf *out, struct str text)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_str(&pk, text.n);
    msgpack_pack_str_body(&pk, text.s, text.n);
}

void
pack_joined(struct buf *out, struct str head, struct str tail)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_str(&pk, head.n + tail.n);
    msgpack_pack_str_body(&pk, head.s, head.n);
    msgpack_pack_str_body(&pk, tail.s, tail.n);
}

void
pack_text(struct buf *out, const char *text)
{
    pack_str(out, str_of(text));
}

void
pack_int(struct buf *out, int64_t number)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_int64(&pk, number);
}

void
pack_real(struct buf *out, double number)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_double(&pk, number);
}

void
pack_bool(struct buf *out, bool yes)
{
    msgpack_packer pk = packer(out);

    if (yes)
        msgpack_pack_true(&pk);
    else
        msgpack_pack_false(&pk);
}

void
pack_nil(struct buf *out)
{
    msgpack_packer pk = packer(out);

    msgpack_pack_nil(&pk);
}
