/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/api.h"
#include "common/mem.h"

/* What other tools read and write, letter by letter. */
static void
test_0_1_names(void **state)
{
    static const char *const names[][2] = {
        {API_GROUP, "mokka.nvidia.com"},
        {API_VERSION, "v1alpha1"},
        {API_GROUP_VERSION, "mokka.nvidia.com/v1alpha1"},
        {API_PROFILE, "SGPURackProfile"},
        {API_INVENTORY, "SGPUInventory"},
        {API_RACK, "SGPURack"},
        {API_PROFILES, "sgpurackprofiles"},
        {API_INVENTORIES, "sgpuinventories"},
        {API_RACKS, "sgpuracks"},
        {FIELD_MANAGER, "mokka-controller"},
        {LABEL_TRUE, "true"},
        {LABEL_ELIGIBLE, "mokka.nvidia.com/sgpu-node"},
        {LABEL_ASSIGNED, "mokka.nvidia.com/sgpu-assigned"},
        {LABEL_CLIQUE, "nvidia.com/gpu.clique"},
        {ANNOTATION_ASSIGNMENT, "mokka.nvidia.com/sgpu-assignment"},
        {LABEL_INVENTORY, "mokka.nvidia.com/inventory"},
        {LABEL_GROUP, "mokka.nvidia.com/rack-group"},
        {LABEL_INDEX, "mokka.nvidia.com/rack-index"},
        {ANNOTATION_INVENTORY_UID, "mokka.nvidia.com/inventory-uid"},
        {FINALIZER_INVENTORY, "mokka.nvidia.com/inventory-cleanup"},
        {FINALIZER_RACK, "mokka.nvidia.com/rack-cleanup"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(names); i++)
        assert_string_equal(names[i][0], names[i][1]);
}

static void
test_0_1_limits(void **state)
{
    (void)state;
    assert_int_equal(MAX_NODES, 100000);
    assert_int_equal(MAX_RACKS, 100000);
    assert_int_equal(MAX_GROUPS, 64);
    assert_int_equal(MAX_STATUS, INT32_MAX);
    assert_int_equal(MAX_NODES_PER_RACK, 1024);
    assert_int_equal(MAX_GPUS, 64);
    assert_int_equal(MAX_RACK_BYTES, 1 << 20);
    assert_int_equal(CLIQUE_ID, 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_0_1_names),
        cmocka_unit_test(test_0_1_limits),
    };

    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
