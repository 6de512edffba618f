/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/mem.h"
#include "proto/object.h"

#define LABELS (KEY_ASSIGNED | KEY_CLIQUE)

/* 4.4 steps 4 to 7. */
static void
test_4_4_what_a_node_needs(void **state)
{
    static const struct {
        struct cleanup_view view;
        enum cleanup wanted;
    } rows[] = {
        /* Step 4: absent, undecodable, another binding's. */
        {{false, 0, 0, 0}, CLEANUP_NONE},
        {{false, LABELS, 0, 0}, CLEANUP_NONE},
        {{false, KEY_ANNOTATION, 0, KEY_ALL}, CLEANUP_NONE},
        {{false, KEY_ALL, LABELS, KEY_ALL}, CLEANUP_NONE},
        /* Labels of ours without an annotation are nobody else's. */
        {{false, LABELS, 0, LABELS}, CLEANUP_ALL},
        {{false, LABELS, KEY_CLIQUE, KEY_ASSIGNED}, CLEANUP_ALL},
        /* Step 6. */
        {{true, KEY_ALL, 0, KEY_ALL}, CLEANUP_ALL},
        {{true, KEY_ALL, 0, KEY_ASSIGNED}, CLEANUP_ALL},
        {{true, KEY_ANNOTATION, 0, KEY_ANNOTATION}, CLEANUP_ALL},
        {{true, KEY_ALL, KEY_CLIQUE, KEY_ALL}, CLEANUP_LABELS},
        {{true, KEY_ALL, KEY_CLIQUE, KEY_ASSIGNED | KEY_ANNOTATION},
         CLEANUP_LABELS},
        /* The annotation is not ours to keep. */
        {{true, KEY_ALL, KEY_CLIQUE, KEY_ASSIGNED}, CLEANUP_ALL},
        /* Step 7: none of those that would go is ours. */
        {{true, KEY_ALL, 0, 0}, CLEANUP_BLOCKED},
        {{true, KEY_ALL, KEY_CLIQUE, 0}, CLEANUP_BLOCKED},
        {{true, KEY_ALL, KEY_CLIQUE, KEY_ANNOTATION}, CLEANUP_BLOCKED},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        if (cleanup_judge(&rows[i].view) != rows[i].wanted)
            fail_msg("row %zu", i);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_4_4_what_a_node_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
