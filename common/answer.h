/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_ANSWER_H
#define COMMON_ANSWER_H

#include "common/buf.h"
#include "common/chan.h"

/*
 * Answers of a worker to what people ask (PROTOCOL.md, Questions): each is sent
 * in pieces, the next one when the supervisor says GO_ON, so that whoever reads
 * slowly costs nobody but this list anything.  A zeroed struct is an empty
 * list.
 */
struct answer;

struct answers {
    struct answer *first;
};

/* Sends the first piece of a text to the supervisor, and keeps the rest; takes
 * over what is in text. ok false: the text says why there is no answer. */
void answers_give(struct answers *list, struct chan *control, uint32_t id,
                  bool ok, struct buf *text);

/* The next piece of that answer, if there is one. */
void answers_more(struct answers *list, struct chan *control, uint32_t id);

/* Nobody waits for the rest of it. */
void answers_forget(struct answers *list, uint32_t id);

void answers_fini(struct answers *list);

#endif
