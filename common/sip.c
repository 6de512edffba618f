/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sip.h"

#include <string.h>
#include <sys/random.h>

#include "common/mem.h"

struct sip
sip_seed(void)
{
    struct sip seed;

    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        fatal("the system gives no random bytes");
    return seed;
}

static inline uint64_t
rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline void
sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline void
take_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

uint64_t
sip_hash(const struct sip *seed, const void *bytes, size_t n)
{
    const char *at = bytes;
    uint64_t v[4] = {
        seed->key[0] ^ UINT64_C(0x736f6d6570736575),
        seed->key[1] ^ UINT64_C(0x646f72616e646f6d),
        seed->key[0] ^ UINT64_C(0x6c7967656e657261),
        seed->key[1] ^ UINT64_C(0x7465646279746573),
    };
    uint64_t word;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        memcpy(&word, at + i, 8);
        take_word(v, word);
    }
    word = (uint64_t)n << 56;
    if (n > i)
        memcpy(&word, at + i, n - i);
    take_word(v, word);
    v[2] ^= 0xff;
    for (int j = 0; j < 3; j++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
