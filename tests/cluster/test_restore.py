# SPDX-License-Identifier: Apache-2.0
"""What docs/operating.md says of backup and restore: its commands, and what comes
of each kind of restore.  The end is always the same: all is converged, and every
Node has one slot, that names this very Node."""

import json
import os
import shutil
import subprocess
import time
import unittest

import harness
import manual
from harness import GROUP, LOCAL, wait_for

BUILD = harness.PROGRAM.parent
PAGE = "docs/operating.md"
NODES = 54


class Restore(harness.Estate):
    def setUp(self):
        super().setUp()
        self.folder = self.cluster.directory / self.id().rpartition(".")[2]
        self.folder.mkdir()
        self.declare()
        self.plane = self.begin()
        self.converge(self.plane)

    def begin(self):
        # A recording would end with the first restart.
        return super().plane(record=False)

    def run_page(self, *places, plane=None):
        """The blocks of these places, and then what shows that it is over."""
        environment = {
            **os.environ, "PATH": f"{BUILD}:{self.cluster.bin}:{os.environ['PATH']}",
            "KUBECONFIG": self.cluster.kubeconfig, "NO_COLOR": "1",
            "MOKKA_CP_KUBECONFIG": self.cluster.kubeconfig,
            "MOKKA_CP_CONTROL_SOCKET": str((plane or self.plane).socket)}
        for line, shown in self.commands(*places, " restored"):
            done = subprocess.run(
                ["sh", "-c", line], cwd=self.folder, env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200, check=False)
            if not manual.is_shown(shown, done.stdout):
                self.fail(f"$ {line}\n--- shown\n{shown}--- printed\n{done.stdout}"
                          f"--- log\n{(plane or self.plane).tail(5)}")

    def commands(self, *places):
        for place in places:
            found = list(manual.commands(place, PAGE))
            self.assertNotEqual(found, [], place)
            yield from found

    # The end

    def racks(self):
        return {r["metadata"]["name"]: r for r in self.cluster.api.items(f"{GROUP}/sgpuracks")}

    def uids(self, path):
        return {o["metadata"]["name"]: o["metadata"]["uid"]
                for o in self.cluster.api.items(path)}

    def slots(self):
        """{(rack index, slot): Node}"""
        return {(r["spec"]["identity"]["rackIndex"], s["index"]): s["nodeRef"]["name"]
                for r in self.racks().values() for s in r["spec"]["nodes"]
                if "nodeRef" in s}

    def bound(self):
        return [s["nodeRef"] for r in self.racks().values() for s in r["spec"]["nodes"]
                if "nodeRef" in s]

    def check(self, plane=None):
        """Converged; each Node once, by its present UID; each annotation names the
        present rack."""
        nodes = self.uids("/api/v1/nodes")
        try:
            wait_for("every Node to have a slot", 60, lambda: sorted(
                ref["uid"] for ref in self.bound()) == sorted(nodes.values()))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{(plane or self.plane).tail()}") from error
        self.converge(plane or self.plane)
        self.assertEqual({ref["name"]: ref["uid"] for ref in self.bound()}, nodes)
        self.assertEqual(len(self.bound()), NODES)
        racks = self.uids(f"{GROUP}/sgpuracks")
        for node in self.cluster.projected():
            said = json.loads(node["metadata"]["annotations"][harness.ASSIGNMENT])["rack"]
            self.assertEqual(said["uid"], racks[said["name"]])


class Etcd(Restore):
    """Its data directory, copied while it is stopped, is the snapshot."""

    def down(self):
        subprocess.run([str(LOCAL / "down"), str(self.cluster.state)], check=True)

    def up(self):
        self.cluster.run(LOCAL / "up", self.cluster.state)

    def save(self):
        self.down()
        shutil.copytree(self.cluster.state / "data", self.folder / "snapshot")
        self.up()
        self.converge(self.plane)
        self.assertEqual(self.plane.lines(msg=self.BACK), [])

    def put_back(self):
        self.down()
        shutil.rmtree(self.cluster.state / "data")
        shutil.copytree(self.folder / "snapshot", self.cluster.state / "data")
        time.sleep(5)  # a restore that is faster goes unseen
        self.up()

    BACK = "the cluster went back in time, its readers start anew"

    def live_on(self):
        """What happens between snapshot and restore: slots change hands, versions
        grow."""
        for i in range(3):
            self.cluster.api.delete(f"/api/v1/nodes/sim-{i:03d}")
        self.cluster.add_nodes(3, prefix="late")
        self.converge(self.plane)
        for i in range(100):
            self.cluster.api.merge("/api/v1/nodes/sim-010", {
                "metadata": {"labels": {"noise": str(i)}}})

    def check_it_goes_on(self, plane):
        """What comes and goes is seen at once, not when versions are back to where
        they were."""
        self.cluster.api.delete("/api/v1/nodes/sim-020")
        self.cluster.add_nodes(1, prefix="new")
        self.check(plane)
        self.assertIn("new-000", self.slots().values())

    def test_under_a_running_control_plane(self):
        self.save()
        stood = self.slots()
        uids = self.uids("/api/v1/nodes"), self.uids(f"{GROUP}/sgpuracks")
        self.live_on()
        self.assertNotEqual(self.slots(), stood)
        self.put_back()
        wait_for("the log to say so", 60, lambda: self.plane.lines(msg=self.BACK))
        self.run_page()
        self.check()
        self.assertEqual(self.slots(), stood)
        self.assertEqual((self.uids("/api/v1/nodes"), self.uids(f"{GROUP}/sgpuracks")), uids)
        self.check_it_goes_on(self.plane)
        self.assertEqual(len(self.plane.lines(msg=self.BACK)), 1)
        self.assertEqual(self.plane.lines(msg="worker died", level="error"), [])

    def test_and_a_control_plane_that_is_started_afterwards(self):
        self.save()
        stood = self.slots()
        self.live_on()
        self.assertEqual(self.plane.stop(), 0)
        self.put_back()
        plane = self.begin()
        plane.wait_ready()
        self.run_page(plane=plane)
        self.check(plane)
        self.assertEqual(self.slots(), stood)
        self.assertEqual(plane.lines(msg=self.BACK), [])
        self.check_it_goes_on(plane)


