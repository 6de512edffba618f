/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_RUN_H
#define MOKKACTL_RUN_H

#include "supervisor/mokkactl/command.h"
#include "supervisor/mokkactl/live.h"

/* What the subcommands do, for their table. Each returns the exit status. */

/* show_status.c */
int run_status(const struct ctl_args *args);

/* show_shadow.c */
int run_shadow(const struct ctl_args *args);

/* ask.c: those that a worker answers, or the supervisor with yes or no */
int run_assignments(const struct ctl_args *args);
int run_why(const struct ctl_args *args);
int run_dump(const struct ctl_args *args);
int run_log(const struct ctl_args *args);
int run_simple(const struct ctl_args *args);

/* lend.c */
int run_lend(const struct ctl_args *args);

/* record.c */
int run_record(const struct ctl_args *args);

/* tap.c */
int run_tap(const struct ctl_args *args);

/* check.c, drain.c, support.c: the API server is asked, too */
int run_check(const struct ctl_args *args);
int run_drain(const struct ctl_args *args);
int run_support(const struct ctl_args *args);

/* Writes the findings of check to out; returns how many are wrong, or -1 and
 * err. socket: of the control plane that is meant, see live_open. */
int check_to(FILE *out, const struct ctl_args *args, const char *socket,
             struct err *err);

/* complete.c, man.c */
int run_completion(const struct ctl_args *args);
int run_man(const struct ctl_args *args);

/*
 * Asks one command of the control plane of --socket and gives show what comes.
 * Returns the exit status; what went wrong is told on stderr.
 */
int run_command(const struct ctl_args *args, const char *name,
                const char *const *arguments, size_t count, live_piece_fn *show,
                void *arg);

/* The connection that --socket says; NULL, and it was told why. */
struct live *run_open(const struct ctl_args *args);

#endif
