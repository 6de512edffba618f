/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_LAST_WORDS_H
#define SUPERVISOR_LAST_WORDS_H

/* Where Kubernetes takes a container's termination message from. */
#define LAST_WORDS_FILE "/dev/termination-log"

/* Writes why the control plane ends to that file, if it is there and may be
 * written: "kubectl describe pod" then shows it. Nothing is created. */
void last_words(const char *file, const char *text);

#endif
