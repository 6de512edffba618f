/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_QUESTION_H
#define COMMON_QUESTION_H

#include "common/answer.h"
#include "common/worker.h"

/*
 * Answers an ASK: what every worker knows ("log LEVEL" sets its level), or what
 * is in its table of questions.  A question that nobody knows is answered, too,
 * with those that are known.  -1 and err: the message is none.
 */
int questions_ask(struct answers *answers, const struct worker_ops *ops,
                  void *state, struct chan *control, const struct message *m,
                  struct err *err);

#endif
