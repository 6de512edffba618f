/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/auth.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/kube/base64.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/kube/secret.h"
#include "common/log.h"
#include "common/mem.h"

#define READ_AGAIN (60 * CLOCK_SECOND)
#define READ_DOUBTED CLOCK_SECOND
#define TOKEN_MAX ((size_t)256 << 10)
#define PEM_MAX ((size_t)1 << 20)
#define BEARER "Authorization: Bearer "

enum secret { CA, CERT, KEY, TOKEN, N_SECRETS };

struct kube_auth {
    const struct kube_config *config;
    struct str held[N_SECRETS]; /* the last good content; empty: none */
    bool failing[N_SECRETS]; /* the last reading failed, and that is logged */
    int64_t read_at;
    int64_t changed_at;
    bool doubted;
};

/* The body of the PEM block at text that has the given label, or false. */
static bool
find_pem(struct str text, const char *label, struct str *body)
{
    const char *end = text.s + text.n;
    const char *at = memmem(text.s, text.n, "-----BEGIN ", 11);

    while (at != NULL) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        struct str line;

        if (eol == NULL)
            return false;
        line = (struct str){at, (size_t)(eol - at)};
        *body = (struct str){eol, (size_t)(end - eol)};
        if (memmem(line.s, line.n, label, strlen(label)) != NULL)
            break;
        at = memmem(body->s, body->n, "-----BEGIN ", 11);
    }
    if (at == NULL)
        return false;
    at = memmem(body->s, body->n, "-----END ", 9);
    if (at == NULL)
        return false;
    body->n = (size_t)(at - body->s);
    return true;
}

/* Old-style encrypted keys have "Name: value" lines before the base64; what
 * cannot be told from the outside is left to the TLS library. */
static int
check_pem(struct str text, const char *label, struct err *err)
{
    struct buf der = {0};
    struct str body;
    int rc = 0;

    if (!find_pem(text, label, &body))
        return err_set(err, "no PEM block \"BEGIN ... %s\" in it", label);
    if (memchr(body.s, ':', body.n) == NULL)
        rc = base64_decode(body, &der, err);
    if (rc == 0 && der.len > 0 && buf_bytes(&der)[0] != 0x30)
        rc = err_set(err, "its PEM block holds no %s", label);
    file_wipe(&der);
    return rc;
}

static int
check_certificate(struct str text, struct err *err)
{
    return check_pem(text, "CERTIFICATE", err);
}

static int
check_key(struct str text, struct err *err)
{
    return check_pem(text, "PRIVATE KEY", err);
}

static int
check_token(struct str text, struct err *err)
{
    if (text.n == 0)
        return err_set(err, "it is empty");
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] <= ' ' || text.s[i] >= 0x7f)
            return err_set(err,
                           "byte %zu is a control character, a space or not "
                           "ASCII: a token has none of them",
                           i + 1);
    return 0;
}

/* Each secret: where config has it, and what is right for it. */
static const struct source {
    const char *what;
    size_t file, data; /* offsets in struct kube_config */
    size_t limit;
    int (*check)(struct str text, struct err *err);
} sources[N_SECRETS] = {
    [CA] = {"certificate authority", offsetof(struct kube_config, ca_file),
            offsetof(struct kube_config, ca_data), PEM_MAX, check_certificate},
    [CERT] = {"client certificate", offsetof(struct kube_config, cert_file),
              offsetof(struct kube_config, cert_data), PEM_MAX,
              check_certificate},
    [KEY] = {"client key", offsetof(struct kube_config, key_file),
             offsetof(struct kube_config, key_data), PEM_MAX, check_key},
    [TOKEN] = {"token", offsetof(struct kube_config, token_file),
               offsetof(struct kube_config, token), TOKEN_MAX, check_token},
};

static const char *
config_text(const struct kube_config *config, size_t offset)
{
    char *text;

    memcpy(&text, (const char *)config + offset, sizeof(text));
    return text;
}

/* White space around it is not part of a secret. */
static struct str
trimmed(struct str text)
{
    while (text.n > 0 && strchr(" \t\r\n", text.s[text.n - 1]) != NULL)
        text.n--;
    while (text.n > 0 && strchr(" \t\r\n", text.s[0]) != NULL)
        text.s++, text.n--;
    return text;
}

/* Reads one secret into out: 0, or -1 and err naming what and where. */
static int
read_secret(const struct kube_auth *auth, enum secret which, struct buf *out,
            struct err *err)
{
    const struct source *source = &sources[which];
    const char *file = config_text(auth->config, source->file);
    const char *data = config_text(auth->config, source->data);
    struct buf raw = {0};
    int rc = 0;

