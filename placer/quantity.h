/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_QUANTITY_H
#define PLACER_QUANTITY_H

#include "common/buf.h"
#include "common/err.h"
#include "common/str.h"

/*
 * Appends the text that Kubernetes emits for the quantity written as text
 * (mokka-api 4.4), without quotes.  Blanks around it are passed by.  Exact for
 * numbers of any length; time and memory are linear in it.  -1, err and
 * nothing appended if it does not parse.
 */
int quantity_canonical(struct buf *out, struct str text, struct err *err);

#endif
