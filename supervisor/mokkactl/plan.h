/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_PLAN_H
#define MOKKACTL_PLAN_H

/* Exit statuses of all subcommands: it was done, it could not be done, it was
 * done and found what somebody should look at. */
enum { EXIT_FINE = 0, EXIT_ERROR = 1, EXIT_NOT_FINE = 2 };

/* mokkactl plan: argv[0] is "plan". Returns the exit status. */
int plan_main(int argc, char **argv);

#endif
