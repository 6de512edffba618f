/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_CLEANUP_H
#define COMMON_CLEANUP_H

#include <stdbool.h>

/*
 * What a Node needs so that nothing of a binding is left on it (mokka-control
 * 4.4, steps 4 to 7): for the placer, who sees the Node in the feed, and for
 * the projector, who reads it where the feed does not show it.
 *
 *  - A Node whose annotation does not name the binding is left alone.  Only
 *    labels of ours that lost their annotation belong to nobody else: they go,
 *    or the Node would count as dirty for ever (10.6).
 *  - A label with another value than the binding's is somebody else's: our
 *    labels go, and our annotation stays as evidence.
 *  - Of keys that we do not own nothing is ours to take off.
 */
struct cleanup_view {
    bool names;  /* its annotation names the binding */
    int present; /* the keys on it; sets are bits of enum projected_key */
    int wrong;   /* labels with another value than the binding's */
    int ours;    /* the keys that we own */
};

enum cleanup {
    CLEANUP_NONE,    /* it is clean */
    CLEANUP_ALL,     /* every key of ours is to be released */
    CLEANUP_LABELS,  /* all but the annotation */
    CLEANUP_BLOCKED, /* others must take their hands off first */
};

enum cleanup cleanup_judge(const struct cleanup_view *view);

#endif
