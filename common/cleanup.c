/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cleanup.h"

#include "proto/object.h"

enum cleanup
cleanup_judge(const struct cleanup_view *view)
{
    int labels = view->ours & (KEY_ASSIGNED | KEY_CLIQUE);

    if (!view->names)
        return (view->present & KEY_ANNOTATION) == 0 && view->ours != 0
                   ? CLEANUP_ALL
                   : CLEANUP_NONE;
    if (view->wrong != 0 && labels == 0)
        return CLEANUP_BLOCKED;
    if (view->wrong != 0 && (view->ours & KEY_ANNOTATION) != 0)
        return CLEANUP_LABELS;
    return view->ours != 0 ? CLEANUP_ALL : CLEANUP_BLOCKED;
}
