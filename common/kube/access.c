/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/access.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/kube/http.h"
#include "common/kube/json.h"
#include "common/log.h"
#include "common/mem.h"

#define PATH "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define TIMEOUT (10 * CLOCK_SECOND)

/* All again, while something is missing. */
#define AGAIN (10 * CLOCK_SECOND)

/* A question without an answer: the first wait, and the longest. */
#define FIRST_WAIT CLOCK_SECOND
#define LONGEST_WAIT (30 * CLOCK_SECOND)

struct kube_access {
    const struct kube_right *rights;
    size_t count;
    void (*told)(void *arg, const char *missing);
    void *arg;
    struct kube_client *client;
    struct event *timer; /* the next question is due */
    size_t right;        /* the question: which, */
    const char *verb;    /* and the rest of its verbs */
    struct buf missing;  /* of this round */
    bool named;          /* the right is among them */
    char *last;          /* of the round before */
    int64_t wait;        /* after the last question that had no answer */
    bool over;           /* nothing is left to be asked, ever */
};

static void ask(struct kube_access *access);

static struct str
first_verb(const char *verbs)
{
    return (struct str){verbs, strcspn(verbs, " ")};
}

/* --- the question --- */

static void
add_member(struct buf *out, const char *key, struct str value)
{
    if (value.n == 0)
        return;
    if (buf_str(out).s[out->len - 1] != '{')
        buf_addc(out, ',');
    buf_printf(out, "\"%s\":", key);
    json_text_string(out, value);
}

static struct str
text_of(const char *text)
{
    return text == NULL ? STR("") : str_of(text);
}

static void
add_question(struct buf *out, const struct kube_right *right, struct str verb)
{
    buf_addz(out, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
                  "\"SelfSubjectAccessReview\",\"spec\":{"
                  "\"resourceAttributes\":{");
    add_member(out, "verb", verb);
    add_member(out, "group", text_of(right->group));
    add_member(out, "resource", text_of(right->resource));
    add_member(out, "subresource", text_of(right->subresource));
    add_member(out, "namespace", text_of(right->namespace));
    add_member(out, "name", text_of(right->name));
    buf_addz(out, "}}}");
}

/* --- what came of it --- */

static void
wait_for(struct kube_access *access, int64_t wait)
{
    struct timeval tv = {wait / CLOCK_SECOND, wait % CLOCK_SECOND / 1000};

    evtimer_add(access->timer, &tv);
}

/* The connection is not needed any more; it ends from the loop. */
static void
finish(struct kube_access *access)
{
    access->over = true;
    wait_for(access, 0);
}

static void
begin_round(struct kube_access *access)
{
    access->right = 0;
    access->verb = access->rights[0].verbs;
    access->named = false;
    buf_clear(&access->missing);
}

/* Adds to the line; verbs of one right stand together. */
static void
add_missing(struct kube_access *access)
{
    struct buf *line = &access->missing;
    struct str verb = first_verb(access->verb);

    if (access->named)
        buf_addz(line, ", ");
    else
        buf_addz(line, line->len == 0 ? "not allowed: " : "; ");
    buf_adds(line, verb);
    access->named = true;
}

static void
end_right(struct kube_access *access)
{
    const struct kube_right *right = &access->rights[access->right];
    struct buf *line = &access->missing;

    if (!access->named)
        return;
    access->named = false;
    buf_printf(line, " on %s", right->resource);
    if (right->group[0] != '\0')
        buf_printf(line, ".%s", right->group);
    if (right->subresource != NULL)
        buf_printf(line, "/%s", right->subresource);
    if (right->namespace != NULL)
        buf_printf(line, " in namespace %s", right->namespace);
}

/* Takes line over. */
static void
set_missing(struct kube_access *access, char *line)
{
    bool news = strcmp(line, access->last) != 0;

    free(access->last);
    access->last = line;
    if (!news)
        return;
    if (line[0] != '\0')
        log_warn("access is missing", F_STR("missing", line));
    else
        log_info("no access is missing any more");
    access->told(access->arg, line);
}

