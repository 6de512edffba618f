/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a peer: frames are found, checked and decoded, and what passes the
 * check must decode, and be read by every reader of the catalogue without harm.
 */
#include <stdint.h>
#include <stdlib.h>

#include "proto/check.h"
#include "proto/frame.h"
#include "proto/intent.h"
#include "proto/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_objects(const struct value *body)
{
    struct arena arena = {0};
    struct object_profile profile;
    struct object_inventory inventory;
    struct object_rack rack;
    struct object_node node;

    object_profile_unpack(&profile, body, &arena, NULL);
    object_inventory_unpack(&inventory, body, &arena, NULL);
    object_rack_unpack(&rack, body, &arena, NULL);
    object_node_unpack(&node, body, &arena, NULL);
    arena_fini(&arena);
}

static void
read_intents(const struct value *body)
{
    struct arena arena = {0};
    struct intent_rack rack;
    struct intent_node node;
    struct intent_finalizer finalizer;
    struct intent_status status;
    struct target target;
    struct result result;
    enum action action;

    intent_rack_unpack(&rack, body, &arena, NULL);
    intent_node_unpack(&node, body, &arena, NULL);
    intent_finalizer_unpack(&finalizer, body, &arena, NULL);
    intent_status_unpack(&status, body, &arena, NULL);
    intent_delete_unpack(&target, body, &arena, NULL);
    written_unpack(&action, &target, body, &arena, NULL);
    result_unpack(&result, body, &arena, NULL);
    arena_fini(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str body = {(const char *)data, n};
    bool good = check_body(body, NULL) == 0;
    struct unpacked *u = unpack_body(body, NULL);
    struct buf in = {0};
    struct frame frame;

    if (good != (u != NULL))
        abort();
    if (u != NULL) {
        read_objects(unpacked_root(u));
        read_intents(unpacked_root(u));
    }
    unpacked_free(u);
    buf_add(&in, data, n);
    if (n > 0 &&
        frame_find(&frame, &in, data[0] % ROLE_COUNT, data[n - 1] % ROLE_COUNT,
                   NULL) == 1 &&
        frame.length > n)
        abort();
    buf_fini(&in);
    return 0;
}
