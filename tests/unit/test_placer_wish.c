/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "placer/wish.h"
#include "proto/frame.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/* What was sent, a line each, since it was looked at. */
struct sent {
    struct buf text;
    uint32_t id; /* of the last one */
};

static void
hear(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct sent *s = arg;

    s->id = id;
    if (type == MSG_WITHDRAW) {
        struct arena arena = {0};
        struct unpacked *u = unpack_body(body, NULL);
        enum action action;
        struct str name;

        assert_int_equal(id, 0);
        assert_int_equal(intent_withdraw_unpack(&action, &name,
                                                unpacked_root(u), &arena, NULL),
                         0);
        buf_printf(&s->text, "withdraw %s %s;", action_name(action), name.s);
        unpacked_free(u);
        arena_fini(&arena);
    } else {
        buf_printf(&s->text, "%s %.*s;", message_name(type), (int)body.n,
                   body.s);
    }
}

struct fixture {
    struct wishes w;
    struct sent sent;
};

static void
begin(struct fixture *f)
{
    *f = (struct fixture){.w.next_id = 0};
    f->w.send = hear;
    f->w.arg = &f->sent;
}

static void
end(struct fixture *f)
{
    wish_fini(&f->w);
    assert_int_equal(f->w.by_key.count, 0);
    assert_int_equal(f->w.open, 0);
    buf_fini(&f->sent.text);
}

static void
assert_sent(struct fixture *f, const char *wanted)
{
    char *text = buf_take(&f->sent.text);

    assert_string_equal(text, wanted);
    free(text);
}

/* A rack, made from that version. */
static bool
want(struct fixture *f, const char *basis, const char *body)
{
    return wish_want(&f->w, ACTION_RACK, STR("r"), str_of(basis),
                     MSG_RACK_WRITE, str_of(body));
}

static bool
answer(struct fixture *f, uint32_t id, enum outcome outcome,
       const char *version)
{
    return wish_result(&f->w, id,
                       &(struct result){.action = ACTION_RACK,
                                        .outcome = outcome,
                                        .name = STR("r"),
                                        .version = str_of(version),
                                        .reason = STR("so")});
}

static struct wish
look(const struct fixture *f)
{
    return wish_look(&f->w, ACTION_RACK, STR("r"));
}

static void
test_nothing_was_asked(void **state)
{
    struct fixture f;
    struct wish w;

    (void)state;
    begin(&f);
    w = look(&f);
    assert_int_equal(w.state, WISH_NONE);
    assert_string_equal(w.basis, "");
    assert_string_equal(w.version, "");
    assert_string_equal(w.reason, "");
    wish_drop(&f.w, ACTION_RACK, STR("r"));
    assert_false(answer(&f, 1, OUTCOME_DONE, "5"));
    assert_sent(&f, "");
    end(&f);
}

/* The same is said once, whatever the basis; something else takes its place
 * under a number of its own. */
static void
test_said_once(void **state)
{
    struct fixture f;
    uint32_t first;

    (void)state;
    begin(&f);
    assert_true(want(&f, "4", "a"));
    first = f.sent.id;
    assert_sent(&f, "RACK_WRITE a;");
    assert_true(want(&f, "4", "a"));
    assert_true(want(&f, "5", "a"));
    assert_sent(&f, "");
    assert_string_equal(look(&f).basis, "4");
    assert_int_equal(look(&f).type, MSG_RACK_WRITE);
    assert_true(want(&f, "5", "b"));
    assert_sent(&f, "RACK_WRITE b;");
    assert_int_not_equal(f.sent.id, first);
    assert_int_equal(f.w.open, 1);
    /* A result that answers what was replaced is nobody's. */
    assert_false(answer(&f, first, OUTCOME_DONE, "6"));
    assert_int_equal(look(&f).state, WISH_OPEN);
    assert_true(answer(&f, f.sent.id, OUTCOME_DONE, "6"));
    assert_false(answer(&f, f.sent.id, OUTCOME_DONE, "6"));
    assert_int_equal(f.w.open, 0);
    end(&f);
}

