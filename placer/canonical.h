/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_CANONICAL_H
#define PLACER_CANONICAL_H

#include "common/buf.h"
#include "common/err.h"

struct value;

/*
 * Appends the canonical JSON of an SGPURackProfile's spec, whose digest is the
 * profile's revision (mokka-api 4.1 to 4.3).  The tree is read as a typed
 * value: unknown members are passed by, nil is absent, a required member that
 * is absent counts as zero.
 *
 * -1 and err, which names the path from "spec" on, if a member has a wrong
 * type, an integer is outside its range, a quantity does not parse, or
 * node.topology is absent; what was appended then is to be thrown away.
 */
int canonical_profile(struct buf *out, const struct value *spec,
                      struct err *err);

#endif