/* All verbs of all rights were asked for. */
static void
end_round(struct kube_access *access)
{
    bool complete = access->missing.len == 0;

    if (!complete)
        buf_addz(&access->missing, "; grant it to this identity");
    set_missing(access, buf_take(&access->missing));
    begin_round(access);
    if (complete)
        finish(access);
    else
        wait_for(access, AGAIN);
}

static void
next_question(struct kube_access *access)
{
    access->verb += first_verb(access->verb).n;
    access->verb += strspn(access->verb, " ");
    if (*access->verb == '\0') {
        end_right(access);
        if (++access->right == access->count) {
            end_round(access);
            return;
        }
        access->verb = access->rights[access->right].verbs;
    }
    ask(access);
}

/* Whether the server says yes; -1 if it says nothing. */
static int
read_answer(const struct kube_response *response, struct err *err)
{
    json_t *root = kube_json_parse(response->body, err);
    bool allowed = false;
    int rc = -1;

    if (root != NULL)
        rc = kube_json_bool(root, "status.allowed", &allowed, err);
    json_decref(root);
    if (rc == 0)
        err_set(err, "the answer does not say whether it is allowed");
    return rc <= 0 ? -1 : allowed;
}

/* Refusals that may pass. */
static bool
is_passing(int status)
{
    return status == 0 || status == 401 || status == 408 || status == 429 ||
           status >= 500;
}

static void
ask_later(struct kube_access *access, int64_t least)
{
    access->wait = access->wait == 0 ? FIRST_WAIT : access->wait * 2;
    if (access->wait > LONGEST_WAIT)
        access->wait = LONGEST_WAIT;
    wait_for(access, least > access->wait ? least : access->wait);
}

static void
on_answer(void *arg, const struct kube_response *response)
{
    struct kube_access *access = arg;
    struct err err;
    int allowed;

    if (is_passing(response->status)) {
        ask_later(access, response->retry_after);
        return;
    }
    access->wait = 0;
    allowed = read_answer(response, &err);
    if (response->status >= 300 || allowed < 0) {
        log_info("the API server does not say what is allowed",
                 F_INT("status", response->status));
        set_missing(access, mem_strdup(""));
        finish(access);
        return;
    }
    if (!allowed)
        add_missing(access);
    next_question(access);
}

static void
ask(struct kube_access *access)
{
    struct buf body = {0};
    struct kube_request request = {
        .method = "POST",
        .path = PATH,
        .timeout = TIMEOUT,
        .done = on_answer,
        .arg = access,
    };

    add_question(&body, &access->rights[access->right],
                 first_verb(access->verb));
    request.body = buf_str(&body);
    kube_send(access->client, &request);
    buf_fini(&body);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct kube_access *access = arg;

    (void)fd;
    (void)what;
    if (!access->over) {
        ask(access);
        return;
    }
    kube_client_free(access->client);
    access->client = NULL;
}

struct kube_access *
kube_access_new(struct event_base *base, const struct kube_config *config,
                const struct kube_right *rights, size_t count,
                void (*told)(void *arg, const char *missing), void *arg,
                struct err *err)
{
    struct kube_client *client = kube_client_new(base, config, err);
    struct kube_access *access;

    if (client == NULL)
        return NULL;
    access = mem_zalloc(sizeof(*access));
    *access = (struct kube_access){
        .rights = rights,
        .count = count,
        .told = told,
        .arg = arg,
        .client = client,
        .last = mem_strdup(""),
    };
    access->timer = evtimer_new(base, on_timer, access);
    if (access->timer == NULL)
        fatal("out of memory (timer)");
    begin_round(access);
    ask(access);
    return access;
}

void
kube_access_free(struct kube_access *access)
{
    if (access == NULL)
        return;
    kube_client_free(access->client);
    event_free(access->timer);
    buf_fini(&access->missing);
    free(access->last);
    free(access);
}
