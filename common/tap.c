/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/json_text.h"
#include "proto/pack.h"
#include "proto/show.h"
#include "proto/unpack.h"

/* A longer body is left out of its line; TAPPED has a cap. */
#define TEXT_MAX (200u << 10)

static void
add_body(struct buf *line, uint16_t type, struct str body)
{
    struct unpacked *u = unpack_body(body, NULL);
    struct buf text = {0};

    if (u != NULL)
        show_json(&text, type, unpacked_root(u));
    unpacked_free(u);
    if (u != NULL && text.len <= TEXT_MAX)
        buf_adds(line, buf_str(&text));
    else
        buf_addz(line, "null");
    buf_fini(&text);
}

static void
add_line(struct buf *line, bool out, uint16_t type, uint32_t id,
         struct str body)
{
    char now[CLOCK_TEXT];

    clock_format(clock_wall(), CLOCK_MICROS, now);
    buf_printf(line,
               "\"time\":\"%s\",\"out\":%s,\"type\":\"%s\",\"id\":%" PRIu32
               ",\"bytes\":%zu,\"body\":",
               now, out ? "true" : "false", message_name(type), id, body.n);
    add_body(line, type, body);
}

void
tap_frame(struct tap *tap, struct chan *control, enum role peer, bool out,
          uint16_t type, uint32_t id, struct str body)
{
    struct buf line = {0}, packed = {0};

    if (!tap->on)
        return;
    if (!chan_room(control)) {
        tap->lost++;
        return;
    }
    add_line(&line, out, type, id, body);
    pack_array(&packed, 3);
    pack_int(&packed, peer);
    pack_int(&packed, tap->lost);
    pack_str(&packed, buf_str(&line));
    chan_send(control, MSG_TAPPED, 0, buf_str(&packed));
    tap->lost = 0;
    buf_fini(&line);
    buf_fini(&packed);
}
