/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_SCALAR_H
#define MOKKACTL_SCALAR_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"

/*
 * What a YAML scalar means, which is what kubectl makes of it: without quotes,
 * yes, on and the like are booleans, 0x1f, 0o17, 017 and 1_000 are numbers; a
 * date is text.
 */

/* The value; tag is empty or one of YAML's own for scalars.  NULL and err if
 * the two do not agree, or if it has no form in JSON. */
json_t *scalar_value(struct str text, bool plain, struct str tag,
                     struct err *err);

/* Whether the text, written without quotes, would be read as just this text
 * again: by YAML's grammar (of whatever version) and by what it means. */
bool scalar_is_plain_text(struct str text);

#endif
