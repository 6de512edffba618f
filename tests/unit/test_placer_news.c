/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"

#define GROUP "[{\"id\":\"a\",\"count\":1,\"profileRef\":{\"name\":\"p\"}}]"

/* Every EVENT said so far, "Warning Reason (Action): message; " each. */
static char *
events(const struct sim *s)
{
    struct buf out = {0};

    for (size_t n = 0; n < s->count; n++) {
        struct intent_event i;
        struct arena arena = {0};
        struct unpacked *u;

        if (s->said[n].type != MSG_EVENT)
            continue;
        u = unpack_body(buf_str(&s->said[n].body), NULL);
        assert_int_equal(
            intent_event_unpack(&i, unpacked_root(u), &arena, NULL), 0);
        assert_int_equal(i.kind, KIND_INVENTORY);
        assert_int_equal(s->said[n].id, 0);
        buf_printf(&out, "%s%s %s %s (%s)", out.len > 0 ? "; " : "",
                   i.target.name.s, i.warning ? "Warning" : "Normal",
                   i.reason.s, i.action.s);
        assert_true(i.message.n > 0 && i.target.uid.n > 0);
        unpacked_free(u);
        arena_fini(&arena);
    }
    return buf_take(&out);
}

static void
assert_events(struct sim *s, const char *wanted)
{
    char *text = events(s);

    assert_string_equal(text, wanted);
    free(text);
    sim_forget(s);
}

static void
declare(struct sim *s, int64_t generation, const char *groups)
{
    sim_inventory(s, &(struct sim_inventory){.name = "lab",
                                             .groups = groups,
                                             .created = 1,
                                             .generation = generation});
}

/* The inventory again, with these conditions as they stand. */
static void
declare_standing(struct sim *s, int64_t generation,
                 const struct condition *conditions, size_t count)
{
    static const struct str finalizers[] = {STR(FINALIZER_INVENTORY)};
    struct object_ref ref = sim_ref(s, "lab");
    struct object_inventory o = {
        .meta = {.name = ref.name,
                 .uid = ref.uid,
                 .version = sim_version(s),
                 .generation = generation,
                 .created = 1},
        .finalizers = {finalizers, 1},
        .status = {STR("{}"), {conditions, count}},
    };
    json_t *json = json_text("{\"rackGroups\":" GROUP "}");
    struct buf packed = {0};
    struct buf body = {0};

    pack_json(&packed, json);
    object_inventory_pack(&body, &o, buf_str(&packed));
    sim_frame(s, MSG_INVENTORY, 0, &body);
    buf_fini(&packed);
    json_decref(json);
}

/* The rack is there, with that Node in its first slot, and projected. */
static void
stand(struct sim *s, const char *node)
{
    char digest[RACK_DIGEST];
    const char *name;

    sim_digest(s, "lab", "a", 0, digest);
    name = sim_rack(s, &(struct sim_rack){.inventory = "lab",
                                          .group = "a",
                                          .slots = 2,
                                          .nodes = {node},
                                          .digest = digest});
    if (node != NULL) {
        const struct world_rack *r = world_rack(&s->p.world, name);
        struct arena arena = {0};
        struct projection wanted =
            project_wanted(&r->o, &r->o.slots[0], true, &arena);

        sim_node(s, &(struct sim_node){.name = node,
                                       .created = 1,
                                       .assignment = wanted.annotation.s,
                                       .clique = wanted.clique});
        arena_fini(&arena);
    }
    sim_batch(s);
}

