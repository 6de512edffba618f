# SPDX-License-Identifier: Apache-2.0
"""What is written to a real API server, and what is left alone: projection,
cleanup, the drain, beside others who write to the same objects."""

import json
import re
import subprocess
import time
import unittest

import harness
from harness import (ASSIGNED, ASSIGNMENT, CLIQUE, GROUP, ControlPlane, Refused,
                     wait_for)

INVENTORY = f"{GROUP}/sgpuinventories/pair"
NODES = "/api/v1/nodes"
OURS = "mokka-controller"
PROFILE = {
    "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPURackProfile",
    "metadata": {"name": "one"},
    "spec": {"rack": {"nodesPerRack": 1}, "node": {
        "gpus": {"count": 1, "model": {}, "memory": {"capacity": "1Gi"}, "pci": {}},
        "topology": {"gpuSlots": [{"index": 0, "pciAddress": "0000:01:00.0",
                                   "rootComplex": "pci0000:00"}]}}}}


def drain_commands():
    """Those of docs/drain.md: the delete, and the two that verify."""
    text = (harness.ROOT / "docs" / "drain.md").read_text()
    return re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL)


class Writing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster(audit="Request")
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()
        cls.api = cls.cluster.api

    def setUp(self):
        self.cluster.reset()
        self.start = self.cluster.mark()
        self.addCleanup(self.check_nothing_was_forced)

    def check_nothing_was_forced(self):
        """E03, of every test."""
        for event in self.cluster.audit(self.start):
            self.assertNotIn("force=true", event["requestURI"])

    def declare(self, nodes=2, racks=2):
        self.cluster.add_nodes(nodes)
        self.api.create(f"{GROUP}/sgpurackprofiles", PROFILE)
        self.api.create(f"{GROUP}/sgpuinventories", {
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
            "metadata": {"name": "pair"},
            "spec": {"rackGroups": [{
                "id": "a", "count": racks, "profileRef": {"name": "one"},
                "placement": {"nodeSelector": {"matchLabels": {
                    "mokka.nvidia.com/pool": "demo"}}}}]}})

    def run_plane(self, *arguments):
        self.plane = ControlPlane(self.cluster, *arguments)
        harness.look_after(self, self.plane)

    def begin(self, nodes=2, racks=2, *arguments):
        self.declare(nodes, racks)
        self.run_plane(*arguments)
        self.settle(nodes)

    def settle(self, projected, seconds=30):
        self.until("convergence", lambda: self.cluster.converged("pair")
                   and len(self.cluster.projected()) == projected, seconds)

    def until(self, what, question, seconds=30):
        try:
            return wait_for(what, seconds, question)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.plane.tail()}") from error

    def node(self, name="sim-000"):
        return self.api.get(f"{NODES}/{name}")["metadata"]

    def edit_node(self, name="sim-000", **metadata):
        return self.api.merge(f"{NODES}/{name}", {"metadata": metadata})

    def apply_node(self, manager, name="sim-000", **metadata):
        """As another manager, by server-side apply: what stands already becomes
        his, too; nothing gives it up."""
        return self.api.ask("PATCH", f"{NODES}/{name}?fieldManager={manager}", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata}},
            "application/apply-patch+yaml")

    def count(self, racks):
        self.api.ask("PATCH", INVENTORY, [
            {"op": "replace", "path": "/spec/rackGroups/0/count", "value": racks}],
            "application/json-patch+json")

    def racks(self):
        return self.api.items(f"{GROUP}/sgpuracks")

    def bound(self):
        """{Node name: uid} over all racks."""
        return {s["nodeRef"]["name"]: s["nodeRef"]["uid"] for r in self.racks()
                for s in r["spec"]["nodes"] if "nodeRef" in s}

    def patches(self, since, name=None):
        """Applies to Nodes, whatever came of them."""
        return [e for e in self.cluster.audit(since)
                if e["verb"] == "patch" and e["objectRef"]["resource"] == "nodes"
                and name in (None, e["objectRef"]["name"])]

    def looks(self, since):
        """Live reads of Nodes."""
        return [e for e in self.cluster.audit(since)
                if e["verb"] == "get" and e["objectRef"]["resource"] == "nodes"]

    def clean(self, name="sim-000"):
        meta = self.node(name)
        return (ASSIGNED not in meta["labels"] and CLIQUE not in meta["labels"]
                and ASSIGNMENT not in meta.get("annotations", {})
                and OURS not in [m["manager"] for m in meta["managedFields"]])

    def said(self, message, **wanted):
        return self.plane.lines(msg=message, **wanted)

    def reason(self, kind="Programmed"):
        return self.cluster.condition("pair", kind).get("reason")


