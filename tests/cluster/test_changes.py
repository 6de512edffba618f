# SPDX-License-Identifier: Apache-2.0
"""Estates that change under way: what is declared follows, and it ends still."""

import time
import unittest

import harness
from harness import GROUP, ControlPlane, wait_for

INVENTORY = f"{GROUP}/sgpuinventories/demo"


class Changes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()

    def setUp(self):
        self.cluster.reset()

    def begin(self, nodes, *arguments):
        self.cluster.add_nodes(nodes)
        self.cluster.add_samples("profile-nvl72", "inventory-54")
        self.plane = ControlPlane(self.cluster, *arguments)
        harness.look_after(self, self.plane)
        self.settle()

    def settle(self, seconds=30):
        """Until all is True, and for a second nothing is written any more."""
        try:
            wait_for("convergence", seconds, self.cluster.converged)
            wait_for("silence", seconds, self.silent)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.plane.tail()}") from error

    def silent(self):
        mark = self.cluster.mark()
        time.sleep(1)
        return not [e for e in self.cluster.audit(mark)
                    if e["objectRef"]["resource"] != "leases" and e["verb"] != "watch"]

    def count(self, racks):
        self.cluster.api.ask("PATCH", INVENTORY, [
            {"op": "replace", "path": "/spec/rackGroups/0/count", "value": racks}],
            "application/json-patch+json")

    def racks(self):
        return {r["spec"]["identity"]["rackIndex"]: r["metadata"]
                for r in self.cluster.api.items(f"{GROUP}/sgpuracks")}

    def test_count_down_and_up_again_and_again(self):
        self.begin(54)
        for _ in range(4):
            self.count(1)
            wait_for("one rack", 20, lambda: list(self.racks()) == [0])
            self.count(3)
            self.settle()
            self.assertEqual(len(self.cluster.projected()), 54)

    def test_M24_deleted_racks_are_made_again(self):
        self.begin(54)
        for _ in range(3):
            before = {m["uid"] for m in self.racks().values()}
            for meta in self.racks().values():
                self.cluster.api.delete(f"{GROUP}/sgpuracks/{meta['name']}")
            wait_for("new racks", 30, lambda: len(self.racks()) == 3 and not
                     before & {m["uid"] for m in self.racks().values()})
            self.settle()
            self.assertEqual(len(self.cluster.projected()), 54)

    def test_rack_deleted_while_its_Node_left_the_feed(self):
        self.begin(20)
        first = self.racks()[0]["name"]
        self.cluster.api.merge("/api/v1/nodes/sim-000", {"metadata": {
            "labels": {"mokka.nvidia.com/sgpu-node": None}}})
        self.cluster.api.delete(f"{GROUP}/sgpuracks/{first}")
        self.settle()
        left = self.cluster.api.get("/api/v1/nodes/sim-000")["metadata"]
        self.assertNotIn(harness.ASSIGNED, left["labels"])
        self.assertEqual(len(self.cluster.projected()), 19)

    def test_inventory_deleted_while_its_racks_are_made_is_drained(self):
        self.begin(0, "--kube-api-qps", "20", "--kube-api-burst", "1")
        self.count(20)
        wait_for("some racks", 20, lambda: len(self.racks()) >= 5)
        self.cluster.api.delete(INVENTORY)
        wait_for("the drain", 60, lambda: not self.racks() and not
                 self.cluster.api.items(f"{GROUP}/sgpuinventories"))
        self.assertTrue(self.silent())

    def test_inventory_that_comes_and_goes_leaves_no_orphan(self):
        self.begin(20)
        for pause in (0, 0.02, 0.05, 0.1, 0.3):
            self.cluster.api.delete(INVENTORY)
            wait_for("the drain", 30, lambda: not self.racks() and not
                     self.cluster.api.items(f"{GROUP}/sgpuinventories"))
            self.cluster.add_samples("inventory-54")
            time.sleep(pause)
        self.settle()
        self.assertEqual(len(self.cluster.projected()), 20)

    def test_relabelled_Node_moves(self):
        self.begin(20)
        pool = {"metadata": {"labels": {"mokka.nvidia.com/pool": "other"}}}
        self.cluster.api.merge("/api/v1/nodes/sim-003", pool)
        wait_for("the release", 20, lambda: len(self.cluster.projected()) == 19)
        pool["metadata"]["labels"]["mokka.nvidia.com/pool"] = "demo"
        self.cluster.api.merge("/api/v1/nodes/sim-003", pool)
        wait_for("its return", 20, lambda: len(self.cluster.projected()) == 20)
        self.settle()

    def test_Z03_replaced_Node_is_bound_by_its_new_uid(self):
        self.begin(20)
        self.cluster.api.delete("/api/v1/nodes/sim-005")
        self.cluster.add_nodes(1, prefix="sim-005x")
        node = self.cluster.api.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {
                "name": "sim-005", "labels": {"mokka.nvidia.com/sgpu-node": "true",
                                              "mokka.nvidia.com/pool": "demo"}}})
        wait_for("21 Nodes", 20, lambda: len(self.cluster.projected()) == 21)
        self.settle()
        bound = [s["nodeRef"]["uid"] for r in self.cluster.api.items(f"{GROUP}/sgpuracks")
                 for s in r["spec"]["nodes"] if s.get("nodeRef", {}).get("name") == "sim-005"]
        self.assertEqual(bound, [node["metadata"]["uid"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
