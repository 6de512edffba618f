#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long nobody writes when the leader goes, with Nodes coming all the time
and the Lease times as they are by default; and how long a renewal takes while
thousands of Nodes converge.  Ends with status 1 if a promise is not kept.

usage:   tests/bench/leadership.py [NODES]   (5000; 0 leaves that part out)
needs:   build/release (make build), a quiet machine, about four minutes
"""

import contextlib
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import harness  # noqa: E402
import replicas  # noqa: E402
from harness import wait_for  # noqa: E402
from replicas import A, B, C, Load, Replica, mutations  # noqa: E402

DURATION = 15  # of the Lease, by default
POLL = 4.4  # the longest pause of one that may not watch
USERS = (A, B, C)


class Figures:
    def __init__(self, cluster):
        self.cluster = cluster
        self.mark = cluster.mark()
        self.broken = 0

    def say(self, what, seconds, limit=None):
        kept = limit is None or max(seconds) <= limit
        self.broken += not kept
        print(f"{what}: {', '.join(f'{s:.2f}' for s in seconds)} s"
              + ("" if limit is None else f" (at most {limit:.1f})")
              + ("" if kept else "  TOO LONG"), flush=True)

    @contextlib.contextmanager
    def pair(self, first, second):
        with contextlib.ExitStack() as stack:
            leader = Replica(self.cluster, first, times=())
            stack.callback(leader.end)
            leader.wait_leading()
            leader.wait_ready()
            standby = Replica(self.cluster, second, times=())
            stack.callback(standby.end)
            standby.wait_reason(leader.identity(), status=200)
            time.sleep(5)  # it has seen some renewals
            yield leader, standby
            standby.stop()

    def first_write(self, user, since):
        """When it began; since: a moment."""
        return wait_for(f"a write of {user}", 60, lambda: [
            w.begin for w in mutations(self.cluster, (user,), self.mark)
            if w.begin > since])[0]

    def lease_write(self, user, since, last=False):
        found = [w for w in mutations(self.cluster, (user,), self.mark, True)
                 if w.begin > since and w.code == 200]
        return found[-1 if last else 0].end

    def kill(self, first, second):
        with self.pair(first, second) as (leader, _):
            killed = leader.kill_tree()
            wrote = self.first_write(second, killed)
            return wrote - killed, wrote - self.lease_write(second, killed)

    def term(self, first, second):
        with self.pair(first, second) as (leader, _):
            asked = time.time()
            leader.stop()
            wrote = self.first_write(second, asked)
            released = self.lease_write(first, asked, last=True)
            return wrote - released, wrote - asked, wrote - self.lease_write(second, asked)

    def hands(self):
        replicas.declare(self.cluster, 2000)
        load = Load(self.cluster, limit=1000)
        kills = [self.kill(*pair) for pair in ((A, B), (B, A))]
        terms = [self.term(*pair) for pair in ((A, B), (B, A), (A, B))]
        poll_kills = [self.kill(A, C)]
        poll_terms = [self.term(A, C), self.term(B, C)]
        load.stop()
        self.say("KILL of the leader to the first write of the standby",
                 [k[0] for k in kills], DURATION + 1.5)
        self.say("  without the right to watch", [k[0] for k in poll_kills],
                 DURATION + 1.5 + POLL)
        self.say("TERM: release of the Lease to the first write of the standby",
                 [t[0] for t in terms], 1)
        self.say("  without the right to watch", [t[0] for t in poll_terms], 1 + POLL)
        self.say("TERM to the first write of the standby", [t[1] for t in terms])
        self.say("Lease taken to the first write",
                 [k[1] for k in kills + poll_kills] + [t[2] for t in terms + poll_terms], 1)

    def renewals(self, nodes):
        self.cluster.reset()
        replicas.declare(self.cluster, nodes)
        leader = Replica(self.cluster, A, "--leader-election-retry-period", "200ms", times=())
        try:
            leader.wait_ready()
            self.tell_renewals("idle", 10)
            began = time.time()
            replicas.create_nodes(self.cluster, nodes)
            wait_for("all Nodes", 240, lambda: len(
                self.cluster.projected()) == nodes or time.sleep(1))
            self.tell_renewals(f"while {nodes} Nodes come and converge", time.time() - began)
            if len(leader.lines(msg="acquired the lease")) != 1:
                self.broken += 1
                print("the term was lost on the way")
        finally:
            leader.end()

    def tell_renewals(self, when, seconds):
        if when == "idle":
            time.sleep(seconds)
        since = time.time() - seconds
        took = sorted(w.end - w.begin for w in mutations(self.cluster, (A,), self.mark, True)
                      if w.begin > since)
        print(f"renewals {when}: {len(took)} in {seconds:.0f} s, in the API server "
              f"{statistics.median(took) * 1000:.0f} ms median, "
              f"{took[len(took) * 99 // 100] * 1000:.0f} ms of 99 %, "
              f"{took[-1] * 1000:.0f} ms at most", flush=True)


def main(arguments):
    nodes = int(arguments[0]) if arguments else 5000
    cluster = harness.Cluster()
    try:
        cluster.install()
        replicas.admit(cluster, A, B)
        replicas.admit(cluster, C, watch=False)
        figures = Figures(cluster)
        figures.hands()
        if nodes:
            figures.renewals(nodes)
    finally:
        cluster.down()
    return 1 if figures.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
