/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_LOAD_H
#define MOKKACTL_LOAD_H

#include "supervisor/mokkactl/accept.h"

/*
 * Files to objects.  A file whose first character is '{' is JSON, any other is
 * YAML; both may hold any number of documents, and lists as kubectl prints
 * them.  A directory stands for its files named *.yaml, *.yml and *.json, in
 * the order of their names; directories in it are not looked into.
 */

/* Loads what path names, "-" being stdin.  Each object goes to accept, and all
 * that is wrong to problems. Returns the bytes read. */
size_t load(const char *path, struct accept *accept, struct problems *problems);

#endif
