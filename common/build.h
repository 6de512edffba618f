/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BUILD_H
#define COMMON_BUILD_H

/*
 * Which build this is.  Texts and no macros, so that a commit compiles one file
 * anew, and not all.
 */
extern const char build_version[]; /* "0.1.0" */
extern const char build_date[];    /* of the version; "unreleased" before */
extern const char build_commit[];  /* "unknown" where there is no repository */

/* Version and commit: processes of different builds refuse to talk to each
 * other. */
extern const char build_id[];

#endif
