# SPDX-License-Identifier: Apache-2.0
"""The promise: kill any worker at any time, and nothing is lost, nothing is
written twice, nobody but the dead one starts anew."""

import collections
import random
import time
import unittest

import harness
from harness import WORKERS, ControlPlane, NodeWatch, wait_for

NODES = 54
# Slow enough that a kill falls between the first projected Node and the last.
PACE = ("--kube-api-qps", "40", "--kube-api-burst", "1")


class Kill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()

    def begin(self, *arguments):
        """A control plane that leads and is ready, and 54 Nodes to place."""
        cluster = self.cluster
        cluster.reset()
        cluster.add_nodes(NODES)
        cluster.add_samples("profile-nvl72")
        self.mark = cluster.mark()
        self.plane = ControlPlane(cluster, *arguments)
        harness.look_after(self, self.plane)
        self.plane.wait_ready()
        self.watch = NodeWatch(cluster.api)
        self.lists = collections.Counter()
        self.lease = cluster.api.get(harness.LEASE)["spec"]
        self.check_lists()
        cluster.add_samples("inventory-54")

    def patches(self):
        return [e for e in self.cluster.audit(self.mark)
                if e["verb"] == "patch" and e["objectRef"]["resource"] == "nodes"]

    def starts(self, name):
        return len(self.plane.lines(msg="worker running", worker=name))

    def check_lists(self):
        """Each start of an informer lists each resource, and nobody else does;
        the racks are listed once more before the first write of the term, and for
        a placer that finds a projector which began after they were."""
        starts = self.starts("informer")
        fresh = self.starts("placer") - 1 if self.starts("projector") > 1 else 0
        listed = collections.Counter(
            e["objectRef"]["resource"] for e in self.cluster.lists(self.mark))
        for resource, count in listed.items():
            more = 1 + fresh if resource == "sgpuracks" else 0
            self.assertLessEqual(count, starts + more, f"LISTs of {resource}")
        self.assertEqual(
            set(listed), {"sgpurackprofiles", "sgpuinventories", "sgpuracks", "nodes"})

    def converge(self):
        try:
            wait_for("convergence", 60, lambda: len(self.cluster.projected()) == NODES
                     and self.cluster.converged())
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.plane.tail()}") from error
        time.sleep(1.5)  # what would be written once more, is written by now

    def check_once(self, answers_lost):
        """Every Node was projected by exactly one change.  An answer that died
        with the projector may cost a second request, which changes nothing; or
        none, where the server has made the change and notes that it could not
        say so."""
        self.assertEqual(set(self.watch.changes.values()), {1},
                         self.watch.changes.most_common(3))
        self.assertEqual(len(self.watch.changes), NODES)
        asked = {e["objectRef"]["name"] for e in self.patches()}
        done = collections.Counter(
            e["objectRef"]["name"] for e in self.patches()
            if e["responseStatus"]["code"] == 200)
        self.assertEqual(asked, set(self.watch.changes))
        self.assertLessEqual(len(asked) - len(done), answers_lost)
        again = sum(done.values()) - NODES
        self.assertLessEqual(again, answers_lost, done.most_common(3))
        racks = [e for e in self.cluster.writes(self.mark)
                 if e["objectRef"]["resource"] == "sgpuracks"
                 and "subresource" not in e["objectRef"]]
        self.assertEqual([e["verb"] for e in racks], ["create"] * 3)

    def check_standing(self):
        lease = self.cluster.api.get(harness.LEASE)["spec"]
        for key in ("holderIdentity", "leaseTransitions", "acquireTime"):
            self.assertEqual(lease[key], self.lease[key], key)
        self.assertIsNone(self.plane.process.poll(), "the supervisor ended")
        self.check_lists()

    def strike(self, name):
        generation, killed = self.plane.kill(name)
        took = self.plane.wait_back(name, generation) - killed
        print(f"  {name} killed (generation {generation}), "
              f"back after {took * 1000:.0f} ms")
        self.assertLess(took, 10)
        died = self.plane.lines(msg="worker died", worker=name,
                                generation=generation)
        self.assertEqual(len(died), 1)
        self.assertIn("signal 9", died[0]["cause"])

    def kill_one(self, name):
        self.begin(*PACE)
        wait_for("the first Nodes", 30, lambda: len(self.patches()) >= 5)
        self.strike(name)
        self.assertLess(len(self.patches()), NODES, "the kill came too late")
        self.converge()
        # The projector has at most so many requests under way.
        self.check_once(64 if name == "projector" else 0)
        self.check_standing()

    def test_kill_projector(self):
        self.kill_one("projector")

    def test_kill_placer(self):
        self.kill_one("placer")

    def test_kill_informer(self):
        self.kill_one("informer")

    def test_kill_elector(self):
        self.kill_one("elector")

    def test_kill_web(self):
        self.kill_one("web")

    def test_kill_all_in_random_order_20_rounds(self):
        seed = random.randrange(1 << 32)
        print(f"  seed {seed}")
        deck = list(WORKERS) * 4
        random.Random(seed).shuffle(deck)
        self.begin("--kube-api-qps", "8", "--kube-api-burst", "1")
        wait_for("the first Nodes", 30, lambda: len(self.patches()) >= 2)
        for name in deck:
            self.strike(name)
        self.converge()
        self.check_once(64 * deck.count("projector"))
        self.check_standing()


if __name__ == "__main__":
    unittest.main(verbosity=2)
