/* SPDX-License-Identifier: Apache-2.0 */
#include "common/uuid.h"

#include <stddef.h>
#include <sys/random.h>

#include "common/mem.h"

void
uuid_random(char text[UUID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    char *at = text;

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        fatal("no random bytes for a UUID");
    bytes[6] = (bytes[6] & 0x0f) | 0x40; /* version 4 */
    bytes[8] = (bytes[8] & 0x3f) | 0x80; /* the variant of RFC 9562 */
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at = '\0';
}
