/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"

#define GROUP(id, count)                                                       \
    "{\"id\":\"" id "\",\"count\":" #count ",\"profileRef\":{\"name\":\"p\"}}"

static void
declare(struct sim *s, int64_t generation, bool deleting, const char *groups)
{
    sim_inventory(s, &(struct sim_inventory){.name = "lab",
                                             .groups = groups,
                                             .created = 1,
                                             .generation = generation,
                                             .deleting = deleting});
}

static json_t *
written_spec(const struct sim *s, const char *name)
{
    char *text = sim_spec(s, name);
    json_t *spec = json_text(text);

    free(text);
    return spec;
}

/* "n1 - n2": who is bound, slot by slot. */
static char *
bound_in(const json_t *spec)
{
    struct buf out = {0};
    json_t *slot;
    size_t i;

    json_array_foreach(json_object_get(spec, "nodes"), i, slot)
    {
        const json_t *ref = json_object_get(slot, "nodeRef");

        buf_printf(&out, "%s%s", i == 0 ? "" : " ",
                   ref == NULL ? "-" : json_str(ref, "name").s);
    }
    return buf_take(&out);
}

static void
assert_written(const struct sim *s, const char *name, const char *wanted)
{
    json_t *spec = written_spec(s, name);
    char *bound = bound_in(spec);

    assert_string_equal(bound, wanted);
    free(bound);
    json_decref(spec);
}

/* A Node as it is once that slot of that standing rack is projected on it. */
static void
project(struct sim *s, const char *node, const char *rack, int slot)
{
    const struct world_rack *r = world_rack(&s->p.world, rack);
    struct arena arena = {0};
    struct projection wanted =
        project_wanted(&r->o, &r->o.slots[slot], true, &arena);

    sim_node(s, &(struct sim_node){.name = node,
                                   .created = 1,
                                   .assignment = wanted.annotation.s,
                                   .clique = wanted.clique});
    arena_fini(&arena);
}

/* A write of that rack was carried out, and the feed shows it: as r, with the
 * spec that is planned. */
static void
echo(struct sim *s, const char *name, struct sim_rack r)
{
    char digest[RACK_DIGEST];

    sim_result(s, sim_last(s, MSG_RACK_WRITE, name), ACTION_RACK, OUTCOME_DONE);
    sim_digest(s, r.inventory, r.group, r.index, digest);
    r.digest = digest;
    sim_rack(s, &r);
    sim_batch(s);
    sim_forget(s);
}

/* The projector has taken a binding off its Node, and the feed shows it. */
static void
clean(struct sim *s, const char *node)
{
    sim_result(s, sim_last(s, MSG_NODE_APPLY, node), ACTION_NODE, OUTCOME_DONE);
    sim_node(s, &(struct sim_node){.name = node});
    sim_batch(s);
}

/* ---- 7.4 --------------------------------------------------------------- */

/* An inventory gets its finalizer before its first rack. */
static void
test_7_4_finalizer_of_the_inventory(void **state)
{
    struct sim_inventory v = {.name = "lab",
                              .groups = "[" GROUP("a", 1) "]",
                              .generation = 1,
                              .bare = true};
    struct intent_finalizer i;
    struct arena arena = {0};
    struct unpacked *u;
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    sim_inventory(&s, &v);
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    u = unpack_body(buf_str(&sim_last(&s, MSG_FINALIZER, "lab")->body), NULL);
    assert_int_equal(
        intent_finalizer_unpack(&i, unpacked_root(u), &arena, NULL), 0);
    assert_string_equal(i.finalizer.s, "mokka.nvidia.com/inventory-cleanup");
    assert_true(i.present);
    v.bare = false;
    sim_inventory(&s, &v);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    unpacked_free(u);
    arena_fini(&arena);
    sim_fini(&s);
}

/* ---- 7.5 --------------------------------------------------------------- */

/* The rendering, bindings that stay, then new ones in the slots that are free.
 */