/* Each action and object has a wish of its own. */
static void
test_keys(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    assert_true(want(&f, "1", "a"));
    assert_true(wish_want(&f.w, ACTION_RACK_STATUS, STR("r"), STR("1"),
                          MSG_STATUS_WRITE, STR("b")));
    assert_true(wish_want(&f.w, ACTION_RACK, STR("r2"), STR("1"),
                          MSG_RACK_WRITE, STR("c")));
    assert_int_equal(f.w.open, 3);
    assert_sent(&f, "RACK_WRITE a;STATUS_WRITE b;RACK_WRITE c;");
    wish_drop(&f.w, ACTION_RACK_STATUS, STR("r"));
    assert_sent(&f, "withdraw rack status r;");
    assert_int_equal(f.w.open, 2);
    assert_int_equal(look(&f).state, WISH_OPEN);
    end(&f);
}

/* Carried out: whoever asks from an older version has not seen it yet; from the
 * same version the same would change nothing; from there on anything else, and
 * from a later one the same, is news. */
static void
test_after_done(void **state)
{
    static const struct {
        const char *basis, *body;
        bool news;
    } cases[] = {
        {"9", "a", false}, {"9", "b", false}, {"10", "a", false},
        {"10", "b", true}, {"11", "a", true}, {"11", "b", true},
        {"", "a", false},  {"", "b", true},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct fixture f;

        begin(&f);
        assert_true(want(&f, "9", "a"));
        assert_true(answer(&f, f.sent.id, OUTCOME_DONE, "10"));
        assert_int_equal(look(&f).state, WISH_DONE);
        assert_string_equal(look(&f).version, "10");
        assert_sent(&f, "RACK_WRITE a;");
        assert_true(want(&f, cases[i].basis, cases[i].body));
        assert_int_equal(f.sent.text.len > 0, cases[i].news);
        assert_int_equal(f.w.open, cases[i].news);
        end(&f);
    }
}

/* Refused: the same is no use until the object changes; if the refusal told of
 * a version, nothing is before that one is seen. */
static void
test_after_refusal(void **state)
{
    static const struct {
        const char *told, *basis, *body;
        bool news;
    } cases[] = {
        {"", "9", "a", false},    {"", "9", "b", true},
        {"", "10", "a10", true},  {"12", "9", "b", false},
        {"12", "11", "b", false}, {"12", "12", "b", true},
        {"12", "", "a", false},   {"12", "", "b", true},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct fixture f;

        begin(&f);
        assert_true(want(&f, "9", "a"));
        assert_true(answer(&f, f.sent.id, OUTCOME_CONFLICT, cases[i].told));
        assert_int_equal(look(&f).state, WISH_REFUSED);
        assert_int_equal(look(&f).outcome, OUTCOME_CONFLICT);
        assert_string_equal(look(&f).reason, "so");
        assert_int_equal(f.w.open, 0);
        assert_sent(&f, "RACK_WRITE a;");
        assert_true(want(&f, cases[i].basis, cases[i].body));
        assert_int_equal(f.sent.text.len > 0, cases[i].news);
        end(&f);
    }
}

/* Once seen it is withdrawn, and may be said again. */
static void
test_dropped(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    assert_true(want(&f, "9", "a"));
    wish_drop(&f.w, ACTION_RACK, STR("r"));
    wish_drop(&f.w, ACTION_RACK, STR("r"));
    assert_sent(&f, "RACK_WRITE a;withdraw rack r;");
    assert_int_equal(f.w.open, 0);
    assert_true(want(&f, "9", "a"));
    assert_sent(&f, "RACK_WRITE a;");
    end(&f);
}

/* The projector is gone: what was open may have been carried out, and is said
 * again as it was; what was carried out or refused is known still. */
