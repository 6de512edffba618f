/* SPDX-License-Identifier: Apache-2.0 */
#include "common/question.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "proto/unpack.h"

/* A question has at most so many arguments. */
#define ARGUMENTS 4

static int
set_log_level(const struct str *arguments, struct buf *out, struct err *err)
{
    char *name = mem_dup(arguments[0].s, arguments[0].n);
    enum log_level level;
    bool ok = name[0] != '\0' && log_level_parse(name, &level);

    if (ok) {
        log_set_level(level);
        log_info("log level set", F_STR("level", name));
        buf_printf(out, "log level %s\n", name);
    } else {
        err_set(err, "log level %s: must be debug, info, warn or error", name);
    }
    free(name);
    return ok ? 0 : -1;
}

static void
name_questions(const struct worker_ops *ops, struct buf *out)
{
    buf_addz(out, "log");
    for (size_t i = 0; i < ops->question_count; i++)
        buf_printf(out, ", %s", ops->questions[i].name);
}

static int
answer(const struct worker_ops *ops, void *state, struct str name,
       const struct str *arguments, size_t count, struct buf *out,
       struct err *err)
{
    struct buf known = {0};

    if (str_is(name, "log") && count == 1)
        return set_log_level(arguments, out, err);
    for (size_t i = 0; i < ops->question_count; i++) {
        const struct worker_question *q = &ops->questions[i];

        if (str_is(name, q->name) && q->arguments == count)
            return q->answer(state, arguments, out, err);
    }
    name_questions(ops, &known);
    err_set(err,
            "%s has no answer to \"%.*s\" with %zu arguments; it knows %.*s",
            role_name(ops->role), (int)(name.n < 64 ? name.n : 64), name.s,
            count, (int)known.len, buf_bytes(&known));
    buf_fini(&known);
    return -1;
}

int
questions_ask(struct answers *answers, const struct worker_ops *ops,
              void *state, struct chan *control, const struct message *m,
              struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    struct str name = unpack_str(&u);
    const struct value *list = unpack_array(&u);
    struct str arguments[ARGUMENTS];
    struct buf text = {0};
    struct err why;
    bool ok;

    if (unpack_end(&u, err) != 0)
        return -1;
    if (value_count(list) > ARGUMENTS)
        return err_set(err, "%zu arguments", value_count(list));
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_str(value_at(list, i), &arguments[i]))
            return err_set(err, "argument %zu is no text", i);
    ok = answer(ops, state, name, arguments, value_count(list), &text, &why) ==
         0;
    if (!ok) {
        buf_clear(&text);
        buf_addz(&text, why.text);
    }
    answers_give(answers, control, m->id, ok, &text);
    buf_fini(&text);
    return 0;
}
