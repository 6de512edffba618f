/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_SAY_H
#define PROJECTOR_SAY_H

#include <stdbool.h>

struct answer;
struct task_facts;

/* One log line about how an attempt at an intent ended: at info what changed
 * the cluster, at warn and error what needs a person, at debug the rest.
 * known: this very failure was told before. */
void say_answer(const struct task_facts *facts, const struct answer *answer,
                bool known);

/* The same was carried out so many times in a row: somebody changes it. */
void say_contested(const struct task_facts *facts, unsigned times);

#endif
