/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_UUID_H
#define COMMON_UUID_H

#define UUID_TEXT 37 /* 36 characters and the NUL */

/* Writes a random UUID (version 4) in its usual lower-case form to text. */
void uuid_random(char text[UUID_TEXT]);

#endif
