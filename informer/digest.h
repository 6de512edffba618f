/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_DIGEST_H
#define INFORMER_DIGEST_H

#include "informer/reader.h"

/*
 * The digest of a rack's spec without its bindings: SHA-256, in hex, of the
 * spec as JSON in one fixed form.  Members in this order, none left out but
 * nodeRef, which always is:
 *
 *     spec      inventoryRef, profileRef, identity, nodes
 *     refs      name, uid (and generation, revision for the profile)
 *     identity  rackGroup, rackIndex, fabricUUID, cliqueID
 *     node      index, gpus
 *     GPU       index, uuid, serial, minorNumber, pciAddress, rootComplex,
 *               numaNode, hostProcessorIndex
 *
 * Lists in their stored order, no white space, texts as json_text_string
 * writes them.  The placer digests its own rendering alike and compares.
 */

/* The digest of the rack that r reads, in r's arena. */
struct str digest_rack(struct reader *r);

/* The text that is digested, appended to out. */
void digest_rack_text(struct buf *out, struct reader *r);

#endif
