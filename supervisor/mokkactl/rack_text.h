/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_RACK_TEXT_H
#define MOKKACTL_RACK_TEXT_H

#include <stdbool.h>

#include "common/arena.h"
#include "proto/object.h"

/*
 * What the informer extracts of a rack's spec, read straight from the text that
 * the placer renders (placer/rack.h), which takes a tenth of the time.  For
 * specs that are known to be valid.  false if the text has another form in
 * any way: it must then be parsed.  Views are borrowed from the text and the
 * arena.
 */
bool rack_text_read(struct object_rack *rack, struct str spec,
                    struct arena *arena);

#endif
