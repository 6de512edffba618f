/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_RECORDING_H
#define SUPERVISOR_RECORDING_H

#include "common/err.h"

/*
 * The file of --record or mokkactl record.  Whoever was given its name opens it
 * once; the supervisor grants it to each start of the placer, which writes
 * (proto/recording.h) and opens nothing.
 *
 * Only the owner may read it; what was recorded there before is gone, but a
 * file that is no recording is left alone.  It is locked, so that no second
 * control plane records there.  The descriptor; -1 and err, and nothing
 * changed.
 */
int recording_open(const char *path, struct err *err);

#endif