static void
test_7_5_bindings_are_merged(void **state)
{
    struct sim s;
    const char *rack;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 3);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(&s, &(struct sim_node){.name = "n1", .created = 1});
    sim_node(&s, &(struct sim_node){.name = "n2", .created = 2});
    sim_node(&s, &(struct sim_node){.name = "n3", .created = 3});
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                           .group = "a",
                                           .slots = 3,
                                           .nodes = {NULL, "n3", NULL}});
    sim_synced(&s);
    assert_written(&s, rack, "n1 n3 n2");
    sim_fini(&s);
}

/* A rack that is as wanted is not written; each part of it counts. */
static void
test_7_5_no_write_without_a_difference(void **state)
{
    struct sim s;
    struct sim_rack as_is = {
        .inventory = "lab", .group = "a", .slots = 2, .nodes = {"n1"}};
    char digest[RACK_DIGEST];
    const char *rack;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(&s, &(struct sim_node){.name = "n1"});
    rack = sim_rack(&s, &as_is);
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    memcpy(digest, plan_digest(plan_rack(&s.p.plan, rack)), RACK_DIGEST);
    sim_fini(&s);

    for (int differs = 0; differs < 4; differs++) {
        struct sim_rack r = as_is;

        r.digest = differs == 1 ? "another" : digest;
        r.bare = differs == 2;
        r.slots = differs == 3 ? 3 : 2;
        sim_init(&s);
        sim_profile(&s, "p", 1, 2);
        declare(&s, 1, false, "[" GROUP("a", 1) "]");
        sim_node(&s, &(struct sim_node){.name = "n1"});
        rack = sim_rack(&s, &r);
        sim_synced(&s);
        assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), differs > 0);
        sim_fini(&s);
    }
}

/* A release takes its slot only once the Node is clean. */
static void
test_7_5_released_slots_wait_for_their_cleanup(void **state)
{
    const struct sim_rack standing = {
        .inventory = "lab", .group = "a", .slots = 2, .nodes = {"n1"}};
    const struct sim_said *release;
    struct sim s;
    const char *rack;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, false,
            "[{\"id\":\"a\",\"count\":1,\"profileRef\":{\"name\":\"p\"},"
            "\"placement\":{\"nodeSelector\":{\"matchLabels\":{\"pool\":"
            "\"x\"}}}}]");
    rack = sim_rack(&s, &standing);
    project(&s, "n1", rack, 0); /* not of pool x */
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, "n1"), 1);
    assert_written(&s, rack, "n1 -");
    release = sim_last(&s, MSG_NODE_APPLY, "n1");
    sim_result(&s, release, ACTION_NODE, OUTCOME_DONE);
    echo(&s, rack, standing);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 0);
    sim_node(&s, &(struct sim_node){.name = "n1"});
    sim_batch(&s);
    assert_written(&s, rack, "- -");
    sim_fini(&s);
}

/* A slot beyond the profile stays in the rack, as it is, until it is clean. */
static void
test_7_5_slots_of_a_shrunken_profile(void **state)
{
    struct sim_rack standing = {
        .inventory = "lab", .group = "a", .slots = 2, .nodes = {"n1", "n2"}};
    struct sim_said apply = {.name = (char[]){"n2"}};
    struct sim s;
    const char *rack;
    json_t *spec;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(&s, &(struct sim_node){.name = "n1"});
    rack = sim_rack(&s, &standing);
    project(&s, "n2", rack, 1);
    sim_synced(&s);
    apply.id = sim_last(&s, MSG_NODE_APPLY, "n2")->id;
    /* All else is written at once; of that slot only its index. */
    spec = written_spec(&s, rack);
    assert_int_equal(json_int(json_at(spec, "nodes.1"), "index"), 1);
    assert_int_equal(json_object_size(json_at(spec, "nodes.1")), 1);
    json_decref(spec);
    /* Once. */
    standing.revision = world_profile(&s.p.world, "p")->spec.revision;
    echo(&s, rack, standing);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 0);
    sim_result(&s, &apply, ACTION_NODE, OUTCOME_DONE);
    sim_node(&s, &(struct sim_node){.name = "n2"});
    sim_batch(&s);
    assert_written(&s, rack, "n1");
    sim_fini(&s);
}

