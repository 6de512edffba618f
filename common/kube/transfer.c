/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/kube/auth.h"
#include "common/kube/explain.h"
#include "common/kube/target.h"
#include "common/mem.h"

#define USER_AGENT "mokka/control-plane"
#define CONNECT_TIMEOUT_MS 5000L
#define MAX_BODY ((size_t)8 << 20)

/* A peer that is gone: probes after 15 s of silence, and unanswered bytes or
 * probes for 30 s end the connection. */
#define KEEPALIVE_IDLE 15L
#define KEEPALIVE_INTERVAL 5L
#define UNANSWERED_MS 30000

struct kube_transfer *
kube_transfer_new(const struct kube_request *req, const char *server,
                  const struct kube_target *target)
{
    struct kube_transfer *transfer = mem_zalloc(sizeof(*transfer));
    struct kube_request *copy = &transfer->request;
    bool body = req->body.n > 0;

    transfer->server = server;
    transfer->heard_at = clock_now();
    if (req->timeout > 0)
        transfer->expires_at = transfer->heard_at + req->timeout;
    transfer->url = mem_printf("%s%s", target->base, req->path);
    *copy = *req;
    copy->path = NULL;
    copy->method = mem_strdup(req->method);
    copy->accept = mem_strdup(req->accept);
    copy->content_type = mem_strdup(req->content_type);
    copy->body.s = body ? mem_dup(req->body.s, req->body.n) : NULL;
    if (copy->max_body == 0)
        copy->max_body = MAX_BODY;
    return transfer;
}

void
kube_transfer_free(struct kube_transfer *transfer)
{
    if (transfer == NULL)
        return;
    curl_easy_cleanup(transfer->easy);
    kube_auth_wipe_headers(transfer->headers);
    curl_slist_free_all(transfer->connect_to);
    buf_fini(&transfer->answer);
    free(transfer->url);
    free((char *)transfer->request.method);
    free((char *)transfer->request.accept);
    free((char *)transfer->request.content_type);
    free((char *)transfer->request.body.s);
    free(transfer);
}

static int
status_of(const struct kube_transfer *transfer)
{
    long status = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static bool
is_good(int status)
{
    return status >= 200 && status < 300;
}

/* What of the answer is known from its header. */
static void
fill_head(const struct kube_transfer *transfer, struct kube_response *response)
{
    char *type = NULL;
    curl_off_t wait = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &wait);
    if (wait > KUBE_RETRY_AFTER_MAX)
        wait = KUBE_RETRY_AFTER_MAX;
    *response = (struct kube_response){
        .status = status_of(transfer),
        .content_type = type == NULL ? "" : type,
        .retry_after = wait * CLOCK_SECOND,
        .method = transfer->request.method,
        .url = transfer->url,
    };
}

/* The header is there: tells who asked. -1 ends the transfer. */
static int
tell_head(struct kube_transfer *transfer)
{
    const struct kube_request *req = &transfer->request;
    struct kube_response response;

    transfer->headed_at = clock_now();
    if (req->head == NULL || !is_good(status_of(transfer)))
        return 0;
    fill_head(transfer, &response);
    return req->head(req->arg, &response, &transfer->err);
}

/* A line of the header. The empty one ends it, but for a 1xx; what comes later
 * is a trailer. */
static size_t
on_header(char *line, size_t size, size_t n, void *arg)
{
    struct kube_transfer *transfer = arg;
    size_t bytes = size * n;
    bool empty = bytes <= 2 && (*line == '\r' || *line == '\n');

    if (transfer->closed)
        return 0;
    transfer->heard_at = clock_now();
    if (empty && transfer->headed_at == 0 && status_of(transfer) >= 200 &&
        tell_head(transfer) < 0)
        return 0;
    return bytes;
}

static int
collect(struct kube_transfer *transfer, struct str bytes)
{
    if (transfer->answer.len + bytes.n > transfer->request.max_body)
        return err_set(&transfer->err,
                       "%s: the answer is larger than %zu bytes",
                       transfer->server, transfer->request.max_body);
    buf_adds(&transfer->answer, bytes);
    return 0;
}

static size_t
on_body(char *data, size_t size, size_t n, void *arg)
{
    struct kube_transfer *transfer = arg;
    const struct kube_request *req = &transfer->request;
    struct str bytes = {data, size * n};
    int rc;

    if (transfer->closed)
        return CURL_WRITEFUNC_ERROR;
    transfer->heard_at = clock_now();
    if (req->data != NULL && is_good(status_of(transfer)))
        rc = req->data(req->arg, bytes, &transfer->err);
    else
        rc = collect(transfer, bytes);
    return rc < 0 || transfer->closed ? CURL_WRITEFUNC_ERROR : bytes.n;
}

