/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "projector/event.h"
#include "tests/unit/json_value.h"

#define MINUTE (60 * CLOCK_SECOND)
#define WALL (INT64_C(1767323045) * CLOCK_SECOND) /* 2026-01-02T03:04:05Z */

static const struct event_note died = {
    .object = {"v1", "Pod", "ns", "pod-1", "uid-1"},
    .warning = true,
    .reason = "WorkerDied",
    .message = "worker web died: \"x\"",
    .action = "Restart",
    .count = 1,
};

static const struct event_note admitted = {
    .object = {"mokka.nvidia.com/v1alpha1", "SGPUInventory", "", "lab", "u"},
    .reason = "Accepted",
    .message = "fits",
    .action = "Admit",
    .count = 1,
};

/* The next request, which must be this one. */
static void
assert_next(struct events *e, int64_t now, const char *method, const char *path)
{
    const struct event_request *r = events_next(e, now);

    assert_non_null(r);
    assert_string_equal(r->method, method);
    if (strncmp(r->path, path, strlen(path)) != 0)
        fail_msg("%s instead of %s", r->path, path);
}

/* Sends all that may be sent, successfully; returns how many requests. */
static unsigned
send_all(struct events *e, int64_t now)
{
    unsigned count = 0;

    while (events_next(e, now) != NULL) {
        assert_int_equal(events_answered(e, 201, 0, now), EVENT_SENT);
        count++;
    }
    return count;
}

static void
assert_count(const struct event_request *r, int64_t count)
{
    json_t *json = json_text(r->body);

    assert_int_equal(json_integer_value(json_object_get(json, "count")), count);
    json_decref(json);
}

static void
test_12_what_is_sent_is_a_core_v1_Event(void **state)
{
    struct events *e = events_new("pod-1");
    const struct event_request *r;

    (void)state;
    events_note(e, &died, 1, WALL);
    assert_int_equal(events_due(e, 1), 1);
    r = events_next(e, 1);
    assert_string_equal(r->method, "POST");
    assert_string_equal(r->path, "/api/v1/namespaces/ns/events");
    assert_null(r->content_type);
    assert_string_equal(
        r->body,
        "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
        "\"pod-1.1886caf21c963200\",\"namespace\":\"ns\"},\"involvedObject\":{"
        "\"namespace\":\"ns\",\"uid\":\"uid-1\",\"apiVersion\":\"v1\",\"name\":"
        "\"pod-1\",\"kind\":\"Pod\"},\"type\":\"Warning\",\"reason\":"
        "\"WorkerDied\",\"message\":\"worker web died: \\\"x\\\"\",\"action\":"
        "\"Restart\",\"firstTimestamp\":\"2026-01-02T03:04:05Z\","
        "\"lastTimestamp\":\"2026-01-02T03:04:05Z\",\"reportingComponent\":"
        "\"mokka.nvidia.com/control-plane\",\"reportingInstance\":\"pod-1\","
        "\"source\":{\"component\":\"mokka-control-plane\"},\"count\":1}");
    assert_true(events_in_flight(e));
    assert_null(events_next(e, 1)); /* one at a time */
    assert_int_equal(events_answered(e, 201, 0, 2), EVENT_SENT);
    assert_true(events_due(e, 2) == INT64_MAX);
    events_free(e);
}

static void
test_12_a_cluster_scoped_object_has_its_Events_in_default(void **state)
{
    struct events *e = events_new("pod-1");
    const struct event_request *r;

    (void)state;
    events_note(e, &admitted, 1, WALL);
    r = events_next(e, 1);
    assert_string_equal(r->path, "/api/v1/namespaces/default/events");
    assert_non_null(strstr(r->body, "\"namespace\":\"default\"},"
                                    "\"involvedObject\":{\"uid\":\"u\""));
    assert_non_null(strstr(r->body, "\"type\":\"Normal\""));
    events_free(e);
}

static void
test_12_what_happens_again_is_counted(void **state)
{
    struct events *e = events_new("pod-1");
    struct event_note other = died;
    const struct event_request *r;

    (void)state;
    events_note(e, &died, 1, WALL);
    assert_int_equal(send_all(e, 1), 1);
    events_note(e, &died, 2, WALL + MINUTE);
    r = events_next(e, 2);
    assert_string_equal(r->method, "PATCH");
    assert_string_equal(r->path,
                        "/api/v1/namespaces/ns/events/pod-1.1886caf21c963200");
    assert_string_equal(r->content_type, "application/merge-patch+json");
    assert_string_equal(
        r->body, "{\"lastTimestamp\":\"2026-01-02T03:05:05Z\",\"count\":2}");
    /* What happens meanwhile goes into the next. */
    events_note(e, &died, 3, WALL + MINUTE);
    other.count = 5;
    events_note(e, &other, 3, WALL + MINUTE);
    events_answered(e, 200, 0, 3);
    r = events_next(e, 3);
    assert_count(r, 8);
    events_answered(e, 200, 0, 3);
    /* Another message is another Event, and has another name. */
    other.message = "worker placer died: y";
    events_note(e, &other, 4, WALL);
    r = events_next(e, 4);
    assert_string_equal(r->method, "POST");
    assert_null(strstr(r->body, "pod-1.1886caf21c963200"));
    events_free(e);
}