class Inventories(Restore):
    def test_from_a_file_they_are_others(self):
        before = self.uids(f"{GROUP}/sgpuracks")
        self.run_page("", " inventories")
        self.check()
        self.assertEqual(set(before) & set(self.racks()), set())


class Racks(Restore):
    def copies(self):
        """As a backup tool would put them back."""
        return [{"apiVersion": r["apiVersion"], "kind": r["kind"], "spec": r["spec"],
                 "metadata": {k: r["metadata"][k] for k in (
                     "name", "labels", "annotations", "finalizers", "ownerReferences")
                     if k in r["metadata"]}}
                for r in self.racks().values()]

    def take_off(self):
        """By force: nobody cleans a Node."""
        for name in self.racks():
            self.cluster.api.delete(f"{GROUP}/sgpuracks/{name}")
            self.cluster.api.merge(f"{GROUP}/sgpuracks/{name}", {
                "metadata": {"finalizers": None}})

    def put_back(self):
        copies = self.copies()
        self.assertEqual(self.plane.stop(), 0)
        self.take_off()
        for rack in copies:
            self.cluster.api.create(f"{GROUP}/sgpuracks", rack)
        self.plane = self.begin()
        self.plane.wait_ready()

    def check_new(self, before):
        after = self.uids(f"{GROUP}/sgpuracks")
        self.assertEqual(set(before), set(after))
        self.assertEqual(set(before.values()) & set(after.values()), set())

    def test_deleted_they_are_made_anew(self):
        before = self.uids(f"{GROUP}/sgpuracks")
        self.run_page(" racks")
        self.check()
        self.check_new(before)

    def test_gone_while_nothing_ran_they_are_made_anew(self):
        before = self.uids(f"{GROUP}/sgpuracks")
        self.assertEqual(self.plane.stop(), 0)
        self.take_off()
        self.plane = self.begin()
        self.check()
        self.check_new(before)

    def test_copies_are_in_the_way_until_they_are_deleted(self):
        self.put_back()
        copies = self.uids(f"{GROUP}/sgpuracks")
        wait_for("the condition", 20, lambda: self.cluster.condition(
            "demo", "Programmed").get("reason") == "RackOwnershipConflict")
        self.run_page(" racks")
        self.check()
        self.check_new(copies)


class Nodes(Restore):
    def recreate(self, kept=()):
        """Every Node under its name: the keys of ours that are kept are the
        tool's then."""
        for node in self.cluster.api.items("/api/v1/nodes"):
            meta = node["metadata"]
            for key in {harness.ASSIGNED, harness.CLIQUE} - set(kept):
                meta["labels"].pop(key)
            if harness.ASSIGNMENT not in kept:
                meta["annotations"] = {}
            self.cluster.api.delete(f"/api/v1/nodes/{meta['name']}")
            self.cluster.api.create("/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {k: meta[k] for k in ("name", "labels", "annotations")}})

    def test_anew_under_their_names(self):
        self.recreate()
        self.check()

    def test_anew_while_nothing_ran(self):
        self.assertEqual(self.plane.stop(), 0)
        self.recreate()
        self.plane = self.begin()
        self.check()

    def test_what_a_tool_put_back_is_in_the_way_until_it_is_taken_off(self):
        self.recreate((harness.ASSIGNED, harness.CLIQUE, harness.ASSIGNMENT))
        wait_for("the condition", 20, lambda: self.cluster.condition(
            "demo", "Programmed").get("reason") == "NodeMetadataConflict")
        self.run_page(" nodes")
        self.check()


if __name__ == "__main__":
    unittest.main(verbosity=2)