static void
test_lost(void **state)
{
    struct fixture f;
    uint32_t first;

    (void)state;
    begin(&f);
    assert_true(wish_want(&f.w, ACTION_NODE, STR("n"), STR("1"), MSG_NODE_APPLY,
                          STR("n")));
    assert_true(wish_result(&f.w, f.sent.id,
                            &(struct result){.action = ACTION_NODE,
                                             .outcome = OUTCOME_CONFLICT,
                                             .name = STR("n")}));
    assert_true(want(&f, "9", "a"));
    first = f.sent.id;
    assert_sent(&f, "NODE_APPLY n;RACK_WRITE a;");
    wish_lose(&f.w, false);
    assert_sent(&f, "");
    assert_int_equal(f.w.open, 0);
    assert_int_equal(look(&f).state, WISH_LOST);
    assert_false(answer(&f, first, OUTCOME_DONE, "10"));
    assert_true(want(&f, "9", "a"));
    assert_sent(&f, "RACK_WRITE a;");
    assert_int_equal(look(&f).state, WISH_OPEN);
    assert_int_equal(wish_look(&f.w, ACTION_NODE, STR("n")).state,
                     WISH_REFUSED);
    /* The term is over: what was refused may be asked again. */
    wish_lose(&f.w, true);
    assert_int_equal(look(&f).state, WISH_LOST);
    assert_int_equal(wish_look(&f.w, ACTION_NODE, STR("n")).state, WISH_LOST);
    end(&f);
}

/* What a predecessor asked for: done, whatever it was, or lost. */
static void
test_written(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    wish_written(&f.w, ACTION_RACK, STR("r"), STR("10"));
    assert_int_equal(look(&f).state, WISH_DONE);
    assert_true(want(&f, "9", "a"));
    assert_sent(&f, "");
    assert_true(want(&f, "10", "a"));
    assert_sent(&f, "RACK_WRITE a;");
    assert_int_equal(f.w.open, 1);
    wish_written(&f.w, ACTION_RACK, STR("r"), STR("11"));
    assert_int_equal(f.w.open, 0);
    assert_int_equal(look(&f).type, 0);
    wish_written(&f.w, ACTION_RACK, STR("r"), STR(""));
    assert_int_equal(look(&f).state, WISH_LOST);
    end(&f);
}

static bool
want_node(struct fixture *f, const char *name)
{
    return wish_want(&f->w, ACTION_NODE, str_of(name), STR("1"), MSG_NODE_APPLY,
                     STR("a"));
}

/* At most so many of an action are open; what replaces an open one is not one
 * more. */
static void
test_limit(void **state)
{
    struct fixture f;
    char name[16];

    (void)state;
    begin(&f);
    for (int i = 0; i < WISH_LIMIT; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_true(want_node(&f, name));
    }
    assert_int_equal(f.w.open, WISH_LIMIT);
    buf_clear(&f.sent.text);
    assert_false(want_node(&f, "m"));
    assert_int_equal(wish_look(&f.w, ACTION_NODE, STR("m")).state, WISH_NONE);
    assert_sent(&f, "");
    /* Others do not wait for that. */
    assert_true(want(&f, "1", "a"));
    wish_drop(&f.w, ACTION_RACK, STR("r"));
    assert_true(wish_want(&f.w, ACTION_NODE, STR("n0"), STR("2"),
                          MSG_NODE_APPLY, STR("b")));
    assert_true(want_node(&f, "n1"));
    assert_int_equal(f.w.open, WISH_LIMIT);
    wish_drop(&f.w, ACTION_NODE, STR("n1"));
    assert_true(want_node(&f, "m"));
    assert_false(want_node(&f, "n1"));
    end(&f);
}

/* B05: Nodes that refuse for good hold up no other Node. */
static void
test_B05_what_rests_takes_no_room(void **state)
{
    struct fixture f;
    char name[16];

    (void)state;
    begin(&f);
    for (int i = 0; i < WISH_LIMIT; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_true(want_node(&f, name));
        assert_int_equal(wish_has_room(&f.w, ACTION_NODE),
                         i + 1 <= WISH_LIMIT / 2);
    }
    assert_false(want_node(&f, "m"));
    assert_false(wish_rest(&f.w, 2, ACTION_NODE, STR("n0")));
    assert_false(wish_rest(&f.w, 1, ACTION_RACK, STR("n0")));
    for (uint32_t i = 0; i < WISH_LIMIT / 2; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        assert_true(wish_rest(&f.w, i + 1, ACTION_NODE, str_of(name)));
        assert_true(wish_rest(&f.w, i + 1, ACTION_NODE, str_of(name)));
    }
    assert_true(wish_has_room(&f.w, ACTION_NODE));
    assert_true(want_node(&f, "m"));
    assert_int_equal(f.w.open, WISH_LIMIT + 1);
    assert_int_equal(f.w.loads[ACTION_NODE].count, WISH_LIMIT / 2 + 1);
    /* Said anew it counts again. */
    assert_true(wish_want(&f.w, ACTION_NODE, STR("n0"), STR("2"),
                          MSG_NODE_APPLY, STR("b")));
    assert_int_equal(f.w.loads[ACTION_NODE].count, WISH_LIMIT / 2 + 2);
    wish_drop(&f.w, ACTION_NODE, STR("n1"));
    assert_int_equal(f.w.loads[ACTION_NODE].count, WISH_LIMIT / 2 + 2);
    wish_lose(&f.w, false);
    assert_int_equal(f.w.loads[ACTION_NODE].count, 0);
    assert_int_equal(f.w.loads[ACTION_NODE].bytes, 0);
    end(&f);
}