/* The connection stands, and the request would be written now.  Timers are late
 * after a stop of the process: it is here that a request is held back which
 * nobody may send any more. */
static int
on_sending(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    struct kube_transfer *transfer = arg;

    (void)peer;
    (void)local;
    (void)peer_port;
    (void)local_port;
    if (transfer->expires_at == 0 || clock_now() < transfer->expires_at)
        return CURL_PREREQFUNC_OK;
    err_set(&transfer->err, "%s: too late to be sent, after %.1f s",
            transfer->server, (double)transfer->request.timeout / CLOCK_SECOND);
    return CURL_PREREQFUNC_ABORT;
}

static int
on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    int ms = UNANSWERED_MS;

    (void)arg;
    (void)purpose;
    /* Best effort: without it keepalive alone finds out, some seconds later. */
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
    return CURL_SOCKOPT_OK;
}

static void
add_header(struct kube_transfer *transfer, const char *name, const char *value)
{
    char *line = mem_printf("%s%s", name, value);
    struct curl_slist *more = curl_slist_append(transfer->headers, line);

    free(line);
    if (more == NULL)
        fatal("out of memory (headers)");
    transfer->headers = more;
}

static void
set_headers(struct kube_transfer *transfer, const struct kube_auth *auth,
            const struct kube_target *target)
{
    const struct kube_request *req = &transfer->request;
    const char *json = "application/json";

    add_header(transfer, "Accept: ", req->accept == NULL ? json : req->accept);
    add_header(transfer, "Accept-Encoding:", ""); /* compression costs more
                                                     than it saves nearby */
    if (req->body.n > 0) {
        add_header(transfer, "Content-Type: ",
                   req->content_type == NULL ? json : req->content_type);
        add_header(transfer, "Expect:", ""); /* never wait for a 100 */
    }
    if (target->host_line != NULL)
        add_header(transfer, target->host_line, "");
    transfer->headers = kube_auth_header(auth, transfer->headers);
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
}

static void
set_method(struct kube_transfer *transfer)
{
    const struct kube_request *req = &transfer->request;
    CURL *easy = transfer->easy;

    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (req->body.n > 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)req->body.n);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, req->body.s);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, req->method);
}

static void
set_callbacks(struct kube_transfer *transfer)
{
    CURL *easy = transfer->easy;

    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
}

static void
set_connection(struct kube_transfer *transfer, const struct kube_target *target,
               long lifetime)
{
    CURL *easy = transfer->easy;

    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    /* What stands between us and the server may compress all the same: it is
     * undone then, though the header does not ask for it. */
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, USER_AGENT);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, lifetime);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 32L << 10);
    if (target->connect_to == NULL)
        return;
    transfer->connect_to = curl_slist_append(NULL, target->connect_to);
    if (transfer->connect_to == NULL)
        fatal("out of memory (connection)");
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer->connect_to);
}

int
kube_transfer_prepare(struct kube_transfer *transfer,
                      const struct kube_auth *auth,
                      const struct kube_target *target, long lifetime)
{
    transfer->easy = curl_easy_init();
    if (transfer->easy == NULL)
        fatal("out of memory (request)");
    if (curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->url) !=
            CURLE_OK ||
        kube_auth_apply(auth, transfer->easy) < 0)
        return err_set(&transfer->err, "%s: the request cannot be set up",
                       transfer->server);
    set_connection(transfer, target, lifetime);
    set_callbacks(transfer);
    set_method(transfer);
    set_headers(transfer, auth, target);
    return 0;
}

/* The server may have read enough of the request to act on it. */
static bool
was_sent(const struct kube_transfer *transfer)
{
    long bytes = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

void
kube_transfer_response(struct kube_transfer *transfer, CURLcode code,
                       struct kube_response *response)
{
    fill_head(transfer, response);
    response->body = buf_str(&transfer->answer);
    if (transfer->err.text[0] != '\0')
        response->err = transfer->err;
    else if (code != CURLE_OK)
        kube_explain(transfer->easy, code, transfer->server, transfer->detail,
                     &response->err);
    else
        return;
    response->status = 0;
    response->sent = was_sent(transfer);
    response->body = (struct str){"", 0};
}
