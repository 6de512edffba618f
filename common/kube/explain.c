/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/explain.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/mem.h"

/* What libcurl's codes mean here. %s in a text is libcurl's own detail. */
static const struct meaning {
    CURLcode code;
    const char *text;
} meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST,
     "the host name cannot be resolved (%s): check the server's name and DNS"},
    {CURLE_COULDNT_RESOLVE_PROXY,
     "the proxy's name cannot be resolved (%s): check proxy-url"},
    {CURLE_COULDNT_CONNECT,
     "cannot connect (%s): check that the address is right and nothing "
     "between us and the API server blocks it"},
    {CURLE_SSL_CONNECT_ERROR,
     "the TLS handshake failed (%s): check that this port speaks TLS"},
    {CURLE_SSL_CERTPROBLEM,
     "the client certificate or its key cannot be used (%s): check that they "
     "belong together"},
    {CURLE_SSL_CACERT_BADFILE,
     "the certificate authority cannot be used (%s): check that it is PEM"},
    {CURLE_BAD_CONTENT_ENCODING,
     "the answer is compressed in a way that was not asked for and cannot be "
     "undone (%s): check what stands between us and the API server"},
    {CURLE_PARTIAL_FILE, "the connection was lost in the middle of the answer "
                         "(%s)"},
    {CURLE_GOT_NOTHING, "the connection was closed before the answer (%s)"},
    {CURLE_RECV_ERROR, "the connection was lost (%s)"},
    {CURLE_SEND_ERROR, "the connection was lost while sending (%s)"},
    {CURLE_WEIRD_SERVER_REPLY,
     "what answers there does not speak HTTP (%s): check address and port"},
    {CURLE_UNSUPPORTED_PROTOCOL, /* an answer without a status line, too */
     "what answers there does not speak HTTP (%s): check address and port"},
    {CURLE_URL_MALFORMAT,
     "not a server address that can be used (%s): check the server's URL"},
    {CURLE_PROXY, "the proxy refused (%s): check proxy-url"},
};

/* Results of OpenSSL's certificate verification, as it numbers them. */
static const struct verdict {
    long number;
    const char *text;
} verdicts[] = {
    {9, "its certificate is not valid yet: check this machine's clock"},
    {10, "its certificate has expired: renew it, or check this machine's "
         "clock"},
    {18, "untrusted certificate (self-signed): name its authority in "
         "certificate-authority"},
    {19, "untrusted certificate (the authority it ends in is not known): "
         "check certificate-authority"},
    {20, "untrusted certificate (its issuer is not known): check "
         "certificate-authority"},
    {21, "untrusted certificate (its issuer is not known): check "
         "certificate-authority"},
    {23, "its certificate has been revoked"},
};

static const char *
meaning_of(CURLcode code)
{
    for (size_t i = 0; i < nitems(meanings); i++)
        if (meanings[i].code == code)
            return meanings[i].text;
    return "the request failed (%s)";
}

/* A certificate that did not pass: which check it failed decides what to do.
 * The name is libcurl's own check; OpenSSL's result is then 0, or 1 for not
 * asked yet. */
static int
explain_certificate(CURL *easy, const char *server, const char *detail,
                    struct err *err)
{
    long result = 0;

    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
    for (size_t i = 0; i < nitems(verdicts); i++)
        if (verdicts[i].number == result)
            return err_set(err, "%s: %s", server, verdicts[i].text);
    if (result == 0 || result == 1)
        return err_set(err,
                       "%s: its certificate is for another name (%s): check "
                       "the server's URL, or set tls-server-name",
                       server, detail);
    return err_set(err, "%s: untrusted certificate (%s)", server, detail);
}

static bool
is_refused(CURL *easy, CURLcode code)
{
    long number = 0;

    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    return code == CURLE_COULDNT_CONNECT && number == ECONNREFUSED;
}

int
kube_explain(CURL *easy, CURLcode code, const char *server, const char *detail,
             struct err *err)
{
    struct err text;

    if (*detail == '\0')
        detail = curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return explain_certificate(easy, server, detail, err);
    if (is_refused(easy, code))
        return err_set(err,
                       "%s: connection refused: nothing listens there; check "
                       "that the API server runs and the address is right",
                       server);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err,
                       "%s: no connection in time (%s): check that the "
                       "address is right and nothing blocks it",
                       server, detail);
    err_set(&text, meaning_of(code), detail);
    return err_set(err, "%s: %s", server, text.text);
}
