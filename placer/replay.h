/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_REPLAY_H
#define PLACER_REPLAY_H

#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Runs a recording (proto/recording.h) through the placer, and compares what it
 * says now with what it said then, byte for byte.  Each section starts with a
 * placer that knows nothing, as the recorded one did.
 */
enum replay_show { REPLAY_NOTHING, REPLAY_LINES, REPLAY_JSON };

enum replay_result {
    REPLAY_SAME,
    REPLAY_DIFFERS, /* err names the first difference */
    REPLAY_BAD,     /* err says what is wrong with the recording, and where */
};

struct replay_sums {
    uint64_t sections, taken, said;
    uint64_t cut; /* sections that end without an end: the placer was killed */
    uint64_t extra; /* intents said now whose like was no longer recorded */
};

/* Replays these bytes; what is said is shown on stdout, one line each. sums is
 * filled up to where it ended. */
enum replay_result replay(struct str bytes, enum replay_show show,
                          struct replay_sums *sums, struct err *err);

/* "placer --replay FILE [-o lines|json|none]": the exit status: 0 if it says
 * the same, 1 if it does not, 2 for a command line or a file that is wrong. */
int replay_command(int argc, char **argv);

#endif