static void
count_warning(void *arg, enum log_level level, const char *msg,
              const struct log_field *fields)
{
    (void)level;
    (void)fields;
    *(int *)arg += strcmp(msg, "metadata conflict blocks projection") == 0;
}

/* 4.3: what is in the way is said once, and again when it changes. */
static void
test_4_3_a_conflict_is_told_once(void **state)
{
    struct sim_rack standing = {
        .inventory = "lab", .group = "a", .slots = 1, .nodes = {"n1"}};
    struct sim_node taken = {
        .name = "n1", .assignment = "{}", .clique = "mine"};
    char digest[RACK_DIGEST];
    int told = 0;
    struct sim s;

    (void)state;
    log_hand_to(count_warning, &told);
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(&s, &(struct sim_node){.name = "n1"});
    sim_rack(&s, &standing);
    sim_synced(&s);
    sim_digest(&s, "lab", "a", 0, digest);
    standing.digest = digest;
    for (int i = 0; i < 3; i++) {
        sim_node(&s, &taken);
        sim_rack(&s, &standing);
        sim_batch(&s);
        assert_int_equal(told, 1);
    }
    taken.clique = "others";
    sim_node(&s, &(struct sim_node){.name = "n1"});
    sim_batch(&s);
    sim_result(&s, sim_last(&s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_CONFLICT);
    sim_node(&s, &taken);
    sim_batch(&s);
    assert_int_equal(told, 2);
    sim_fini(&s);
    log_hand_to(NULL, NULL);
}

/* An edit of the profile with the same dimensions moves nothing. */
static void
test_7_5_profile_edit_keeps_bindings(void **state)
{
    const struct sim_rack standing = {
        .inventory = "lab", .group = "a", .slots = 2, .nodes = {NULL, "n1"}};
    struct sim s;
    const char *rack;
    char *spec = sim_profile_spec(2);
    json_t *edited = json_text(spec);
    json_t *first;
    json_t *second;

    (void)state;
    free(spec);
    json_put(edited, "node.gpus.model", json_text("{\"product\":\"new\"}"));
    spec = json_dumps(edited, JSON_COMPACT);
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(&s, &(struct sim_node){.name = "n1"});
    rack = sim_rack(&s, &standing);
    sim_synced(&s);
    first = written_spec(&s, rack);
    echo(&s, rack, standing);
    sim_profile_text(&s, "p", 2, spec);
    sim_batch(&s);
    second = written_spec(&s, rack);
    assert_int_equal(json_int(json_at(second, "profileRef"), "generation"), 2);
    assert_string_not_equal(
        json_str(json_at(first, "profileRef"), "revision").s,
        json_str(json_at(second, "profileRef"), "revision").s);
    assert_true(
        json_equal(json_at(first, "identity"), json_at(second, "identity")));
    assert_true(json_equal(json_at(first, "nodes"), json_at(second, "nodes")));
    json_decref(first);
    json_decref(second);
    json_decref(edited);
    free(spec);
    sim_fini(&s);
}

/* A rack of that name that is not ours is never changed. */
static void
test_7_5_racks_of_others(void **state)
{
    struct sim s;
    const char *rack;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, false, "[" GROUP("a", 2) "]");
    sim_node(&s, &(struct sim_node){.name = "n1"});
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                           .group = "a",
                                           .slots = 2,
                                           .owner = "other"});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 0);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 0);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1); /* rack 1 */
    assert_condition(&s, "lab", "Programmed", "False RackOwnershipConflict");
    sim_fini(&s);
}

/* ---- 7.6 --------------------------------------------------------------- */