/* G06: 25 at once, then one for each five minutes, for each object. */
static void
test_G06_a_storm_is_capped(void **state)
{
    struct events *e = events_new("pod-1");
    const struct event_request *r;
    unsigned sent = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        events_note(e, &died, i, WALL);
        sent += send_all(e, i);
    }
    assert_int_equal(sent, EVENTS_BURST);
    assert_int_equal(events_fates(e)[EVENT_SENT], EVENTS_BURST);
    assert_int_equal(events_fates(e)[EVENT_CAPPED], 1000 - EVENTS_BURST);
    /* Another object is not the worse for it. */
    events_note(e, &admitted, 1000, WALL);
    assert_int_equal(send_all(e, 1000), 1);
    /* The next one tells of all that were held back. */
    assert_int_equal(events_due(e, 1000), EVENTS_REFILL);
    assert_null(events_next(e, EVENTS_REFILL - 1));
    r = events_next(e, EVENTS_REFILL);
    assert_count(r, 1000);
    events_answered(e, 200, 0, EVENTS_REFILL);
    assert_true(events_due(e, EVENTS_REFILL) == INT64_MAX); /* then silence */
    sent = 0;
    for (int64_t now = EVENTS_REFILL; now < 13 * EVENTS_REFILL;
         now += EVENTS_REFILL / 10) {
        events_note(e, &died, now, WALL);
        sent += send_all(e, now);
    }
    assert_int_equal(sent, 11);
    events_free(e);
}

static void
test_a_budget_fills_up_again(void **state)
{
    struct events *e = events_new("pod-1");
    int64_t now = 100 * EVENTS_REFILL;

    (void)state;
    for (int round = 0; round < 2; round++) {
        unsigned sent = 0;

        for (int i = 0; i < 100; i++) {
            events_note(e, &died, now, WALL);
            sent += send_all(e, now);
        }
        assert_int_equal(sent, EVENTS_BURST);
        now += 26 * EVENTS_REFILL;
        send_all(e, now);
        now += EVENTS_REFILL;
    }
    events_free(e);
}

static void
test_what_may_pass_is_tried_again(void **state)
{
    static const int statuses[] = {0, 401, 429, 500, 503};
    struct events *e = events_new("pod-1");
    int64_t now = 1;

    (void)state;
    events_note(e, &died, now, WALL);
    events_note(e, &admitted, now, WALL);
    for (size_t i = 0; i < nitems(statuses); i++) {
        assert_next(e, now, "POST", "/api/v1/namespaces/ns/");
        assert_int_equal(events_answered(e, statuses[i], 0, now), EVENT_FATES);
        assert_null(events_next(e, now + EVENTS_PAUSE - 1));
        assert_int_equal(events_due(e, now), now + EVENTS_PAUSE);
        now += EVENTS_PAUSE;
    }
    assert_non_null(events_next(e, now));
    events_answered(e, 429, 3 * EVENTS_PAUSE, now);
    assert_int_equal(events_due(e, now), now + 3 * EVENTS_PAUSE);
    now += 3 * EVENTS_PAUSE;
    assert_int_equal(send_all(e, now), 2);
    events_free(e);
}

static void
test_it_is_given_up_after_twelve_tries(void **state)
{
    struct events *e = events_new("pod-1");
    int64_t now = 1;
    unsigned tries = 0;

    (void)state;
    events_note(e, &died, now, WALL);
    while (events_next(e, now) != NULL) {
        tries++;
        events_answered(e, 500, 0, now);
        now += EVENTS_PAUSE;
    }
    assert_int_equal(tries, EVENTS_TRIES);
    assert_int_equal(events_fates(e)[EVENT_DROPPED], 1);
    assert_true(events_due(e, now) == INT64_MAX);
    /* The next time is another try. */
    events_note(e, &died, now, WALL);
    assert_count(events_next(e, now), 2);
    assert_int_equal(events_answered(e, 201, 0, now), EVENT_SENT);
    events_free(e);
}

