/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/secret.h"

#include <curl/curl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/mem.h"

struct str
secret_join(struct str prefix, struct str text)
{
    size_t n = prefix.n + text.n;
    char *at = mmap(NULL, n + 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        fatal("out of memory (%zu bytes)", n + 1);
    /* A kernel that cannot is no reason to go without credentials. */
    madvise(at, n + 1, MADV_DONTDUMP);
    if (prefix.n > 0)
        memcpy(at, prefix.s, prefix.n);
    if (text.n > 0)
        memcpy(at + prefix.n, text.s, text.n);
    return (struct str){at, n};
}

struct str
secret_keep(struct str text)
{
    return secret_join(STR(""), text);
}

void
secret_drop(struct str *secret)
{
    char *at = (char *)secret->s;

    if (at == NULL)
        return;
    explicit_bzero(at, secret->n);
    munmap(at, secret->n + 1);
    *secret = (struct str){NULL, 0};
}

static void
wipe_and_free(void *at)
{
    if (at != NULL)
        explicit_bzero(at, malloc_usable_size(at));
    free(at);
}

/* What realloc gives back by itself nobody could wipe. */
static void *
wipe_and_resize(void *at, size_t size)
{
    size_t old = at == NULL ? 0 : malloc_usable_size(at);
    void *grown = malloc(size);

    if (grown == NULL)
        return NULL;
    if (old > 0)
        memcpy(grown, at, old < size ? old : size);
    wipe_and_free(at);
    return grown;
}

void
secret_from_curl(void)
{
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_and_free,
                         wipe_and_resize, strdup, calloc);
}
