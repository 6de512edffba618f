# SPDX-License-Identifier: Apache-2.0
"""The nine states of an estate at size (mokka-control 11.1), one after another,
and silence at the end.

    MOKKA_NODES=1000 MOKKA_SILENCE=600 python3 -B tests/cluster/test_states.py

runs them larger, and is quiet for the ten minutes of S04.  MOKKA_NODES must be
a multiple of the 100 Nodes of a rack, and two racks at least.
"""

import concurrent.futures
import json
import os
import time
import unittest

import harness
from harness import (ASSIGNED, ASSIGNMENT, CLIQUE, GROUP, ControlPlane, all_true,
                     wait_for)
from test_writing import PROFILE

COUNT = int(os.environ.get("MOKKA_NODES", "200"))
SILENCE = float(os.environ.get("MOKKA_SILENCE", "60"))
PER_RACK = 100
RACKS = COUNT // PER_RACK
INVENTORY = f"{GROUP}/sgpuinventories/scale"
NODES = "/api/v1/nodes"
ELIGIBLE = "mokka.nvidia.com/sgpu-node"


class States(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()
        cls.api = cls.cluster.api

    def add_nodes(self, first, count):
        def add(number):
            self.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": f"node-{number:05d}", "labels": {ELIGIBLE: "true"}}})
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(first, first + count)))

    def run_plane(self):
        self.plane = ControlPlane(self.cluster)
        harness.look_after(self, self.plane)

    def count(self, racks):
        self.api.ask("PATCH", INVENTORY, [
            {"op": "replace", "path": "/spec/rackGroups/0/count", "value": racks}],
            "application/json-patch+json")

    def nodes(self):
        return {n["metadata"]["name"]: n["metadata"] for n in self.api.items(NODES)}

    def assignments(self):
        """{name: (uid, annotation)}, to the byte."""
        return {name: (meta["uid"], meta["annotations"][ASSIGNMENT])
                for name, meta in self.nodes().items()
                if ASSIGNMENT in meta.get("annotations", {})}

    def reached(self, racks, eligible, allocated):
        item = self.api.get(INVENTORY)
        status = item.get("status", {})
        return (status.get("capacity", {}).get("racks") == racks
                and status["usage"]["requestedNodes"] == eligible
                and status["usage"]["allocatedNodes"] == allocated
                and all(c["observedGeneration"] == item["metadata"]["generation"]
                        for c in status["conditions"])
                and self.cluster.condition("scale", "Programmed")["status"] == "True"
                and len(self.assignments()) == allocated
                and all(all_true(r, 1) for r in self.api.items(f"{GROUP}/sgpuracks")))

    def state(self, name, racks, eligible, allocated):
        """Waits for a state, and checks all of it."""
        began = time.monotonic()
        try:
            wait_for(name, 120, lambda: self.reached(racks, eligible, allocated))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.plane.tail()}") from error
        print(f"  {name}: {time.monotonic() - began:.1f} s")
        with self.subTest(state=name):
            self.check_inventory(racks, eligible, allocated)
            self.check_nodes(self.check_racks(racks))
        return self.assignments()

    def check_inventory(self, racks, eligible, allocated):
        status = self.api.get(INVENTORY)["status"]
        slots = racks * PER_RACK
        self.assertEqual(status["capacity"], {"racks": racks, "nodes": slots, "gpus": slots})
        self.assertEqual(status["usage"], {
            "requestedNodes": eligible, "allocatedNodes": allocated,
            "availableNodes": slots - allocated, "pendingNodes": eligible - allocated})
        wanted = {"Accepted": "True", "ResolvedRefs": "True", "Programmed": "True",
                  "RequestsSatisfied": str(eligible == allocated)}
        self.assertEqual({c["type"]: c["status"] for c in status["conditions"]}, wanted)

    def check_racks(self, count):
        """{Node uid: (rack, slot)}"""
        inventory = self.api.get(INVENTORY)["metadata"]
        profile = self.api.get(f"{GROUP}/sgpurackprofiles/one")["metadata"]
        racks = self.api.items(f"{GROUP}/sgpuracks")
        self.assertEqual(sorted(r["spec"]["identity"]["rackIndex"] for r in racks),
                         list(range(count)))
        bound = {}
        for rack in racks:
            spec = rack["spec"]
            index = spec["identity"]["rackIndex"]
            self.assertRegex(rack["metadata"]["name"], rf"^scale-a-{index}-[0-9a-f]{{12}}$")
            self.assertEqual(spec["inventoryRef"]["uid"], inventory["uid"])
            self.assertEqual(spec["profileRef"]["uid"], profile["uid"])
            self.assertEqual(spec["profileRef"]["generation"], profile["generation"])
            self.assertEqual([s["index"] for s in spec["nodes"]], list(range(PER_RACK)))
            slots = [s for s in spec["nodes"] if "nodeRef" in s]
            self.assertEqual(rack["status"]["assignedNodes"], len(slots))
            self.assertEqual(rack["status"]["observedGeneration"],
                             rack["metadata"]["generation"])
            for slot in slots:
                self.assertNotIn(slot["nodeRef"]["uid"], bound)
                bound[slot["nodeRef"]["uid"]] = (rack, slot)
        return bound

    def check_nodes(self, bound):
        for name, meta in self.nodes().items():
            owners = [m for m in meta["managedFields"] if m["manager"] == "mokka-controller"]
            if meta["uid"] not in bound:
                self.assertEqual(owners, [], name)
                self.assertFalse({ASSIGNED, CLIQUE} & set(meta.get("labels", {})), name)
                self.assertNotIn(ASSIGNMENT, meta.get("annotations", {}), name)
                continue
            rack, slot = bound[meta["uid"]]
            identity = rack["spec"]["identity"]
            self.assertEqual(slot["nodeRef"]["name"], name)
            self.assertEqual([m["operation"] for m in owners], ["Apply"])
            self.assertEqual(meta["labels"][ASSIGNED], "true")
            self.assertEqual(meta["labels"][CLIQUE], f"{identity['fabricUUID']}.0")
            value = json.loads(meta["annotations"][ASSIGNMENT])
            self.assertEqual(
                (value["rack"]["uid"], value["rackIndex"], value["nodeIndex"],
                 value["nodeUID"], value["profile"]["revision"]),
                (rack["metadata"]["uid"], identity["rackIndex"], slot["index"],
                 meta["uid"], rack["spec"]["profileRef"]["revision"]))

    def test_S01_S04_nine_states_and_silence(self):
        profile = json.loads(json.dumps(PROFILE))
        profile["spec"]["rack"]["nodesPerRack"] = PER_RACK
        self.api.create(f"{GROUP}/sgpurackprofiles", profile)
        self.add_nodes(0, COUNT // 2)
        self.api.create(f"{GROUP}/sgpuinventories", {
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
            "metadata": {"name": "scale"}, "spec": {"rackGroups": [{
                "id": "a", "count": RACKS, "profileRef": {"name": "one"}}]}})
        self.run_plane()
        self.state("scale-up-half", RACKS, COUNT // 2, COUNT // 2)
        self.add_nodes(COUNT // 2, COUNT - COUNT // 2)
        before = self.state("steady-state", RACKS, COUNT, COUNT)

        mark = self.cluster.mark()
        self.assertEqual(self.plane.stop(), 0)
        self.run_plane()
        self.plane.wait_ready()
        time.sleep(2)
        self.assertEqual(self.state("controller-restart", RACKS, COUNT, COUNT), before)
        self.assertEqual(self.cluster.writes(mark), [])

        old = before["node-00000"][0]
        self.api.delete(f"{NODES}/node-00000")
        self.add_nodes(0, 1)
        new = self.nodes()["node-00000"]["uid"]
        wait_for("the new uid", 30, lambda: self.assignments().get(
            "node-00000", (None,))[0] == new)
        after = self.state("same-name-new-uid", RACKS, COUNT, COUNT)
        self.assertNotEqual(old, new)
        for assignments in (before, after):
            del assignments["node-00000"]
        self.assertEqual(before, after)

        self.add_nodes(COUNT, PER_RACK)
        self.state("capacity-exhaustion", RACKS, COUNT + PER_RACK, COUNT)
        self.count(RACKS // 2)
        self.state("inventory-shrink", RACKS // 2, COUNT + PER_RACK,
                   RACKS // 2 * PER_RACK)
        self.count(RACKS)
        self.state("inventory-grow", RACKS, COUNT + PER_RACK, COUNT)
        self.api.merge(f"{NODES}/node-00001", {"metadata": {"labels": {ELIGIBLE: None}}})
        self.state("eligibility-remove", RACKS, COUNT + PER_RACK - 1, COUNT)
        self.api.merge(f"{NODES}/node-00001", {"metadata": {"labels": {ELIGIBLE: "true"}}})
        self.state("eligibility-restore", RACKS, COUNT + PER_RACK, COUNT)

        # S04
        time.sleep(2)
        mark = self.cluster.mark()
        time.sleep(SILENCE)
        asked = [e for e in self.cluster.audit(mark) if e["verb"] != "watch"]
        self.assertEqual({e["objectRef"]["resource"] for e in asked}, {"leases"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
