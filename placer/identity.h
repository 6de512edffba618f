/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_IDENTITY_H
#define PLACER_IDENTITY_H

#include <sha1.h>
#include <stdint.h>

#include "common/str.h"

/*
 * Names and identities (mokka-api 3.1 to 3.5).  They depend on the inventory's
 * UID, the group's id and the coordinate alone, so whoever computes them gets
 * the same, at any time.  Nothing here fails, and any text and number is
 * taken: whether they make sense is checked where they come from.
 *
 * Sizes include the NUL.
 */
#define IDENTITY_UUID 37     /* 8-4-4-4-12 */
#define IDENTITY_GPU 41      /* "GPU-" and a UUID */
#define IDENTITY_SERIAL 21   /* 20 decimal digits */
#define IDENTITY_CLIQUE 39   /* a fabric UUID, '.', clique id */
#define IDENTITY_NAME_MAX 64 /* a rack's object name */

/* The object name of a rack (3.5). */
void identity_rack_name(struct str inventory_name, struct str inventory_uid,
                        struct str group, uint32_t rack,
                        char name[IDENTITY_NAME_MAX]);

/* The fabric UUID of a rack (3.4). */
void identity_fabric(struct str inventory_uid, struct str group, uint32_t rack,
                     char fabric[IDENTITY_UUID]);

/* The value of the clique label of a rack's Nodes (3.4). */
void identity_clique(const char fabric[IDENTITY_UUID],
                     char clique[IDENTITY_CLIQUE]);

/*
 * The identities of a rack's GPUs.  What all of them have in common is
 * digested once; the struct holds no memory and may be copied.
 */
struct identity_gpus {
    SHA1_CTX uuid, serial;
};

void identity_gpus_init(struct identity_gpus *gpus, struct str inventory_uid,
                        struct str group, uint32_t rack);

/* UUID and serial of the GPU with that index in that slot (3.4). */
void identity_gpu(const struct identity_gpus *gpus, uint32_t node, uint32_t gpu,
                  char uuid[IDENTITY_GPU], char serial[IDENTITY_SERIAL]);

#endif
