/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_TASK_RUN_H
#define TESTS_UNIT_TASK_RUN_H

/*
 * For tests only: runs a task of the projector through the exchanges that a
 * table expects, and looks at how it ends.  Include after cmocka.h.
 */
#include <stdlib.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/kube/http.h"
#include "common/kube/meta.h"
#include "common/mem.h"
#include "projector/task.h"
#include "proto/frame.h"
#include "proto/unpack.h"

#define UNUSED __attribute__((unused))

#define RACKS "/apis/mokka.nvidia.com/v1alpha1/sgpuracks"
#define INVENTORY "/apis/mokka.nvidia.com/v1alpha1/sgpuinventories/i"
#define NODE "/api/v1/nodes/n"
#define MANAGER "?fieldManager=mokka-controller"

/* Bodies of answers. */
#define OBJECT "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"9\"}}"
#define STATUS(reason, details)                                                \
    "{\"kind\":\"Status\",\"reason\":\"" reason                                \
    "\",\"message\":\"text\",\"details\":{" details "}}"
#define CONFLICT STATUS("Conflict", "")

/* An exchange that is expected: the request, and the answer given to it. */
struct exchange {
    const char *request; /* method and path */
    int status;
    const char *body; /* NULL: the next of the answers in protobuf */
};

/* How a task is expected to end. */
struct ending {
    enum verdict verdict;
    enum outcome outcome;
    const char *version, *reason; /* reason: a part of it */
};

static UNUSED struct order *
order_of(uint16_t type, struct buf *body)
{
    struct err err = {0};
    struct unpacked *u = unpack_body(buf_str(body), &err);
    struct order *order = order_new(type, 1, unpacked_root(u), &err);

    assert_non_null(order);
    unpacked_free(u);
    buf_fini(body);
    return order;
}

static UNUSED enum task_move
give(struct task *t, const struct exchange *x, struct str body,
     const char *content_type)
{
    const struct task_request *request = task_request(t);
    char *line = mem_printf("%s %s", request->method, request->path);
    const struct kube_response response = {
        .status = x->status,
        .body = body,
        .content_type = content_type,
        .method = request->method,
        .url = request->path,
    };
    enum task_move move;

    assert_string_equal(line, x->request);
    assert_int_equal(request->mutates, strncmp(line, "GET", 3) != 0);
    move = task_answered(t, &response, 0);
    free(line);
    return move;
}

/* Runs the order through the exchanges, up to one without a request. kept: as
 * an earlier attempt said. */
static UNUSED struct task *
run_again(struct order *order, const struct exchange *x,
          const struct ending *ending, const struct str *answers, bool kept)
{
    struct task *t = task_new(order, kept);
    enum task_move move = task_begin(t);
    const struct answer *a;

    free(order);
    for (; x->request != NULL; x++) {
        assert_int_equal(move, TASK_SEND);
        if (x->body != NULL)
            move = give(t, x, str_of(x->body), "application/json");
        else
            move = give(t, x, *answers++, KUBE_PROTOBUF);
    }
    assert_int_equal(move, TASK_END);
    a = task_answer(t);
    assert_int_equal(a->verdict, ending->verdict);
    if (a->verdict == VERDICT_ENDED)
        assert_int_equal(a->outcome, ending->outcome);
    if (ending->version != NULL)
        assert_true(str_is(a->version, ending->version));
    if (ending->reason != NULL && strstr(a->reason.s, ending->reason) == NULL)
        fail_msg("reason is: %s", a->reason.s);
    return t;
}

static UNUSED struct task *
run(struct order *order, const struct exchange *x, const struct ending *ending)
{
    return run_again(order, x, ending, NULL, false);
}

static UNUSED void
check(struct order *order, const struct exchange *x,
      const struct ending *ending)
{
    task_free(run(order, x, ending));
}

#define DONE(version)                                                          \
    {                                                                          \
        VERDICT_ENDED, OUTCOME_DONE, version, NULL                             \
    }
#define ENDS(outcome)                                                          \
    {                                                                          \
        VERDICT_ENDED, OUTCOME_##outcome, NULL, NULL                           \
    }
#define FAILS                                                                  \
    {                                                                          \
        VERDICT_FAILED, 0, NULL, NULL                                          \
    }

#endif
