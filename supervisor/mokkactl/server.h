/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_SERVER_H
#define MOKKACTL_SERVER_H

#include <jansson.h>

#include "common/err.h"
#include "common/str.h"

/* Requests to the API server, one after the other, each waited for. */
struct server;

/* kubeconfig NULL: $MOKKA_CP_KUBECONFIG, $KUBECONFIG, the pod's service
 * account, or ~/.kube/config, whichever is there first. NULL and err. */
struct server *server_open(const char *kubeconfig, struct err *err);
void server_close(struct server *server);

/* The namespace of the kubeconfig's context; NULL: it names none. */
const char *server_namespace(const struct server *server);

struct server_answer {
    int status;     /* HTTP */
    json_t *body;   /* NULL if it is no JSON */
    char text[256]; /* status 300 and above: what the server says */
};

/* accept NULL: JSON; body n 0: none. -1 and err if no answer came. The answer
 * is finished with server_answer_fini. */
int server_ask(struct server *server, const char *method, const char *path,
               const char *accept, struct str body,
               struct server_answer *answer, struct err *err);
void server_answer_fini(struct server_answer *answer);

/* Lists all pages of a collection; each item goes to visit. -1 and err; a
 * collection that is not served (404) has no items. */
int server_list(struct server *server, const char *path, const char *accept,
                void (*visit)(void *arg, const json_t *item), void *arg,
                struct err *err);

#endif
