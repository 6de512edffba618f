/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_FATE_H
#define PLACER_FATE_H

#include "placer/plan.h"
#include "placer/release.h"

/* What a plan has in mind with a rack that stands and is ours (mokka-api 7.6
 * and 9.6). */
enum fate {
    FATE_STANDS, /* it is one of those that are to be */
    FATE_GOES,   /* retired: it gives up all its slots, and goes */
    FATE_LEFT,   /* as it is: its inventory or group takes no part now */
};

/* Sets *why where it goes. */
enum fate fate_of(const struct plan *plan, const struct object_rack *rack,
                  enum release *why);

#endif