    if (file != NULL)
        rc = file_read(file, source->limit, &raw, err);
    else if (data != NULL)
        buf_addz(&raw, data);
    if (rc == 0 && (file != NULL || data != NULL)) {
        buf_adds(out, trimmed(buf_str(&raw)));
        rc = source->check(buf_str(out), err);
        if (rc < 0)
            err_prefix(err, "%s", file != NULL ? file : "in the kubeconfig");
    }
    file_wipe(&raw);
    if (rc < 0)
        err_prefix(err, "%s", source->what);
    return rc;
}

static void
note_failure(struct kube_auth *auth, enum secret which, const struct err *err)
{
    if (!auth->failing[which])
        log_warn("credentials cannot be read again, the last ones are kept",
                 F_STR("error", err->text));
    auth->failing[which] = true;
}

/* Reads one secret again; what is not good changes nothing. */
static int
renew(struct kube_auth *auth, enum secret which, struct err *err)
{
    struct str *held = &auth->held[which];
    struct buf fresh = {0};
    int rc = read_secret(auth, which, &fresh, err);

    if (rc == 0)
        auth->failing[which] = false;
    if (rc == 0 && !str_eq(buf_str(&fresh), *held)) {
        secret_drop(held);
        *held = secret_keep(buf_str(&fresh));
        if (which != TOKEN) /* a token goes with each request by itself */
            auth->changed_at = clock_now();
    }
    file_wipe(&fresh);
    return rc;
}

void
kube_auth_refresh(struct kube_auth *auth)
{
    int64_t age = clock_now() - auth->read_at;
    struct err err;

    if (age < (auth->doubted ? READ_DOUBTED : READ_AGAIN))
        return;
    auth->read_at = clock_now();
    auth->doubted = false;
    for (int i = 0; i < N_SECRETS; i++)
        if (config_text(auth->config, sources[i].file) != NULL &&
            renew(auth, (enum secret)i, &err) < 0)
            note_failure(auth, (enum secret)i, &err);
}

void
kube_auth_doubt(struct kube_auth *auth)
{
    auth->doubted = true;
}

int64_t
kube_auth_changed(const struct kube_auth *auth)
{
    return auth->changed_at;
}

struct kube_auth *
kube_auth_new(const struct kube_config *config, struct err *err)
{
    struct kube_auth *auth = mem_zalloc(sizeof(*auth));
    int rc = 0;

    auth->config = config;
    auth->read_at = clock_now();
    for (int i = 0; i < N_SECRETS && rc == 0; i++)
        rc = renew(auth, (enum secret)i, err);
    if (rc == 0 && (auth->held[CERT].n > 0) != (auth->held[KEY].n > 0))
        rc = err_set(err, "client certificate and client key go together, but "
                          "only one of them is given");
    if (rc < 0) {
        kube_auth_free(auth);
        return NULL;
    }
    auth->changed_at = 0;
    return auth;
}

void
kube_auth_free(struct kube_auth *auth)
{
    if (auth == NULL)
        return;
    for (int i = 0; i < N_SECRETS; i++)
        secret_drop(&auth->held[i]);
    free(auth);
}

static int
set_blob(CURL *easy, CURLoption option, struct str held)
{
    struct curl_blob blob = {(char *)held.s, held.n, CURL_BLOB_COPY};

    if (held.n == 0)
        return 0;
    return curl_easy_setopt(easy, option, &blob) == CURLE_OK ? 0 : -1;
}

/* The proxy is what config says, and never what the environment says. */
static void
set_proxy(const struct kube_config *config, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_PROXY,
                     config->proxy_url == NULL ? "" : config->proxy_url);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
}

int
kube_auth_apply(const struct kube_auth *auth, CURL *easy)
{
    const struct kube_config *config = auth->config;
    int rc = 0;

    set_proxy(config, easy);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
    if (auth->held[CA].n > 0) /* it alone, not the system's beside it */
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    rc |= set_blob(easy, CURLOPT_CAINFO_BLOB, auth->held[CA]);
    rc |= set_blob(easy, CURLOPT_SSLCERT_BLOB, auth->held[CERT]);
    rc |= set_blob(easy, CURLOPT_SSLKEY_BLOB, auth->held[KEY]);
    return rc;
}

struct curl_slist *
kube_auth_header(const struct kube_auth *auth, struct curl_slist *headers)
{
    struct curl_slist *first;

    if (auth->held[TOKEN].n == 0)
        return headers;
    first = mem_zalloc(sizeof(*first));
    first->data = (char *)secret_join(STR(BEARER), auth->held[TOKEN]).s;
    first->next = headers;
    return first;
}

void
kube_auth_wipe_headers(struct curl_slist *headers)
{
    struct curl_slist *rest = headers;

    if (headers != NULL &&
        strncmp(headers->data, BEARER, strlen(BEARER)) == 0) {
        struct str secret = str_of(headers->data);

        rest = headers->next;
        secret_drop(&secret);
        free(headers);
    }
    curl_slist_free_all(rest);
}