/* What an API server refuses as a whole is bounded all the same. */
static void
test_not_all_may_rest(void **state)
{
    struct fixture f;
    char name[16];
    uint32_t said = 0;

    (void)state;
    begin(&f);
    for (int round = 0; round < 6; round++) {
        for (uint32_t i = 0; f.w.loads[ACTION_NODE].count < WISH_LIMIT; i++) {
            snprintf(name, sizeof(name), "n%d-%u", round, i);
            assert_true(want_node(&f, name));
        }
        for (uint32_t i = 0; said < f.w.next_id; i++) {
            snprintf(name, sizeof(name), "n%d-%u", round, i);
            assert_true(wish_rest(&f.w, ++said, ACTION_NODE, str_of(name)));
        }
    }
    assert_int_equal(f.w.resting, WISH_RESTING);
    assert_int_equal(f.w.open, WISH_RESTING + WISH_LIMIT);
    assert_false(want_node(&f, "one more"));
    wish_lose(&f.w, false);
    assert_int_equal(f.w.resting, 0);
    end(&f);
}

/* Whatever happens, the number of open wishes is that of those in state open,
 * and never above the limit; nothing is said twice in a row. */
static void
test_random(void **state)
{
    struct seeded s = seeded_start("test_random");
    struct fixture f;

    (void)state;
    begin(&f);
    for (int i = 0; i < seeded_rounds(20000); i++) {
        char name[8], body[8], basis[8];
        uint32_t id = f.w.next_id + 1 - (uint32_t)seeded_below(&s, 4);
        unsigned open = 0;

        snprintf(name, sizeof(name), "n%d", seeded_below(&s, 4));
        snprintf(body, sizeof(body), "%d", seeded_below(&s, 3));
        snprintf(basis, sizeof(basis), "%d", seeded_below(&s, 5));
        switch (seeded_below(&s, 7)) {
        case 0:
            wish_drop(&f.w, ACTION_NODE, str_of(name));
            break;
        case 1:
        case 2:
            wish_result(&f.w, id,
                        &(struct result){.action = ACTION_NODE,
                                         .outcome = (enum outcome)seeded_below(
                                             &s, OUTCOME_COUNT),
                                         .name = str_of(name),
                                         .version = str_of(basis)});
            break;
        case 3:
            if (seeded_below(&s, 10) == 0)
                wish_lose(&f.w, seeded_below(&s, 2) == 0);
            break;
        case 4:
            wish_rest(&f.w, id, ACTION_NODE, str_of(name));
            break;
        default:
            wish_want(&f.w, ACTION_NODE, str_of(name), str_of(basis),
                      MSG_NODE_APPLY, str_of(body));
            buf_clear(&f.sent.text);
            wish_want(&f.w, ACTION_NODE, str_of(name), str_of(basis),
                      MSG_NODE_APPLY, str_of(body));
            assert_sent(&f, "");
            break;
        }
        for (int j = 0; j < 4; j++) {
            snprintf(name, sizeof(name), "n%d", j);
            open +=
                wish_look(&f.w, ACTION_NODE, str_of(name)).state == WISH_OPEN;
        }
        assert_int_equal(f.w.open, open);
        assert_true(f.w.loads[ACTION_NODE].count <= open);
        buf_clear(&f.sent.text);
    }
    end(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_was_asked),
        cmocka_unit_test(test_said_once),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_after_done),
        cmocka_unit_test(test_after_refusal),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_B05_what_rests_takes_no_room),
        cmocka_unit_test(test_not_all_may_rest),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("placer wish", tests, NULL, NULL);
}
