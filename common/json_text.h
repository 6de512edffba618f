/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include "common/buf.h"
#include "common/str.h"

/*
 * Appends text as a JSON string, quotes included, escaped as Go's encoder does
 * (the revision of a profile is a digest of such text, so every byte counts):
 * quote and backslash, \b \f \n \r \t, other control characters, < > & and
 * U+2028, U+2029 as lower-case \u00xx; a byte that is not UTF-8 as \ufffd.
 * Used for canonical texts, request bodies and log lines alike.
 */
void json_text_string(struct buf *out, struct str text);

#endif