/* Why a rack was retired by the log's last line about it, or NULL. */
static char *
retired(const struct sim *s, int log, const char *name)
{
    struct buf text = {0};
    char *key =
        mem_printf("\"rack retired\",\"rack\":\"%s\",\"reason\":\"", name);
    char piece[4096];
    const char *found;
    char *reason = NULL;
    ssize_t n;
    char *all;

    lseek(log, 0, SEEK_SET);
    while ((n = read(log, piece, sizeof(piece))) > 0)
        buf_add(&text, piece, (size_t)n);
    all = buf_take(&text);
    found = strstr(all, key);
    if (found != NULL) {
        found += strlen(key);
        reason = mem_dup(found, strcspn(found, "\""));
    }
    assert_int_equal(found != NULL, sim_said(s, MSG_RACK_DELETE, name));
    free(all);
    free(key);
    return reason;
}

static int
open_log(void)
{
    char path[] = "/tmp/test_placer_decide.XXXXXX";
    int log = mkstemp(path);

    assert_true(log >= 0);
    unlink(path);
    log_to(log);
    log_setup("placer", 1, LOG_DEBUG, LOG_JSON);
    return log;
}

static void
close_log(int log)
{
    log_to(1);
    log_setup("placer", 1, LOG_INFO, LOG_JSON);
    close(log);
}

/* The table, first match; groups a (2 racks) and b (unresolved) are declared.
 */
static void
test_7_6_which_racks_are_retired(void **state)
{
    static const struct {
        struct sim_rack rack;
        const char *reason; /* NULL: kept */
    } rows[] = {
        {{.group = "a", .index = 0}, NULL},
        {{.group = "a", .index = 1}, NULL},
        {{.group = "a", .index = 0, .deleting = true}, "RackDeleting"},
        {{.group = "b", .index = 0, .deleting = true}, "RackDeleting"},
        {{.group = "z", .index = 0, .deleting = true}, "RackDeleting"},
        {{.group = "b", .index = 0}, NULL},
        {{.group = "b", .index = 7}, NULL},
        {{.group = "b", .index = 0, .name = "odd"}, NULL},
        {{.group = "z", .index = 0}, "GroupRemoved"},
        {{.group = "a", .index = 2}, "CapacityShrink"},
        {{.group = "a", .index = 9, .name = "odd"}, "CapacityShrink"},
        {{.group = "a", .index = -1}, "GroupRemoved"},
        {{.group = "a", .index = 0, .name = "odd"}, "GroupRemoved"},
        /* Not ours to retire. */
        {{.group = "z", .index = 0, .owner = "other"}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct sim_rack r = rows[i].rack;
        int log = open_log();
        const char *name;
        struct sim s;
        char *reason;

        sim_init(&s);
        sim_profile(&s, "p", 1, 2);
        declare(&s, 1, false,
                "[" GROUP("a", 2) ",{\"id\":\"b\",\"count\":1,"
                                  "\"profileRef\":{\"name\":\"none\"}}]");
        r.inventory = "lab";
        r.slots = 2;
        name = sim_rack(&s, &r);
        sim_synced(&s);
        reason = retired(&s, log, name);
        if (rows[i].reason == NULL)
            assert_null(reason);
        else
            assert_string_equal(reason == NULL ? "kept" : reason,
                                rows[i].reason);
        free(reason);
        close_log(log);
        sim_fini(&s);
    }
}

/* Of an inventory that is being deleted, all; its finalizer stays until they
 * are gone. */
static void
test_7_6_all_racks_of_a_deleted_inventory(void **state)
{
    int log = open_log();
    const char *racks[2];
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, true, "[" GROUP("a", 1) "]");
    for (int i = 0; i < 2; i++)
        racks[i] = sim_rack(
            &s, &(struct sim_rack){
                    .inventory = "lab", .group = "a", .index = i, .slots = 2});
    sim_synced(&s);
    for (int i = 0; i < 2; i++) {
        char *reason = retired(&s, log, racks[i]);

        assert_string_equal(reason, "InventoryDeleting");
        free(reason);
        assert_int_equal(sim_said(&s, MSG_FINALIZER, "lab"), 0);
        sim_gone(&s, KIND_RACK, racks[i], racks[i]);
        sim_batch(&s);
    }
    assert_int_equal(sim_said(&s, MSG_FINALIZER, "lab"), 1);
    close_log(log);
    sim_fini(&s);
}

