/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_RENDER_JSON_H
#define PROJECTOR_RENDER_JSON_H

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"

/* What the files that change live objects share. */

/* A copy to be changed: it shares what is below metadata and status with the
 * live object.  Who wrote which field is the server's to say, so it has no
 * managedFields.  NULL and err if live has no metadata. */
json_t *render_copy(const json_t *live, struct err *err);

/* Appends the object, as compact JSON. */
void render_dump(struct buf *out, const json_t *object);

/* value is that string. */
bool render_is(const json_t *value, struct str text);

/* A string; an empty one if it is not UTF-8. */
json_t *render_string(struct str text);

#endif
