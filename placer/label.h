/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_LABEL_H
#define PLACER_LABEL_H

#include <stdbool.h>

#include "common/str.h"

/* The syntax of names and labels (mokka-api 6.1, 6.2). Lengths are bytes. */

/* [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 bytes. */
bool label_dns(struct str text);

/* An optional DNS subdomain of 1 to 253 bytes with '/', then 1 to 63 bytes of
 * ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]. */
bool label_key(struct str text);

/* Empty, or at most 63 bytes of the same name syntax. */
bool label_value(struct str text);

#endif