class Lifecycle(Writing):
    def test_Z01_P01_two_nodes_two_racks(self):
        self.begin()
        self.assertEqual(set(self.bound()), {"sim-000", "sim-001"})
        for name, uid in self.bound().items():
            asked, = self.patches(self.start, name)
            self.assertEqual(asked["requestURI"], f"{NODES}/{name}?fieldManager={OURS}"
                                                  "&force=false")
            body = asked["requestObject"]
            self.assertEqual(sorted(body), ["apiVersion", "kind", "metadata"])
            self.assertEqual(sorted(body["metadata"]),
                             ["annotations", "labels", "name", "uid"])
            self.assertEqual(body["metadata"]["uid"], uid)
            self.assertEqual(sorted(body["metadata"]["labels"]), [ASSIGNED, CLIQUE])
            self.assertEqual(list(body["metadata"]["annotations"]), [ASSIGNMENT])
        self.assertEqual(self.cluster.condition("pair", "Programmed")["status"], "True")

    def test_Z02_one_rack_less(self):
        self.begin()
        second, = [s["nodeRef"]["name"] for r in self.racks() for s in r["spec"]["nodes"]
                   if r["spec"]["identity"]["rackIndex"] == 1]
        self.count(1)
        self.until("one rack", lambda: len(self.racks()) == 1)
        self.until("its status", lambda: self.api.get(INVENTORY)["status"][
            "capacity"]["nodes"] == 1)
        self.assertTrue(self.clean(second))

    def test_Z03_P12_a_node_made_anew(self):
        self.begin()
        mark = self.cluster.mark()
        old = self.bound()["sim-000"]
        self.api.delete(f"{NODES}/sim-000")
        self.cluster.add_nodes(1)
        new = self.node()["uid"]
        self.until("the new one", lambda: self.bound().get("sim-000") == new)
        self.settle(2)
        self.assertNotEqual(old, new)
        self.assertEqual(list(self.bound().values()).count(new), 1)
        # Nothing meant for the old one was written to the new one.
        for asked in self.patches(mark, "sim-000"):
            if asked["responseStatus"]["code"] < 300:
                self.assertEqual(asked["requestObject"]["metadata"]["uid"], new)

    def test_Z04_the_inventory_is_deleted(self):
        self.begin()
        mark = self.cluster.mark()
        self.api.delete(INVENTORY)
        self.until("the drain", lambda: not self.api.items(f"{GROUP}/sgpuinventories"))
        self.assertEqual(self.racks(), [])
        for name in ("sim-000", "sim-001"):
            self.assertTrue(self.clean(name))
            self.assertEqual(len(self.patches(mark, name)), 1)
        self.assertEqual(self.looks(mark), [])
        # 5.6: the live racks are looked at before the finalizer goes.
        lists = [e for e in self.cluster.audit(mark) if e["verb"] == "list"
                 and e["objectRef"]["resource"] == "sgpuracks"]
        self.assertTrue(lists)
        self.assertTrue(all("labelSelector=mokka.nvidia.com%2Finventory%3Dpair"
                            in e["requestURI"] for e in lists))

    def test_Z05_a_restart_while_a_node_is_replaced(self):
        self.begin(50, 50, "--workers", "16")
        self.assertEqual(self.plane.stop(), 0)
        self.run_plane("--workers", "16")
        self.api.delete(f"{NODES}/sim-025")
        self.cluster.add_nodes(1, prefix="sim-025x")
        self.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "sim-025", "labels": self.node("sim-025x-000")["labels"]}})
        self.api.delete(f"{NODES}/sim-025x-000")
        uid = self.node("sim-025")["uid"]
        self.until("the new one", lambda: self.bound().get("sim-025") == uid)
        self.settle(50)


