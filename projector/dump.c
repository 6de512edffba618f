/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/dump.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/json_text.h"
#include "proto/frame.h"

struct dump {
    struct buf *out;
    int64_t now;
};

static void
add_order(struct buf *out, const struct intent_view *v, int64_t now)
{
    buf_printf(out, ",\"message\":\"%s\",\"id\":%" PRIu32 ",\"basis\":",
               message_name(v->order->type), v->order->id);
    json_text_string(out, v->order->target.version);
    buf_printf(out, ",\"bytes\":%zu,\"failures\":%u", v->order->content.n,
               v->failures);
    if (!v->in_flight)
        buf_printf(out, ",\"dueMilliseconds\":%" PRId64,
                   v->due > now ? (v->due - now) / CLOCK_MS : 0);
}

static void
add(void *arg, const struct intent_view *v)
{
    const struct dump *d = arg;

    buf_printf(d->out, "{\"kind\":\"intent\",\"action\":\"%s\",\"name\":",
               action_name(v->action));
    json_text_string(d->out, str_of(v->name));
    buf_printf(d->out, ",\"state\":\"%s\"",
               v->in_flight       ? "in flight"
               : v->order != NULL ? "wanted"
                                  : "written");
    if (v->order != NULL)
        add_order(d->out, v, d->now);
    buf_addz(d->out, ",\"writtenVersion\":");
    json_text_string(d->out, str_of(v->version));
    buf_addz(d->out, "}\n");
}

void
dump_intents(struct buf *out, const struct intents *t, int64_t now)
{
    struct dump d = {out, now};

    intents_each(t, add, &d);
}
