/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/life.h"

#include "proto/pack.h"
#include "supervisor/wire.h"

/* Tells of deaths and recoveries, for Events about the Pod.  While nobody can
 * hear it the deaths of a worker are summed up. */
static void
tell_life(struct process *p, const struct process *to)
{
    struct buf body = {0};

    if (p->untold > 0) {
        pack_array(&body, 4);
        pack_int(&body, p->row->role);
        pack_int(&body, p->untold);
        pack_text(&body, p->cause);
        pack_bool(&body, p->given_up);
        chan_send(to->control, MSG_WORKER_DIED, 0, buf_str(&body));
    }
    if (p->back_untold) {
        buf_clear(&body);
        pack_array(&body, 1);
        pack_int(&body, p->row->role);
        chan_send(to->control, MSG_WORKER_BACK, 0, buf_str(&body));
    }
    p->untold = 0;
    p->back_untold = false;
    buf_fini(&body);
}

void
life_tell(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *to = &sup->processes[i];

        if (!wire_up(to) || !wire_hears(to, MSG_WORKER_DIED) ||
            !chan_room(to->control))
            continue;
        for (size_t j = 0; j < PROCESSES; j++)
            tell_life(&sup->processes[j], to);
    }
}

void
life_died(struct process *p, bool given_up)
{
    if (p->sup->health.stopping)
        return;
    p->untold++;
    p->back_untold = false;
    p->given_up = given_up;
    life_tell(p->sup);
}

void
life_back(struct process *p)
{
    p->back_untold = p->generation > 1;
    life_tell(p->sup);
}