static void
test_what_is_refused_is_not_tried_again(void **state)
{
    static const struct {
        int status;
        enum event_fate fate;
    } cases[] = {{403, EVENT_DENIED},
                 {404, EVENT_DROPPED},
                 {422, EVENT_DROPPED},
                 {400, EVENT_DROPPED}};

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct events *e = events_new("pod-1");

        events_note(e, &died, 1, WALL);
        assert_non_null(events_next(e, 1));
        assert_int_equal(events_answered(e, cases[i].status, 0, 1),
                         cases[i].fate);
        assert_int_equal(events_fates(e)[cases[i].fate], 1);
        assert_true(events_due(e, 1) == INT64_MAX);
        events_free(e);
    }
}

/* A lost answer, and an Event that has expired. */
static void
test_what_is_there_or_gone_already(void **state)
{
    struct events *e = events_new("pod-1");
    const struct event_request *r;
    char *first;

    (void)state;
    events_note(e, &died, 1, WALL);
    first = mem_strdup(events_next(e, 1)->body);
    events_answered(e, 0, 0, 1);
    r = events_next(e, 1 + EVENTS_PAUSE);
    assert_string_equal(r->body, first); /* the same name */
    assert_int_equal(events_answered(e, 409, 0, 1 + EVENTS_PAUSE), EVENT_SENT);
    events_note(e, &died, MINUTE, WALL + 2 * MINUTE);
    assert_next(e, MINUTE, "PATCH", "/api/v1/namespaces/ns/events/pod-1.");
    assert_int_equal(events_answered(e, 404, 0, MINUTE), EVENT_FATES);
    r = events_next(e,
                    MINUTE); /* at once, as a new one that goes on counting */
    assert_string_equal(r->method, "POST");
    assert_count(r, 2);
    assert_null(strstr(r->body, "1886caf21c963200"));
    assert_int_equal(events_answered(e, 201, 0, MINUTE), EVENT_SENT);
    free(first);
    events_free(e);
}

static void
test_memory_is_bounded(void **state)
{
    struct events *e = events_new("pod-1");
    struct event_note n = admitted;
    char name[16];

    (void)state;
    n.object.name = name;
    for (int i = 0; i < EVENTS_MAX; i++) {
        snprintf(name, sizeof(name), "lab-%d", i);
        events_note(e, &n, 1, WALL);
    }
    /* All are to be sent: there is no room for another. */
    events_note(e, &died, 1, WALL);
    assert_int_equal(events_fates(e)[EVENT_DROPPED], 1);
    assert_int_equal(send_all(e, 1), EVENTS_MAX);
    events_note(e, &died, 2, WALL);
    assert_int_equal(send_all(e, 2), 1);
    /* The first one was forgotten, the second one not. */
    snprintf(name, sizeof(name), "lab-1");
    events_note(e, &n, 3, WALL);
    assert_next(e, 3, "PATCH", "/api/v1/namespaces/default/events/lab-1.");
    events_answered(e, 200, 0, 3);
    snprintf(name, sizeof(name), "lab-0");
    events_note(e, &n, 3, WALL);
    assert_next(e, 3, "POST", "/api/v1/namespaces/default/events");
    events_free(e);
}

static void
test_names_of_Events_are_names(void **state)
{
    char name[254];
    struct event_note n = died;
    struct events *e = events_new("pod-1");
    const struct event_request *r;
    json_t *json;
    struct str made;

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(name + 230, "..-", 3);
    memcpy(name + 233, "---", 3);
    n.object.name = name;
    events_note(e, &n, 1, WALL);
    r = events_next(e, 1);
    json = json_text(r->body);
    made = json_str(json_object_get(json, "metadata"), "name");
    assert_int_equal(made.n, 230 + 17);
    assert_string_equal(made.s + 230, ".1886caf21c963200");
    json_decref(json);
    events_answered(e, 201, 0, 1);
    /* What makes no path is dropped. */
    n.object.namespace = "..";
    events_note(e, &n, 1, WALL);
    assert_null(events_next(e, 1));
    assert_int_equal(events_fates(e)[EVENT_DROPPED], 1);
    assert_true(events_due(e, 1) == INT64_MAX);
    events_free(e);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_12_what_is_sent_is_a_core_v1_Event),
        cmocka_unit_test(
            test_12_a_cluster_scoped_object_has_its_Events_in_default),
        cmocka_unit_test(test_12_what_happens_again_is_counted),
        cmocka_unit_test(test_G06_a_storm_is_capped),
        cmocka_unit_test(test_a_budget_fills_up_again),
        cmocka_unit_test(test_what_may_pass_is_tried_again),
        cmocka_unit_test(test_it_is_given_up_after_twelve_tries),
        cmocka_unit_test(test_what_is_refused_is_not_tried_again),
        cmocka_unit_test(test_what_is_there_or_gone_already),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_names_of_Events_are_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
