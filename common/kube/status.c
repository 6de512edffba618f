/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/status.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/http.h"
#include "common/kube/json.h"
#include "common/kube/protobuf.h"
#include "common/mem.h"

#define LINE_MAX_BYTES 256 /* of a message that is no Status */
/* What was tried, and the server's message, in a line about an answer. */
#define WHAT_MAX 180
#define MESSAGE_MAX 240

static void
add_cause(struct kube_status *status, const struct kube_cause *cause)
{
    status->total_causes++;
    if (status->n_causes < KUBE_CAUSES) {
        status->causes[status->n_causes++] = *cause;
        return;
    }
    free(cause->type);
    free(cause->message);
    free(cause->field);
}

static int64_t
bounded_wait(int64_t seconds)
{
    if (seconds < 0)
        return 0;
    return (seconds > KUBE_RETRY_AFTER_MAX ? KUBE_RETRY_AFTER_MAX : seconds) *
           CLOCK_SECOND;
}

static void
fill_causes(struct kube_status *status, const json_t *object)
{
    json_t *causes = kube_json_at(object, "details.causes");
    json_t *cause;
    size_t i;

    json_array_foreach(causes, i, cause)
    {
        struct kube_cause copy = {
            .type = mem_strdup(kube_json_text(cause, "reason")),
            .message = mem_strdup(kube_json_text(cause, "message")),
            .field = mem_strdup(kube_json_text(cause, "field")),
        };

        add_cause(status, &copy);
    }
}

int
kube_status_json(struct kube_status *status, const struct json_t *object,
                 struct err *err)
{
    int64_t code = 0, seconds = 0;

    *status = (struct kube_status){0};
    if (strcmp(kube_json_text(object, "kind"), "Status") != 0)
        return err_set(err, "not a Status, but kind \"%.64s\"",
                       kube_json_text(object, "kind"));
    kube_json_int(object, "code", 0, 999, &code, NULL);
    kube_json_int(object, "details.retryAfterSeconds", 0, INT32_MAX, &seconds,
                  NULL);
    status->code = (int)code;
    status->reason = mem_strdup(kube_json_text(object, "reason"));
    status->message = mem_strdup(kube_json_text(object, "message"));
    status->retry_after = bounded_wait(seconds);
    fill_causes(status, object);
    return 0;
}

static char *
copy_str(struct str text)
{
    return mem_dup(text.s, text.n);
}

/* StatusCause: 1 reason, 2 message, 3 field. */
static int
read_cause(struct kube_status *status, struct str wire, struct err *err)
{
    struct str texts[4] = {STR(""), STR(""), STR(""), STR("")};
    struct pb_reader reader = pb_reader(wire);
    struct kube_cause copy;
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0)
        if (field.type == PB_BYTES && field.number < nitems(texts))
            texts[field.number] = field.bytes;
    if (more < 0)
        return -1;
    copy = (struct kube_cause){copy_str(texts[1]), copy_str(texts[2]),
                               copy_str(texts[3])};
    add_cause(status, &copy);
    return 0;
}

/* StatusDetails: 4 causes, 5 retryAfterSeconds. */
static int
read_details(struct kube_status *status, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0) {
        if (pb_is_bytes(&field, 4) && read_cause(status, field.bytes, err) < 0)
            return -1;
        if (pb_is_varint(&field, 5))
            status->retry_after = bounded_wait((int32_t)field.value);
    }
    return more;
}

/* Status: 3 message, 4 reason, 5 details, 6 code. */
static int
read_status(struct kube_status *status, struct str wire, struct err *err)
{
    struct str message = STR(""), reason = STR("");
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0) {
        if (pb_is_bytes(&field, 3))
            message = field.bytes;
        else if (pb_is_bytes(&field, 4))
            reason = field.bytes;
        else if (pb_is_varint(&field, 6) && field.value < 1000)
            status->code = (int)field.value;
        else if (pb_is_bytes(&field, 5) &&
                 read_details(status, field.bytes, err) < 0)
            return -1;
    }
    status->message = copy_str(message);
    status->reason = copy_str(reason);
    return more;
}

int
kube_status_protobuf(struct kube_status *status, struct str wire,
                     struct err *err)
{
    *status = (struct kube_status){0};
    if (read_status(status, wire, err) == 0)
        return 0;
    kube_status_fini(status);
    return err_prefix(err, "a Status in protobuf");
}