class Conflicts(Writing):
    def test_P04_a_key_of_somebody_else(self):
        self.declare()
        self.apply_node("gpu-operator", labels={CLIQUE: "theirs"})
        self.apply_node("helm", labels={CLIQUE: "theirs", ASSIGNED: "true"})
        self.run_plane()
        self.until("the conflict", lambda: self.reason() == "NodeMetadataConflict")
        time.sleep(1)
        self.assertEqual(self.patches(self.start, "sim-000"), [])
        said = self.said("metadata conflict blocks projection", node="sim-000")
        self.assertEqual({line["fields"] for line in said}, {f"{ASSIGNED},{CLIQUE}"})
        self.assertEqual(said[0]["managers"],
                         f"{ASSIGNED} by helm; {CLIQUE} by gpu-operator,helm")
        self.assertEqual(len(said), 1)
        self.assertEqual(len(self.cluster.projected()), 2)  # helm's label, and sim-001
        # They let go: it is projected by itself.
        self.apply_node("helm")
        self.apply_node("gpu-operator")
        self.settle(2)

    def test_P05_other_values_are_left_until_the_node_changes(self):
        self.declare()
        self.edit_node(labels={ASSIGNED: "false", CLIQUE: "x"},
                       annotations={ASSIGNMENT: "junk"})
        self.run_plane()
        self.until("the conflict", lambda: self.reason() == "NodeMetadataConflict")
        time.sleep(0.5)
        self.assertEqual(self.patches(self.start, "sim-000"), [])
        meta = self.node()
        self.assertEqual((meta["labels"][ASSIGNED], meta["labels"][CLIQUE],
                          meta["annotations"][ASSIGNMENT]), ("false", "x", "junk"))
        self.edit_node(labels={ASSIGNED: None, CLIQUE: None}, annotations={ASSIGNMENT: None})
        self.settle(2)
        self.assertEqual(len(self.patches(self.start, "sim-000")), 1)

    def test_P09_somebody_joins_a_projection_that_stands(self):
        self.begin()
        mark = self.cluster.mark()
        self.apply_node("helm", labels={ASSIGNED: "true"})
        self.until("the conflict", lambda: self.reason() == "NodeMetadataConflict")
        self.assertEqual(self.patches(mark), [])
        self.apply_node("helm")
        self.settle(2)
        self.assertEqual(self.patches(mark), [])

    def test_P14_a_rack_edited_by_somebody_else(self):
        self.begin()
        rack = next(r for r in self.racks() if r["spec"]["identity"]["rackIndex"] == 0)
        name = rack["spec"]["nodes"][0]["nodeRef"]["name"]
        path = f"{GROUP}/sgpuracks/{rack['metadata']['name']}"
        self.api.ask("PATCH", f"{path}?fieldManager=kubectl-edit", [{
            "op": "replace", "path": "/spec/nodes/0/gpus/0/serial", "value": "edited"}],
            "application/json-patch+json")
        self.until("the conflict", lambda: self.reason() == "RackOwnershipConflict")
        mark = self.cluster.mark()
        self.edit_node(name, labels={ASSIGNED: None})
        time.sleep(1.5)
        self.assertEqual(self.patches(mark), [])
        self.assertEqual([e for e in self.cluster.writes(mark)
                          if e["objectRef"]["resource"] == "sgpuracks"
                          and "subresource" not in e["objectRef"]], [])

    def test_12_without_the_clique_label(self):
        self.begin(2, 2)
        self.assertEqual(self.plane.stop(), 0)
        self.run_plane("--project-clique-label=false")
        self.until("its release", lambda: all(
            CLIQUE not in self.node(name)["labels"] for name in ("sim-000", "sim-001")))
        self.settle(2)
        self.apply_node("gpu-operator", labels={CLIQUE: "theirs"})
        time.sleep(1)
        self.assertTrue(self.cluster.converged("pair"))
        mark = self.cluster.mark()
        self.api.delete(INVENTORY)
        self.until("the drain", lambda: not self.api.items(f"{GROUP}/sgpuinventories"))
        self.assertEqual(self.node()["labels"][CLIQUE], "theirs")
        self.assertEqual(len(self.patches(mark, "sim-000")), 1)

    def test_G04_no_room_on_one_node(self):
        self.declare()
        self.edit_node(annotations={f"example.com/{i}": "x" * 65000 for i in range(4)})
        self.edit_node(annotations={"example.com/more": "x" * 1900})
        self.run_plane()
        self.until("the other one", lambda: len(self.cluster.projected()) == 1)
        self.until("its error", lambda: self.said("reconciliation failed"))
        tried = len(self.patches(self.start, "sim-000"))
        time.sleep(2)
        self.assertLess(len(self.patches(self.start, "sim-000")), tried + 12)
        line = self.said("reconciliation failed")[0]
        self.assertIn("Too long", line["error"])
        self.assertTrue(line["key"].startswith("node sim-000 "))
        self.assertEqual(self.reason(), "ProjectionIncomplete")
        self.edit_node(annotations={"example.com/more": None})
        self.settle(2)

    def test_a_left_over_of_a_rack_that_is_gone(self):
        """DESIGN 12: a rack is removed by force while nothing runs."""
        self.begin()
        self.assertEqual(self.plane.stop(), 0)
        for rack in self.racks():
            path = f"{GROUP}/sgpuracks/{rack['metadata']['name']}"
            self.api.merge(path, {"metadata": {"finalizers": None}})
            self.api.delete(path)
        self.run_plane()
        self.until("new racks", lambda: len(self.racks()) == 2)
        self.until("their projection", lambda: {
            r["metadata"]["uid"] for r in self.racks()} == {
                json.loads(n["metadata"]["annotations"][ASSIGNMENT])["rack"]["uid"]
                for n in self.cluster.projected()})
        self.settle(2)


