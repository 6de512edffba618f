/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_EXPLAIN_H
#define COMMON_KUBE_EXPLAIN_H

#include <curl/curl.h>

#include "common/err.h"

/*
 * Says in one line why a transfer of libcurl failed: server, what happened,
 * what to do; for http.c alone.  detail is libcurl's own text, "" if none.
 * Returns -1.
 */
int kube_explain(CURL *easy, CURLcode code, const char *server,
                 const char *detail, struct err *err);

#endif
