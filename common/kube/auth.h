/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_AUTH_H
#define COMMON_KUBE_AUTH_H

#include <curl/curl.h>
#include <stdint.h>

#include "common/err.h"

struct kube_config;

/*
 * Who we are and whom we trust, for http.c alone: the bearer token, the CA and
 * the client certificate, from config or from files that are read again as
 * they are rotated.
 */
struct kube_auth;

/* config must outlive it. NULL and err if something cannot be read or cannot
 * be what it should be. */
struct kube_auth *kube_auth_new(const struct kube_config *config,
                                struct err *err);

/* Wipes and frees; NULL is fine. */
void kube_auth_free(struct kube_auth *auth);

/* Reads the files again if the last reading is 60 s old (1 s after
 * kube_auth_doubt). What cannot be read keeps its last good content. */
void kube_auth_refresh(struct kube_auth *auth);

/* The server did not accept us, or we not the server: the files may have
 * changed just now. */
void kube_auth_doubt(struct kube_auth *auth);

/* When CA or client certificate last changed, on clock_now's clock; 0: never.
 * Older connections speak for another identity. */
int64_t kube_auth_changed(const struct kube_auth *auth);

/* Sets TLS and proxy options of a handle. -1 if libcurl refuses one. */
int kube_auth_apply(const struct kube_auth *auth, CURL *easy);

/* headers behind an Authorization line, if there is a token; taken over either
 * way. */
struct curl_slist *kube_auth_header(const struct kube_auth *auth,
                                    struct curl_slist *headers);

/* Wipes and frees a list of headers; NULL is fine. */
void kube_auth_wipe_headers(struct curl_slist *headers);

#endif
