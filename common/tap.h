/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_TAP_H
#define COMMON_TAP_H

#include "common/chan.h"

/*
 * One link of a worker, listened to: while it is on, each frame goes to the
 * supervisor as a line of JSON too.  It never slows the worker: what the
 * control link has no room for is counted and told with the next line.
 */
struct tap {
    bool on;
    int64_t lost; /* since the last one that was told */
};

/* A frame passed between this worker and peer. */
void tap_frame(struct tap *tap, struct chan *control, enum role peer, bool out,
               uint16_t type, uint32_t id, struct str body);

#endif
