/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_JSON_H
#define COMMON_KUBE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Reading JSON from the API server: one document at a time, and getters that
 * tell "not there" from "there, but of another type".
 *
 * A path is keys joined by dots, from root ("metadata.name"; "" is root
 * itself).  A key with a dot in it (a label) cannot be named so: get its
 * object, then use json_object_get.  JSON's null counts as not there, as it
 * does for Kubernetes.  What is returned is borrowed and lives as long as
 * root.
 *
 * Each getter returns 1 with *value set, 0 with *value left alone if the path
 * leads nowhere, and -1 with err naming the path and the type found if
 * something on the way, or at the end, is of another type (or out of range).
 */

/* The document in text, to be freed with json_decref. Of equal keys the last
 * one stands. NULL and err (with line and column) if it is not JSON, has more
 * after the document, holds a number beyond 64 bits, a NUL in a string, or
 * bytes that are not UTF-8, or is nested deeper than 2048. */
json_t *kube_json_parse(struct str text, struct err *err);

int kube_json_str(const json_t *root, const char *path, const char **value,
                  struct err *err);

/* A whole number from min to max; 1.0 is none. */
int kube_json_int(const json_t *root, const char *path, int64_t min,
                  int64_t max, int64_t *value, struct err *err);

int kube_json_bool(const json_t *root, const char *path, bool *value,
                   struct err *err);

int kube_json_object(const json_t *root, const char *path, json_t **value,
                     struct err *err);

int kube_json_array(const json_t *root, const char *path, json_t **value,
                    struct err *err);

/* The string at path, or "" if there is none: for texts that nothing hangs
 * on. */
const char *kube_json_text(const json_t *root, const char *path);

/* Whatever stands at path (null included), or NULL. */
json_t *kube_json_at(const json_t *root, const char *path);

#endif
