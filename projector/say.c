/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/say.h"

#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/log.h"
#include "common/mem.h"
#include "projector/task.h"
#include "proto/frame.h"

/* Texts of orders end with a NUL; an absent one is empty. */
static const char *
text_of(const struct str *text)
{
    return text == NULL || text->n == 0 ? "" : text->s;
}

static const char *
name_of(const struct task_facts *facts)
{
    return facts->intent->target.name.s;
}

/* The profile's, the first that a rendering has; "" if it has none. */
static char *
revision_of(struct str spec)
{
    static const char before[] = "\"revision\":\"";
    const char *at =
        spec.n == 0 ? NULL : memmem(spec.s, spec.n, before, sizeof(before) - 1);
    const char *end = NULL;

    if (at != NULL) {
        at += sizeof(before) - 1;
        end = memchr(at, '"', (size_t)(spec.s + spec.n - at));
    }
    return end == NULL ? mem_strdup("")
                       : mem_printf("%.*s", (int)(end - at), at);
}

static void
say_rack(const struct task_facts *facts)
{
    char *revision = revision_of(facts->intent->rack.spec);
    struct pairs labels = facts->intent->rack.labels;
    const char *index = text_of(pairs_get(labels, STR(LABEL_INDEX)));

    log_write(
        facts->created ? LOG_INFO : LOG_DEBUG,
        facts->created ? "rack created" : "rack updated",
        (const struct log_field[]){
            F_STR("rack", name_of(facts)),
            F_STR("inventory",
                  text_of(pairs_get(labels, STR(LABEL_INVENTORY)))),
            F_STR("rackGroup", text_of(pairs_get(labels, STR(LABEL_GROUP)))),
            F_INT("rackIndex", strtoll(index, NULL, 10)),
            F_STR("profileRevision", revision),
            {0}});
    free(revision);
}

static void
say_node(const struct task_facts *facts)
{
    const struct intent_node *i = &facts->intent->node;
    json_t *binding = kube_json_parse(i->annotation, NULL);
    int64_t index = -1;

    kube_json_int(binding, "nodeIndex", 0, INT32_MAX, &index, NULL);
    log_info(i->release ? "projection removed" : "projection applied",
             F_STR("node", name_of(facts)),
             F_STR("rack", kube_json_text(binding, "rack.name")),
             F_INT("nodeIndex", index),
             F_STR("inventory", kube_json_text(binding, "inventory.name")));
    json_decref(binding);
}

static void
say_finalizer(const struct task_facts *facts)
{
    if (facts->intent->finalizer.present)
        log_debug("inventory finalizer added",
                  F_STR("inventory", name_of(facts)));
    else
        log_info("inventory finalizer released",
                 F_STR("inventory", name_of(facts)));
}

static void
say_done(const struct task_facts *facts)
{
    if (facts->unchanged)
        return;
    switch (facts->type) {
    case MSG_RACK_WRITE:
        say_rack(facts);
        break;
    case MSG_RACK_DELETE:
        log_info("rack deleted", F_STR("rack", name_of(facts)));
        break;
    case MSG_NODE_APPLY:
        say_node(facts);
        break;
    case MSG_FINALIZER:
        say_finalizer(facts);
        break;
    default:
        log_debug("status written", F_STR("object", name_of(facts)));
        break;
    }
}

static const char *
kind_of(const struct task_facts *facts)
{
    switch (facts->type) {
    case MSG_NODE_APPLY:
        return "node";
    case MSG_FINALIZER:
        return "inventory finalizer";
    case MSG_STATUS_WRITE:
        return action_name(facts->intent->status.action);
    default:
        return "rack";
    }
}

static void
say_metadata_conflict(const struct task_facts *facts, const char *reason,
                      bool known)
{
    const struct intent_node *i = &facts->intent->node;
    json_t *binding = kube_json_parse(i->annotation, NULL);

    log_write(known ? LOG_DEBUG : LOG_WARN,
              i->release ? "metadata conflict blocks cleanup"
                         : "metadata conflict blocks projection",
              (const struct log_field[]){
                  F_STR("node", name_of(facts)),
                  F_STR("rack", kube_json_text(binding, "rack.name")),
                  F_STR("fields", text_of(&facts->fields)),
                  F_STR("managers", text_of(&facts->rivals)),
                  F_STR("reason", reason),
                  {0}});
    json_decref(binding);
}

static void
say_conflict(const struct task_facts *facts, const char *reason, bool known)
{
    if (facts->type == MSG_NODE_APPLY)
        say_metadata_conflict(facts, reason, known);
    else
        log_write(
            known ? LOG_DEBUG : LOG_WARN, "ownership conflict",
            (const struct log_field[]){F_STR(kind_of(facts), name_of(facts)),
                                       F_STR("reason", reason),
                                       {0}});
}

static void
say_waiting(const struct task_facts *facts, const char *reason, bool known)
{
    log_write(
        known ? LOG_DEBUG : LOG_WARN, "inventory waits for its racks to go",
        (const struct log_field[]){
            F_STR("inventory", name_of(facts)), F_STR("reason", reason), {0}});
}

static void
say_failure(const struct task_facts *facts, const char *reason, bool known)
{
    char *key = mem_printf("%s %s (%s)", kind_of(facts), name_of(facts),
                           facts->intent->target.uid.s);

    log_write(known ? LOG_DEBUG : LOG_ERROR, "reconciliation failed",
              (const struct log_field[]){
                  F_STR("error", reason), F_STR("key", key), {0}});
    free(key);
}

void
say_contested(const struct task_facts *facts, unsigned times)
{
    log_warn("what is written does not stand",
             F_STR(kind_of(facts), name_of(facts)), F_INT("times", times),
             F_STR("reason",
                   "an admission webhook or another controller changes it "
                   "each time; it is written again ever more seldom"));
}

void
say_answer(const struct task_facts *facts, const struct answer *answer,
           bool known)
{
    const char *reason = text_of(&answer->reason);

    if (answer->verdict == VERDICT_HELD)
        return;
    if (facts->waiting)
        say_waiting(facts, reason, known);
    else if (facts->fields.n > 0)
        say_conflict(facts, reason, known);
    else if (answer->verdict == VERDICT_FAILED ||
             answer->outcome == OUTCOME_INVALID)
        say_failure(facts, reason, known);
    else if (answer->outcome == OUTCOME_DONE && !known)
        say_done(facts);
    else if (answer->outcome == OUTCOME_DONE)
        log_debug("written again", F_STR(kind_of(facts), name_of(facts)));
    else if (answer->outcome == OUTCOME_CONFLICT ||
             answer->outcome == OUTCOME_KEPT)
        say_conflict(facts, reason, known);
    else
        log_debug("intent is out of date",
                  F_STR(kind_of(facts), name_of(facts)),
                  F_STR("outcome", outcome_name(answer->outcome)),
                  F_STR("reason", reason));
}
