/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_SIP_H
#define COMMON_SIP_H

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-1-3: a hash that nobody can aim at who does not know the seed.  Not
 * for anything that is stored or sent: each run has its own seed.
 */
struct sip {
    uint64_t key[2];
};

/* A random seed; a system that has none to give ends the process. */
struct sip sip_seed(void);

uint64_t sip_hash(const struct sip *seed, const void *bytes, size_t n);

#endif