/* The first line of some text, what cannot be printed left out. */
static char *
first_line(struct str body)
{
    char line[LINE_MAX_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < body.n && n < sizeof(line) - 1; i++) {
        if (body.s[i] == '\n' && n > 0)
            break;
        if (body.s[i] >= ' ' && body.s[i] < 0x7f)
            line[n++] = body.s[i];
    }
    return mem_dup(line, n);
}

void
kube_status_read(struct kube_status *status,
                 const struct kube_response *response)
{
    json_t *object = kube_json_parse(response->body, NULL);

    if (object == NULL || kube_status_json(status, object, NULL) < 0)
        *status = (struct kube_status){
            .reason = mem_strdup(""),
            .message = first_line(response->body),
        };
    json_decref(object);
    if (status->code == 0)
        status->code = response->status;
    if (response->retry_after > status->retry_after)
        status->retry_after = response->retry_after;
}

bool
kube_not_found(const struct kube_response *response)
{
    struct kube_status status;
    bool yes;

    if (response->status != 404)
        return false;
    kube_status_read(&status, response);
    yes = strcmp(status.reason, "NotFound") == 0;
    kube_status_fini(&status);
    return yes;
}

void
kube_status_fini(struct kube_status *status)
{
    for (size_t i = 0; i < status->n_causes; i++) {
        free(status->causes[i].type);
        free(status->causes[i].message);
        free(status->causes[i].field);
    }
    free(status->reason);
    free(status->message);
    *status = (struct kube_status){0};
}

bool
kube_status_has(const struct kube_status *status, const char *type)
{
    for (size_t i = 0; i < status->n_causes; i++)
        if (strcmp(status->causes[i].type, type) == 0)
            return true;
    return false;
}

static bool
reason_is(const struct kube_status *status, const char *reason)
{
    return status->reason != NULL && strcmp(status->reason, reason) == 0;
}

bool
kube_status_expired(const struct kube_status *status)
{
    return status->code == 410 || reason_is(status, "Expired") ||
           reason_is(status, "Gone");
}

bool
kube_status_too_new(const struct kube_status *status)
{
    return kube_status_has(status, "ResourceVersionTooLarge") ||
           (status->message != NULL &&
            strstr(status->message, "Too large resource version") != NULL);
}

/* What the HTTP statuses that an API server sends are called. */
static const char *
status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {
        {301, "Moved"},
        {302, "Found"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Invalid"},
        {429, "Too Many Requests"},
        {500, "Internal Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };

    for (size_t i = 0; i < nitems(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return "";
}

/* What to do about an answer, where that is no riddle. */
static const char *
remedy(int status)
{
    switch (status) {
    case 301:
    case 302:
        return "; redirects are not followed: check the server's URL";
    case 401:
        return "; check the token or client certificate";
    default:
        return "";
    }
}

/* A copy of text on one line, cut before the character that exceeds size. */
static void
one_line(char *line, size_t size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size)
        for (n = size - 1; n > 0 && (text[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        line[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    line[n] = '\0';
}

static int
describe_status(const struct kube_response *response, const char *what,
                struct err *err)
{
    const char *name = status_name(response->status);
    struct kube_status status;
    char message[MESSAGE_MAX];

    kube_status_read(&status, response);
    one_line(message, sizeof(message), status.message);
    kube_status_fini(&status);
    return err_set(err, "%s: %d%s%s%s%s%s", what, response->status,
                   *name == '\0' ? "" : " ", name, *message == '\0' ? "" : ": ",
                   message, remedy(response->status));
}

/* The path in a URL: what its messages begin with names the server already. */
static const char *
path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host == NULL ? NULL : strchr(host + 3, '/');

    return path == NULL ? url : path;
}

int
kube_describe(const struct kube_response *response, const char *what,
              struct err *err)
{
    const char *url = response->url == NULL ? "" : response->url;
    char line[WHAT_MAX];
    char *named = NULL;

    if (response->status == 0)
        url = path_of(url);
    if (what == NULL)
        what = named = mem_printf("%s %.*s", response->method,
                                  (int)strcspn(url, "?"), url);
    one_line(line, sizeof(line), what);
    free(named);
    if (response->status == 0)
        return err_set(err, "%s: %s", line, response->err.text);
    return describe_status(response, line, err);
}
