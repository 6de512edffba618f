#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two replicas, Nodes that come and go, and kills, stops and continuations by
chance, of single workers and of whole instances.

usage:   tests/cluster/random_events.py [SEED [EVENTS [NODES]]]
input:   SEED    of the events (default: by chance); the same one gives the same
                 events, though not to the millisecond
         EVENTS  default 334;  NODES  default 5000
output:  what was done, and what was found; the last line tells the result
exit:    0 all is as it should be: no write of one identity while one of the
         other was under way (the API server's audit log), no Node bound or
         changed twice, and all converged in the end; else 1, with the logs kept
needs:   build/release (make build)
"""

import collections
import random
import shutil
import signal
import sys
import time

import harness
import replicas
from harness import GROUP, WORKERS, wait_for
from replicas import A, B, Load, Replica, Witness, mutations, overlaps

# What can happen, how often, and for how long a stop lasts.
EVENTS = (("kill a worker", 34), ("stop a worker", 26), ("go on", 14),
          ("stop all", 12), ("kill all", 8), ("TERM", 6))
WORKER_STOPS = (0.05, 0.5, 1.5, 4)
WHOLE_STOPS = (0.3, 2, 5)
PAUSE = (0.05, 0.9)
IN_FLIGHT = 64  # requests whose answers may die with a projector


class Trouble:
    def __init__(self, cluster, dice):
        self.cluster = cluster
        self.dice = dice
        self.configs = {user: cluster.run(harness.LOCAL / "user", cluster.state, user)
                        for user in (A, B)}
        self.present = {user: self.start(user) for user in (A, B)}
        self.started = list(self.present.values())
        self.stopped = []  # (until, replica, pid)
        self.ending = []
        self.done = collections.Counter()
        self.problems = []

    def start(self, user):
        return Replica(self.cluster, user, kubeconfig=self.configs[user])

    def restart(self, user):
        self.present[user] = self.start(user)
        self.started.append(self.present[user])

    def event(self):
        what = self.dice.choices([e for e, _ in EVENTS], [w for _, w in EVENTS])[0]
        user = self.dice.choice((A, B))
        worker = self.dice.choice(WORKERS)
        seconds = self.dice.choice(WORKER_STOPS if what == "stop a worker" else WHOLE_STOPS)
        replica = self.present[user]
        if replica.process.poll() is not None:
            self.problems.append(f"{user} ended by itself:\n{replica.tail()}")
            self.restart(user)
            return
        self.done[what] += 1
        if what == "kill a worker":
            self.signal_worker(replica, worker, signal.SIGKILL)
        elif what == "stop a worker":
            pid = self.signal_worker(replica, worker, signal.SIGSTOP)
            self.stopped.append((time.monotonic() + seconds, pid))
        elif what == "go on":
            self.go_on(set(replica.tree()))
        elif what == "stop all":
            until = time.monotonic() + seconds
            self.stopped.extend((until, pid) for pid in replica.tree())
            replica.signal_tree(signal.SIGSTOP)
        elif what == "kill all":
            self.go_on(set(replica.tree()))
            replica.kill_tree()
            self.restart(user)
        else:
            self.go_on(set(replica.tree()))
            replica.process.terminate()
            self.ending.append(replica)
            self.restart(user)

    @staticmethod
    def signal_worker(replica, worker, number):
        """To its present process; 0 if it has none at the moment."""
        lines = replica.lines(msg="worker running", worker=worker)
        pid = lines[-1]["pid"] if lines else 0
        if pid in replica.tree():
            replicas.send_signal(pid, number)
            return pid
        return 0

    def go_on(self, pids):
        for _, pid in self.stopped:
            if pid in pids:
                replicas.send_signal(pid, signal.SIGCONT)
        self.stopped = [s for s in self.stopped if s[1] not in pids]

    def tick(self):
        now = time.monotonic()
        due = {pid for until, pid in self.stopped if until <= now and pid != 0}
        if due:
            self.done["end of a stop"] += 1
            self.go_on(due)
        for replica in [r for r in self.ending if r.process.poll() is not None]:
            self.ending.remove(replica)
            if replica.process.returncode != 0:
                self.problems.append(f"exit {replica.process.returncode} after TERM:\n"
                                     f"{replica.tail()}")

    def run(self, events):
        while sum(self.done.values()) < events:
            self.event()
            end = time.monotonic() + self.dice.uniform(*PAUSE)
            while time.monotonic() < end:
                self.tick()
                time.sleep(0.01)
        self.go_on({pid for _, pid in self.stopped})

    def end(self):
        for replica in self.started:
            replica.end()


def slots(cluster):
    """Every bound Node's name, by its rack and slot."""
    return {(rack["metadata"]["name"], slot["index"]): slot["nodeRef"]["name"]
            for rack in cluster.api.items(f"{GROUP}/sgpuracks")
            for slot in rack["spec"]["nodes"] if "nodeRef" in slot}


def is_converged(cluster, names):
    projected = {node["metadata"]["name"] for node in cluster.projected()}
    return projected == names and cluster.converged("large")


def judge(cluster, trouble, witness, since, names):
    """What is wrong, in lines."""
    writes = mutations(cluster, (A, B), since)
    wrong = list(trouble.problems) + witness.wrong + witness.twice()
    wrong += [f"{b} began during {a}" for a, b in overlaps(writes)]
    bound = collections.Counter(slots(cluster).values())
    if set(bound) != names or set(bound.values()) - {1}:
        wrong.append("the bound Nodes are not those that are there, each once")
    patched = collections.Counter(w.name for w in writes
                                  if w.resource == "nodes/" and w.code == 200)
    again = sum(patched.values()) - len(patched)
    deaths = sum(len(r.lines(msg="worker died", worker="projector")) + 1
                 for r in trouble.started)
    if again > IN_FLIGHT * deaths:
        wrong.append(f"{again} Nodes were asked to change twice, {deaths} projectors died")
    terms = sum(len(r.lines(msg="acquired the lease")) for r in trouble.started)
    hands = len(replicas.gaps(writes))
    print(f"{len(writes)} writes, {len(patched)} Nodes projected, {again} requests sent "
          f"again (their answers died), {terms} terms, writing changed hands {hands} times, "
          f"{len(trouble.started)} instances", flush=True)
    return wrong


def run(seed, events, nodes):
    """Returns what is wrong, in lines."""
    print(f"seed {seed}, {events} events, {nodes} Nodes", flush=True)
    cluster = harness.Cluster()
    trouble = witness = None
    wrong = ["it did not come to its end"]
    try:
        cluster.install()
        replicas.admit(cluster, A, B)
        replicas.declare(cluster, (nodes * 3 // 2 + 199) // 100 * 100)
        witness = Witness(cluster)
        mark = cluster.mark()
        trouble = Trouble(cluster, random.Random(seed))
        replicas.create_nodes(cluster, nodes)
        load = Load(cluster, pause=0.05, leaving=0.45, seed=seed)
        trouble.run(events)
        print(", ".join(f"{what}: {count}" for what, count in trouble.done.items()), flush=True)
        load.stop()
        names = set(load.present) | {f"sim-{i:06d}" for i in range(nodes)}
        began = time.monotonic()
        wait_for("convergence", 180 + nodes // 10, lambda: is_converged(cluster, names))
        print(f"converged {time.monotonic() - began:.1f} s after the last event")
        time.sleep(1)
        wrong = judge(cluster, trouble, witness, mark, names)
    except AssertionError as error:
        wrong = [str(error)] + [r.tail(8) for r in trouble.present.values()]
    finally:
        if trouble is not None:
            trouble.end()
        if witness is not None:
            witness.close()
        if wrong:
            kept = f"/tmp/mokka-random-events-{seed}"
            shutil.copytree(cluster.directory, kept, dirs_exist_ok=True, symlinks=True,
                            ignore=shutil.ignore_patterns("*.sock*", "etcd*", "localhost*"))
            print(f"logs are kept in {kept}")
        cluster.down()
    return wrong


def main(arguments):
    numbers = [int(text) for text in arguments]
    seed = numbers[0] if numbers else random.randrange(1 << 32)
    events = numbers[1] if len(numbers) > 1 else 334
    nodes = numbers[2] if len(numbers) > 2 else 5000
    wrong = run(seed, events, nodes)
    for line in wrong[:20]:
        print(line)
    print(f"seed {seed}: " + (f"{len(wrong)} faults" if wrong else "all as it should be"))
    return 1 if wrong else 0


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