/* One that aggregate admission rejects loses all of them, too. */
static void
test_7_6_all_racks_of_a_rejected_inventory(void **state)
{
    int log = open_log();
    const char *rack;
    struct sim s;
    char *reason;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1000);
    declare(&s, 1, false, "[" GROUP("a", 60) "]");
    sim_inventory(&s, &(struct sim_inventory){.name = "young",
                                              .groups = "[" GROUP("a", 60) "]",
                                              .created = 2,
                                              .generation = 1});
    rack = sim_rack(
        &s, &(struct sim_rack){.inventory = "young", .group = "a", .slots = 2});
    sim_synced(&s);
    reason = retired(&s, log, rack);
    assert_string_equal(reason, "CapacityRejected");
    free(reason);
    close_log(log);
    sim_fini(&s);
}

/* Bound slots are cleaned first, each of them, and by their exact binding. */
static void
test_7_6_cleanup_comes_first(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                           .group = "z",
                                           .slots = 2,
                                           .nodes = {"n1", "n2"}});
    project(&s, "n1", rack, 0);
    project(&s, "n2", rack, 1);
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, "n1"), 1);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, "n2"), 1);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 0);
    clean(&s, "n1");
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 0);
    clean(&s, "n2");
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 1);
    sim_fini(&s);
}

static void
count_claims(void *arg, enum log_level level, const char *msg,
             const struct log_field *fields)
{
    (void)fields;
    *(int *)arg += level == LOG_INFO && strcmp(msg, "node assigned") == 0;
}

/* In shadow nothing is written: the log does not say that it was. */
static void
test_shadow_claims_nothing(void **state)
{
    (void)state;
    for (int shadow = 0; shadow < 2; shadow++) {
        int claims = 0;
        struct sim s;

        log_setup("placer", 0, LOG_INFO, LOG_PLAIN);
        log_hand_to(count_claims, &claims);
        sim_init(&s);
        s.p.shadow = shadow != 0;
        sim_profile(&s, "p", 1, 1);
        declare(&s, 1, false, "[" GROUP("a", 1) "]");
        sim_node(&s, &(struct sim_node){.name = "n", .created = 1});
        sim_synced(&s);
        assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
        assert_int_equal(claims, shadow ? 0 : 1);
        sim_fini(&s);
        log_hand_to(NULL, NULL);
        log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_7_4_finalizer_of_the_inventory),
        cmocka_unit_test(test_7_5_bindings_are_merged),
        cmocka_unit_test(test_7_5_no_write_without_a_difference),
        cmocka_unit_test(test_7_5_released_slots_wait_for_their_cleanup),
        cmocka_unit_test(test_7_5_slots_of_a_shrunken_profile),
        cmocka_unit_test(test_4_3_a_conflict_is_told_once),
        cmocka_unit_test(test_7_5_profile_edit_keeps_bindings),
        cmocka_unit_test(test_7_5_racks_of_others),
        cmocka_unit_test(test_7_6_which_racks_are_retired),
        cmocka_unit_test(test_7_6_all_racks_of_a_deleted_inventory),
        cmocka_unit_test(test_7_6_all_racks_of_a_rejected_inventory),
        cmocka_unit_test(test_7_6_cleanup_comes_first),
        cmocka_unit_test(test_shadow_claims_nothing),
    };

    return cmocka_run_group_tests_name("placer decide", tests, NULL, NULL);
}
