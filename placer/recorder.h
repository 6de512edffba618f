/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_RECORDER_H
#define PLACER_RECORDER_H

#include <stdbool.h>

#include "placer/input.h"

/*
 * Writes what the placer takes and says to a descriptor (proto/recording.h).  A
 * zeroed one records nothing, and costs nothing.
 *
 * What is taken is written before it is acted on, so that what made the placer
 * die is in the recording.  When the file has reached its limit, or cannot be
 * written, that is said once in the log and, if possible, in the file; then
 * recording is over, and nothing else happens.
 */
struct recorder {
    bool on;
    bool begun; /* the section is in the file */
    int fd;
    int64_t size;  /* of the file, up to the last record that is whole */
    int64_t limit; /* of the file, in bytes */
    struct buf waiting;
    char why[64]; /* not on: why no more */
};

/* Takes over fd, and begins a section after what is there already. */
void recorder_begin(struct recorder *r, int fd, int64_t limit,
                    uint64_t generation, int64_t variant);

/* To be called before it is applied. */
void recorder_take(struct recorder *r, const struct input *in);

/* A frame that the placer says to the projector. */
void recorder_say(struct recorder *r, uint16_t type, uint32_t id,
                  struct str body);

/* Writes out what waits: to be called when an input has been dealt with. */
void recorder_flush(struct recorder *r);

/* Ends the section, and recording: all that was said is there. Nothing happens
 * if it does not record. */
void recorder_end(struct recorder *r, const char *reason);

/* Ends it as the placer ends. */
void recorder_fini(struct recorder *r);

#endif
