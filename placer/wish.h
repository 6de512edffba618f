/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_WISH_H
#define PLACER_WISH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/map.h"
#include "proto/intent.h"

/*
 * What the placer has asked the projector for, one wish for each action and
 * object, from the moment it is sent until the feed shows it fulfilled.  It
 * keeps a wish from being said twice, and bounds how many of each action are
 * open and how large they are together: whoever carries them out keeps them
 * all.  One that rests, since its object refuses it again and again, takes no
 * room: it may stay so for ever, and others are not to wait for it.  So may
 * WISH_RESTING of them; where a server refuses more for good, others do wait.
 *
 * Only a fingerprint of a wish is kept: after the projector's death whoever
 * made it makes it again from the model.
 */
#define WISH_LIMIT 2048       /* of an action without a result, at most */
#define WISH_BYTES (8u << 20) /* of their bodies; one may be larger */
#define WISH_RESTING (4 * WISH_LIMIT)

/* The open wishes of an action that do not rest. */
struct wish_load {
    unsigned count;
    size_t bytes; /* of their bodies */
};

struct wishes {
    struct map by_key;
    uint32_t next_id;
    struct sip seeds[2]; /* of fingerprints; set with the first wish */
    unsigned open;       /* without a result, of all actions */
    struct wish_load loads[ACTION_COUNT];
    unsigned resting; /* of the open ones, of all actions */
    bool wary;   /* the model may be outdated: only what does no harm then is
                    said */
    bool missed; /* something was not, for that reason */
    /* Where frames go. */
    void (*send)(void *arg, uint16_t type, uint32_t id, struct str body);
    void *arg;
};

enum wish_state {
    WISH_NONE,    /* nothing asked */
    WISH_OPEN,    /* asked, no result yet */
    WISH_LOST,    /* asked, and no result will come: carried out, or not */
    WISH_DONE,    /* carried out; the feed may not show it yet */
    WISH_REFUSED, /* no use to ask again until the object changes */
};

/* A wish as others may read it; texts live until the wish changes. */
struct wish {
    enum wish_state state;
    enum outcome outcome; /* with a result */
    uint16_t type;        /* of its message */
    const char *basis;    /* the version it was made from */
    const char *version;  /* DONE: since which resourceVersion it stands;
                           * REFUSED: of the object then, "" if not told */
    const char *reason;   /* REFUSED: why */
};

/*
 * Wants this: body (of a message of that type) is sent unless it was said
 * already and nothing has changed since.  basis is the object's version that
 * the body was made from, "" for an object that is to be created.
 * false: too many of the action are open, ask again after a result; or wary,
 * and something was missed.
 */
bool wish_want(struct wishes *w, enum action action, struct str name,
               struct str basis, uint16_t type, struct str body);

/*
 * The same, where a body holds more than what is wanted, the version of its
 * object say: while a wish of the same essence is open it is not said again,
 * since its result will bring up what remains to be done.
 */
bool wish_want_essence(struct wishes *w, enum action action, struct str name,
                       struct str basis, uint16_t type, struct str body,
                       struct str essence);

/* Wants nothing (any more); a standing wish is withdrawn. */
void wish_drop(struct wishes *w, enum action action, struct str name);

/* Whether so much room has come free for an action that it is worth asking
 * again. */
bool wish_has_room(const struct wishes *w, enum action action);

/* How the wish stands. */
struct wish wish_look(const struct wishes *w, enum action action,
                      struct str name);

/* Calls visit for each wish that stands. */
void wish_each(const struct wishes *w,
               void (*visit)(void *arg, enum action action, const char *name,
                             const struct wish *wish),
               void *arg);

/* Takes a result; true if it answers the wish that stands. */
bool wish_result(struct wishes *w, uint32_t id, const struct result *r);

/* It is tried again, but seldom, for its object's sake; true if that is the
 * wish that stands. */
bool wish_rest(struct wishes *w, uint32_t id, enum action action,
               struct str name);

/* What a predecessor asked for, whatever it was: carried out, or lost if there
 * is no version. Its type is 0. */
void wish_written(struct wishes *w, enum action action, struct str name,
                  struct str version);

/* No result will come for what is open: it is lost.  With refused (the term is
 * over, others may have led), so is what was refused. */
void wish_lose(struct wishes *w, bool refused);

void wish_fini(struct wishes *w);

#endif