/* A valid inventory is admitted, and later all of it stands. */
static void
test_12_admission_and_completion_are_said_once(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, GROUP);
    sim_node(&s, &(struct sim_node){.name = "n1", .created = 1});
    sim_synced(&s);
    assert_events(&s, "lab Normal Accepted (Admit)");
    stand(&s, "n1");
    assert_events(&s, "lab Normal Programmed (Project)");
    sim_batch(&s);
    /* One Node more, and it is bound and projected: that is no news. */
    sim_node(&s, &(struct sim_node){.name = "n2", .created = 1});
    sim_batch(&s);
    stand(&s, "n1");
    assert_events(&s, "");
    /* Another spec is. */
    declare(&s, 2, GROUP);
    sim_batch(&s);
    assert_events(
        &s, "lab Normal Accepted (Admit); lab Normal Programmed (Project)");
    sim_fini(&s);
}

static void
test_12_what_is_refused_or_missing_is_a_warning(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    declare(&s, 1,
            "[{\"id\":\"?\",\"count\":1,\"profileRef\":{\"name\":"
            "\"p\"}}]");
    sim_synced(&s);
    assert_events(&s, "lab Warning InvalidInventory (Admit); "
                      "lab Warning ProfileNotFound (Resolve)");
    declare(&s, 2, GROUP);
    sim_batch(&s);
    assert_events(&s, "lab Normal Accepted (Admit); "
                      "lab Warning ProfileNotFound (Resolve)");
    /* The reference is mended, and broken again. */
    sim_profile(&s, "p", 1, 2);
    sim_batch(&s);
    assert_events(&s, "");
    sim_gone(&s, KIND_PROFILE, "p", "profile-uid");
    sim_batch(&s);
    assert_events(&s, "lab Warning ProfileNotFound (Resolve)");
    sim_fini(&s);
}

static void
test_12_a_conflict_is_said_and_so_is_its_end(void **state)
{
    struct sim_rack rival = {
        .inventory = "lab", .group = "a", .slots = 2, .owner = "other"};
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, GROUP);
    sim_rack(&s, &rival);
    sim_synced(&s);
    assert_events(&s, "lab Normal Accepted (Admit); "
                      "lab Warning RackOwnershipConflict (Project)");
    sim_batch(&s);
    assert_events(&s, "");
    stand(&s, NULL);
    assert_events(&s, "lab Normal Programmed (Project)");
    sim_fini(&s);
}

/* Whoever takes over says nothing of what stands (0 writes at a takeover). */
static void
test_12_what_stands_has_been_said(void **state)
{
    const struct condition standing[] = {
        {STR("Accepted"), STR("True"), STR("Accepted"), STR("in other words"),
         1},
        {STR("Programmed"), STR("True"), STR("Programmed"), STR("likewise"), 1},
    };
    struct condition older = standing[0];
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare_standing(&s, 1, standing, 2);
    sim_synced(&s);
    stand(&s, NULL);
    assert_events(&s, "");
    placer_term_ended(&s.p);
    sim_term(&s, 2);
    assert_events(&s, "");
    sim_fini(&s);

    /* Of an older spec it does not count. */
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare_standing(&s, 2, &older, 1);
    sim_synced(&s);
    assert_events(&s, "lab Normal Accepted (Admit)");
    /* Another inventory of that name is another. */
    sim_gone(&s, KIND_INVENTORY, "lab", "lab-uid");
    declare_standing(&s, 2, &older, 1);
    sim_batch(&s);
    assert_events(&s, "lab Normal Accepted (Admit)");
    sim_fini(&s);
}

static void
test_12_a_standby_says_nothing(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    placer_term_ended(&s.p);
    sim_forget(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, GROUP);
    sim_synced(&s);
    assert_events(&s, "");
    sim_term(&s, 2);
    assert_events(&s, "lab Normal Accepted (Admit)");
    sim_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_12_admission_and_completion_are_said_once),
        cmocka_unit_test(test_12_what_is_refused_or_missing_is_a_warning),
        cmocka_unit_test(test_12_a_conflict_is_said_and_so_is_its_end),
        cmocka_unit_test(test_12_what_stands_has_been_said),
        cmocka_unit_test(test_12_a_standby_says_nothing),
    };

    log_to(open("/dev/null", O_WRONLY));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
