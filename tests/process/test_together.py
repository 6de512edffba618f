# SPDX-License-Identifier: Apache-2.0
"""Several workers of a real control plane die at the same moment, while watches
lag behind what was written: nobody is left who knows what that was.  The API
server is ours, and looks at each write."""

import os
import random
import signal
import time
import unittest

from driver import WORKERS, wait_for
import api
from estate import ASSIGNMENT, declare, projected
from test_supervisor import SupervisorTest

NODES = 40
ROUNDS = int(os.environ.get("MOKKA_ROUNDS", 5))
POOL = "mokka.nvidia.com/pool"
LAGS = (0, 0.3, 1)
TOGETHER = (("placer", "projector"), ("placer", "projector"),
            ("informer", "placer", "projector"))


def bindings(rack):
    """uids of Nodes by slot."""
    return {slot["index"]: slot["nodeRef"]["uid"]
            for slot in (rack or {}).get("spec", {}).get("nodes", ())
            if "nodeRef" in slot}


class Witness(api.Api):
    """Notes what no write may do."""

    def __init__(self):
        self.wrong = []
        super().__init__()

    def store(self, plural, item, old):
        if plural == "sgpuracks":
            self.look(item, old)
        return super().store(plural, item, old)

    def look(self, rack, old):
        name = rack["metadata"]["name"]
        new, stood = bindings(rack), bindings(old)
        for index in new.keys() - stood.keys():
            for other in self.objects["sgpuracks"].values():
                if new[index] in bindings(other).values():
                    self.wrong.append(f"{new[index]} is bound by {name} and "
                                      f"{other['metadata']['name']}")
        if len(set(new.values())) < len(new):
            self.wrong.append(f"{name} binds a Node twice: {new}")
        for node in self.objects["nodes"].values():
            meta = node["metadata"]
            if (meta["uid"] in set(stood.values()) - set(new.values())
                    and f'"{name}"' in meta.get("annotations", {}).get(ASSIGNMENT, "")):
                self.wrong.append(f"{name} lets {meta['name']} go, which carries it")


class Together(SupervisorTest):
    def setUp(self):
        seed = int(os.environ.get("MOKKA_SEED", random.randrange(1 << 32)))
        print(f"  MOKKA_SEED={seed}")
        self.dice = random.Random(seed)
        self.server = Witness()
        self.addCleanup(self.server.close)

    def move(self, name, pool):
        self.server.edit(name, "kubectl", labels={POOL: pool})

    def stir(self):
        """Some Nodes leave the pool, others come back to it."""
        for name in self.dice.sample(sorted(self.server.objects["nodes"]), 6):
            labels = self.server.get("nodes", name)["metadata"]["labels"]
            self.move(name, "other" if labels[POOL] == "demo" else "demo")

    def kill(self, plane, names):
        """All of them at once, as soon as each of them runs."""
        for name in names:
            wait_for(name, 20, lambda name=name: plane.running(name))
        for name in names:
            os.kill(plane.everyone()[name], signal.SIGKILL)

    def wanted(self):
        with self.server.lock:
            return sum(node["metadata"]["labels"][POOL] == "demo"
                       for node in self.server.objects["nodes"].values())

    def converge(self):
        wait_for("convergence", 60, lambda: projected(self.server) == self.wanted())

    def bound(self, name):
        uid = self.server.get("nodes", name)["metadata"]["uid"]
        with self.server.lock:
            return any(uid in bindings(rack).values()
                       for rack in self.server.objects["sgpuracks"].values())

    def test_a_binding_that_nobody_knows_of_is_not_made_a_second_time(self):
        declare(self.server, NODES)
        for name in ("sim-000", "sim-039"):
            self.move(name, "other")
        plane = self.plane(server=self.server, record=False)
        self.converge()
        self.move("sim-005", "other")  # one slot of the first rack is free now
        wait_for("the slot", 20, lambda: not self.bound("sim-005"))
        time.sleep(1)
        self.server.lag["sgpuracks"] = 20
        self.move("sim-039", "demo")
        wait_for("the binding", 20, lambda: self.bound("sim-039"))
        self.move("sim-000", "demo")  # comes before it, and would get that slot
        self.kill(plane, ("placer", "projector"))
        wait_for("the other binding", 10, lambda: self.bound("sim-000"))
        self.server.lag.clear()
        self.converge()
        self.assertEqual(self.server.wrong, [])
        self.assertEqual(plane.stop(), 0)

    def test_workers_that_die_together_bind_nothing_twice_and_leave_nothing(self):
        declare(self.server, NODES)
        plane = self.plane(server=self.server, record=False)
        plane.wait_running(*WORKERS)
        for _ in range(ROUNDS):
            for plural in ("sgpuracks", "nodes"):
                self.server.lag[plural] = self.dice.choice(LAGS)
            self.stir()
            time.sleep(self.dice.uniform(0, 0.8))
            names = self.dice.choice(TOGETHER)
            if self.dice.random() < 0.5:
                self.stir()
            self.kill(plane, names)
            if self.dice.random() < 0.5:
                self.stir()
            time.sleep(self.dice.uniform(0, 1.5))
        self.server.lag.clear()
        self.converge()
        writes = len([r for r in self.server.requests if r.method != "GET"])
        print(f"  {ROUNDS} rounds, {writes} writes")
        self.assertEqual(self.server.wrong, [])
        self.assertEqual(plane.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
