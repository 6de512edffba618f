/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/watchdog.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/proc.h"

enum watchdog_verdict
watchdog_beat(struct watchdog *w, bool excused)
{
    if (excused)
        w->missed = 0;
    if (w->missed == WATCHDOG_SILENCE)
        return WATCHDOG_SILENT;
    w->missed++;
    return w->missed == 1 ? WATCHDOG_PING : WATCHDOG_WAIT;
}

void
watchdog_heard(struct watchdog *w)
{
    w->missed = 0;
}

/* What follows "NAME:" and blanks at the start of a line, or NULL. */
static const char *
field(const char *status, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = status; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, n) == 0 && at[n] == ':')
            return at + n + 1 + strspn(at + n + 1, " \t");
    }
    return NULL;
}

bool
watchdog_traced_by(const char *status)
{
    const char *tracer = field(status, "TracerPid");
    const char *state = field(status, "State");

    return (tracer != NULL && atoi(tracer) != 0) ||
           (state != NULL && *state == 't');
}

bool
watchdog_traced(pid_t pid)
{
    char text[4096];

    return proc_read(pid, "status", text, sizeof(text)) &&
           watchdog_traced_by(text);
}