class Drain(Writing):
    def delete(self):
        """The command of the documentation, under way."""
        command, *_ = drain_commands()
        return subprocess.Popen(
            command.replace("kubectl", f"{self.cluster.bin}/kubectl", 1), shell=True,
            env={"KUBECONFIG": self.cluster.kubeconfig, "PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def verify(self):
        """What the two commands of the documentation print."""
        _, *commands = drain_commands()
        self.assertEqual(len(commands), 2)
        return [subprocess.run(
            command.replace("kubectl", f"{self.cluster.bin}/kubectl", 1), shell=True,
            env={"KUBECONFIG": self.cluster.kubeconfig, "PATH": "/usr/bin:/bin"},
            check=True, stdout=subprocess.PIPE, text=True).stdout for command in commands]

    def finish(self, deletion, seconds=60):
        try:
            out, _ = deletion.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            deletion.kill()
            raise AssertionError(f"the drain has not ended\n{self.plane.tail()}") from error
        self.assertEqual(deletion.returncode, 0, out)
        self.assertEqual(self.verify(), ["", ""])

    def test_10_7_the_commands_see_what_is_there(self):
        self.begin()
        found, dirty = self.verify()
        self.assertEqual(len(found.splitlines()), 3)
        self.assertEqual(dirty.split(), ["sim-000", "sim-001"])
        # Each sign alone is enough.
        self.assertEqual(self.plane.stop(), 0)
        self.edit_node("sim-000", labels={ASSIGNED: None, CLIQUE: None},
                       annotations={ASSIGNMENT: None})
        self.assertEqual(self.verify()[1].split(), ["sim-001"])
        self.edit_node("sim-000", annotations={ASSIGNMENT: "x"})
        self.assertIn("sim-000", self.verify()[1])
        self.edit_node("sim-000", annotations={ASSIGNMENT: None}, labels={ASSIGNED: "x"})
        self.assertIn("sim-000", self.verify()[1])

    def test_10_7_an_estate_in_every_state(self):
        """Nodes that left the feed, went, were replaced, are shared with others,
        lost a key: the drain ends, and nothing of ours is left."""
        self.begin(8, 8)
        mark = self.cluster.mark()
        self.edit_node("sim-000", labels={"mokka.nvidia.com/sgpu-node": None})
        self.api.delete(f"{NODES}/sim-001")
        self.api.delete(f"{NODES}/sim-002")
        self.cluster.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "sim-002", "labels": {"other": "true"}}})
        self.edit_node("sim-003", annotations={ASSIGNMENT: None})
        self.edit_node("sim-004", labels={ASSIGNED: None})
        self.edit_node("sim-005", labels={"mokka.nvidia.com/pool": "other"})
        self.apply_node("other", "sim-006", labels={"example.com/a": "b"})
        self.finish(self.delete())
        self.assertNotIn(OURS, [m["manager"] for m in self.node("sim-002")["managedFields"]])
        self.assertEqual(self.node("sim-006")["labels"]["example.com/a"], "b")
        self.assertEqual(self.node("sim-005")["labels"]["mokka.nvidia.com/pool"], "other")
        self.assertLessEqual(len(self.patches(mark, "sim-007")), 1)

    def test_10_7_during_a_restart(self):
        self.begin(20, 20, "--kube-api-qps", "20", "--kube-api-burst", "1")
        deletion = self.delete()
        self.until("some of it", lambda: len(self.cluster.projected()) < 15)
        self.plane.process.kill()
        self.plane.process.wait()
        self.api.delete(harness.LEASE)
        self.run_plane()
        self.finish(deletion)

    def test_K04_K05_10_7_a_stuck_conflict_holds_until_it_is_solved(self):
        self.begin()
        value = self.node()["annotations"][ASSIGNMENT]
        self.apply_node("other", annotations={ASSIGNMENT: value})
        mark = self.cluster.mark()
        deletion = self.delete()
        self.until("its warning", lambda: self.said(
            "metadata conflict blocks cleanup", node="sim-000"))
        self.until("the other Node", lambda: self.clean("sim-001"))
        time.sleep(2)
        self.assertIsNone(deletion.poll())
        self.assertEqual(len(self.patches(mark, "sim-000")), 1)
        line = self.said("metadata conflict blocks cleanup", node="sim-000")[-1]
        self.assertEqual(line["managers"], f"{ASSIGNMENT} by other")
        rack, = self.racks()
        self.assertEqual(rack["spec"]["nodes"][0]["nodeRef"]["name"], "sim-000")
        self.assertIn("mokka.nvidia.com/rack-cleanup", rack["metadata"]["finalizers"])
        self.assertIn("mokka.nvidia.com/inventory-cleanup",
                      self.api.get(INVENTORY)["metadata"]["finalizers"])
        self.apply_node("other")
        self.finish(deletion)
        self.assertEqual(len(self.patches(mark, "sim-000")), 1)

    def test_K04_outside_the_feed_too(self):
        self.begin()
        value = self.node()["annotations"][ASSIGNMENT]
        self.apply_node("other", annotations={ASSIGNMENT: value})
        self.edit_node(labels={"mokka.nvidia.com/sgpu-node": None})
        mark = self.cluster.mark()
        deletion = self.delete()
        self.until("its warning", lambda: self.said(
            "metadata conflict blocks cleanup", node="sim-000"))
        time.sleep(1.5)
        self.assertIsNone(deletion.poll())
        self.assertLessEqual(len(self.patches(mark, "sim-000")), 1)
        self.assertLess(len(self.looks(mark)), 14)
        self.apply_node("other")
        self.finish(deletion)

    def test_K03_a_foreign_value_keeps_our_evidence(self):
        self.begin()
        value = self.node()["annotations"][ASSIGNMENT]
        self.edit_node(labels={CLIQUE: "x"})
        self.until("it to be seen", lambda: self.reason() == "NodeMetadataConflict")
        deletion = self.delete()
        self.until("our label to go", lambda: ASSIGNED not in self.node()["labels"])
        time.sleep(1)
        self.assertEqual(self.node()["labels"][CLIQUE], "x")
        self.assertEqual(self.node()["annotations"][ASSIGNMENT], value)
        self.assertIsNone(deletion.poll())
        self.edit_node(labels={CLIQUE: None})
        self.finish(deletion)

    def test_F02_nodes_that_go_meanwhile(self):
        self.begin(20, 20, "--kube-api-qps", "50", "--kube-api-burst", "1")
        deletion = self.delete()
        self.api.delete(NODES)
        self.finish(deletion)

    def test_F04_deleted_in_the_foreground(self):
        self.begin()
        self.api.ask("DELETE", INVENTORY, {
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"})
        self.until("our part", lambda: self.api.get(INVENTORY)["metadata"][
            "finalizers"] == ["foregroundDeletion"])
        self.assertEqual(self.racks(), [])
        self.assertEqual(self.verify()[1], "")
        mark = self.cluster.mark()
        time.sleep(1.5)
        self.assertEqual(self.cluster.writes(mark), [])
        self.api.merge(INVENTORY, {"metadata": {"finalizers": None}})

    def test_7_a_rack_removed_by_force(self):
        """Its Nodes are cleaned, also those that are not wanted again."""
        self.begin()
        self.edit_node("sim-001", labels={"mokka.nvidia.com/pool": "other"})
        self.until("its release", lambda: self.clean("sim-001"))
        self.assertEqual(self.plane.stop(), 0)
        self.edit_node("sim-001", labels={"mokka.nvidia.com/pool": "demo"})
        self.run_plane()
        self.settle(2)
        for rack in self.racks():
            path = f"{GROUP}/sgpuracks/{rack['metadata']['name']}"
            try:
                self.api.merge(path, {"metadata": {"finalizers": None}})
                self.api.delete(path)
            except Refused as refused:
                self.assertEqual(refused.status, 404)
        self.settle(2)
        self.finish(self.delete())


if __name__ == "__main__":
    unittest.main(verbosity=2)
