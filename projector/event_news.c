/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/event_news.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "projector/event_sender.h"
#include "proto/intent.h"
#include "proto/role.h"
#include "proto/unpack.h"

int
event_news_object(struct event_sender *s, const struct value *body,
                  struct err *err)
{
    struct arena arena = {0};
    struct intent_event i;
    int rc = intent_event_unpack(&i, body, &arena, err);

    if (rc == 0)
        event_sender_note(
            s,
            &(struct event_note){
                .object = {.api_version =
                               i.kind == KIND_NODE ? "v1" : API_GROUP_VERSION,
                           .kind = object_kind_name(i.kind),
                           .namespace = "",
                           .name = i.target.name.s,
                           .uid = i.target.uid.s},
                .warning = i.warning,
                .reason = i.reason.s,
                .message = i.message.s,
                .action = i.action.s,
                .count = 1,
            });
    arena_fini(&arena);
    return rc;
}

/* Takes over message. */
static void
note_pod(struct event_sender *s, const struct event_object *pod,
         struct event_note note, char *message)
{
    note.object = *pod;
    note.message = message;
    if (pod->name[0] != '\0')
        event_sender_note(s, &note);
    free(message);
}

int
event_news_died(struct event_sender *s, const struct event_object *pod,
                const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    const char *name = role_name((enum role)unpack_int(&u));
    int64_t deaths = unpack_int(&u);
    struct str cause = unpack_str(&u);
    bool final = unpack_bool(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    note_pod(s, pod,
             (struct event_note){
                 .warning = true,
                 .reason = final ? "WorkerGivenUp" : "WorkerDied",
                 .action = final ? "Stop" : "Restart",
                 .count = deaths,
             },
             mem_printf("worker %s died: %.*s; %s", name, (int)cause.n, cause.s,
                        final ? "it never got ready, the control plane ends"
                              : "it is started again"));
    return 0;
}

int
event_news_back(struct event_sender *s, const struct event_object *pod,
                const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t role = unpack_int(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    note_pod(
        s, pod,
        (struct event_note){
            .reason = "WorkerRecovered", .action = "Restart", .count = 1},
        mem_printf("worker %s is ready again", role_name((enum role)role)));
    return 0;
}
