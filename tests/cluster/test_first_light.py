# SPDX-License-Identifier: Apache-2.0
"""From an inventory to projected Nodes, and what is said when it cannot be."""

import json
import pathlib
import re
import time
import unittest

import harness
from harness import GROUP, ControlPlane, wait_for

NODES = harness.Estate.NODES


class FirstLight(harness.Estate):
    def test_M01_racks_bindings_and_projection(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        racks = {r["spec"]["identity"]["rackIndex"]: r
                 for r in self.cluster.api.items(f"{GROUP}/sgpuracks")}
        inventory = self.cluster.api.get(f"{GROUP}/sgpuinventories/demo")
        self.assertEqual(sorted(racks), [0, 1, 2])
        self.assertIn("mokka.nvidia.com/inventory-cleanup",
                      inventory["metadata"]["finalizers"])
        nodes = {n["metadata"]["name"]: n for n in self.cluster.projected()}
        for index, rack in racks.items():
            meta, spec = rack["metadata"], rack["spec"]
            owner, = meta["ownerReferences"]
            self.assertEqual(owner["uid"], inventory["metadata"]["uid"])
            self.assertIs(owner["controller"], True)
            self.assertIs(owner["blockOwnerDeletion"], False)
            self.assertEqual(meta["finalizers"], ["mokka.nvidia.com/rack-cleanup"])
            self.assertEqual(meta["labels"]["mokka.nvidia.com/rack-index"], str(index))
            self.assertEqual(meta["annotations"]["mokka.nvidia.com/inventory-uid"],
                             inventory["metadata"]["uid"])
            self.assertEqual(len(spec["nodes"]), 18)
            # Names sort as the Nodes were created: rack by rack, slot by slot.
            for slot in spec["nodes"]:
                name = slot["nodeRef"]["name"]
                self.assertEqual(name, f"sim-{index * 18 + slot['index']:03d}")
                self.check_node(nodes[name], rack, slot)
            self.assertEqual(rack["status"]["assignedNodes"], 18)
            ready, = rack["status"]["conditions"]
            self.assertEqual((ready["type"], ready["status"]), ("Ready", "True"))
        status = inventory["status"]
        self.assertEqual(status["capacity"], {"racks": 3, "nodes": 54, "gpus": 216})
        self.assertEqual(status["usage"], {
            "requestedNodes": 54, "allocatedNodes": 54, "availableNodes": 0,
            "pendingNodes": 0})
        self.assertEqual([c["type"] for c in status["conditions"]],
                         ["Accepted", "Programmed", "RequestsSatisfied", "ResolvedRefs"])

    def check_node(self, node, rack, slot):
        meta, spec = node["metadata"], rack["spec"]
        self.assertEqual(meta["labels"][harness.CLIQUE],
                         spec["identity"]["fabricUUID"] + ".0")
        value = json.loads(meta["annotations"][harness.ASSIGNMENT])
        self.assertEqual(list(value), ["v", "inventory", "rack", "profile", "rackGroup",
                                       "rackIndex", "nodeIndex", "nodeUID"])
        self.assertEqual(value["rack"]["uid"], rack["metadata"]["uid"])
        self.assertEqual(value["profile"]["revision"], spec["profileRef"]["revision"])
        self.assertEqual(value["nodeIndex"], slot["index"])
        self.assertEqual(value["nodeUID"], meta["uid"])
        owners = [m for m in meta["managedFields"]
                  if m["manager"] == "mokka-controller"]
        self.assertEqual([m["operation"] for m in owners], ["Apply"])

    def test_the_run_is_recorded_and_its_replay_says_the_same(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        for worker in ("projector", "placer", "informer"):
            generation, _ = plane.kill(worker)
            plane.wait_back(worker, generation)
        plane.wait_ready()
        self.assertEqual(plane.stop(), 0)
        verdict = re.fullmatch(
            r"(\d+) inputs, (\d+) intents, identical; 2 starts of the placer, "
            r"1 without an end", plane.replay())
        self.assertTrue(verdict, plane.replay())
        self.assertGreaterEqual(int(verdict.group(2)), 2 * 3 + NODES + 4)

    def test_M04_order_and_number_of_requests(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        time.sleep(1.5)
        count = harness.written_objects(self.cluster.writes(self.mark))
        racks = [k for k in count if k[0] == "sgpuracks" and not k[1]]
        self.assertEqual(len(racks), 3)
        self.assertEqual({count[k] for k in racks}, {1})
        self.assertEqual({v for k, v in count.items() if k[0] == "nodes"}, {1})
        asked = self.cluster.audit(self.mark)
        creates = [e for e in asked if e["objectRef"]["resource"] == "sgpuracks"
                   and e["verb"] == "create"]
        self.assertTrue(all("fieldManager=mokka-controller" in e["requestURI"]
                            for e in creates))
        finalizer = [e for e in asked if e["verb"] == "update"
                     and e["objectRef"]["resource"] == "sgpuinventories"
                     and "subresource" not in e["objectRef"]]
        self.assertEqual(len(finalizer), 1)
        self.assertLess(finalizer[0]["stageTimestamp"],
                        creates[0]["requestReceivedTimestamp"])
        self.assertFalse([e for e in asked if e["verb"] == "get"
                          and e["objectRef"]["resource"] == "nodes"])

    def test_M02_restart_of_the_whole_writes_nothing(self):
        self.declare()
        first = self.plane()
        self.converge(first)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.cluster.api.get(harness.LEASE)["spec"]["holderIdentity"], "")
        mark = self.cluster.mark()
        second = self.plane()
        second.wait_ready()
        time.sleep(3)
        self.assertEqual(self.cluster.writes(mark), [])

    def test_S04_converged_is_silent(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        time.sleep(2)
        mark = self.cluster.mark()
        time.sleep(10)
        asked = [e for e in self.cluster.audit(mark) if e["verb"] != "watch"]
        self.assertEqual({e["objectRef"]["resource"] for e in asked}, {"leases"})

    def test_nodes_that_come_later_fill_the_next_slots(self):
        self.declare(20)
        plane = self.plane()
        self.converge(plane, 20)
        self.cluster.add_nodes(3, prefix="late")
        self.converge(plane, 23)
        rack = self.cluster.projected_slots()[1]
        self.assertEqual(rack[:5], ["sim-018", "sim-019", "late-000", "late-001",
                                    "late-002"])

    def test_Z04_deleted_inventory_leaves_no_trace(self):
        self.declare(20)
        plane = self.plane()
        self.converge(plane, 20)
        self.cluster.api.delete(f"{GROUP}/sgpuinventories/demo")
        try:
            wait_for("the drain", 30, lambda: not self.cluster.api.items(
                f"{GROUP}/sgpuinventories"))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{plane.tail()}") from error
        self.assertEqual(self.cluster.api.items(f"{GROUP}/sgpuracks"), [])
        for node in self.cluster.api.items("/api/v1/nodes"):
            self.assertNotIn(harness.ASSIGNED, node["metadata"]["labels"])
            self.assertNotIn("mokka-controller", [
                m["manager"] for m in node["metadata"]["managedFields"]])


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)

    def plane(self, *arguments, **options):
        plane = ControlPlane(self.cluster, *arguments, **options)
        harness.look_after(self, plane)
        return plane

    def reason(self, plane, wanted, seconds=20):
        """Waits until /readyz says so; returns its body."""
        def asked():
            try:
                status, body = plane.http("/readyz")
            except OSError:
                return None
            return status == 503 and wanted in json.dumps(body) and body
        try:
            return wait_for(f"/readyz to say {wanted!r}", seconds, asked)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{plane.tail()}") from error

    def said_once(self, plane, wanted):
        said = [line for line in plane.lines()
                if line["level"] in ("warn", "error") and wanted in json.dumps(line)]
        self.assertGreaterEqual(len(said), 1, plane.tail())
        self.assertLessEqual(len(said), 8, plane.tail())

    def fails(self, plane, *wanted):
        status, text = plane.wait_exit()
        self.assertEqual(status, 1)
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertTrue(text.startswith("control-plane: "), text)
        for word in wanted:
            self.assertIn(word, text)
        # Nothing that went well before it hides it.
        self.assertEqual(plane.log.read_text(), "")

    def test_unknown_flag(self):
        self.fails(self.plane("--wrokers", "3"), "--wrokers", "--help")

    def test_bad_value(self):
        self.fails(self.plane("--log-level", "loud"), "--log-level", "loud", "debug")

    def test_kubeconfig_absent(self):
        self.fails(self.plane(kubeconfig="/nonexistent/config"), "/nonexistent/config")

    def test_kubeconfig_broken(self):
        path = self.cluster.directory / "broken.yaml"
        path.write_text("apiVersion: v1\nclusters: [\n")
        self.fails(self.plane(kubeconfig=str(path)), "broken.yaml")

    def test_neither_kubeconfig_nor_pod(self):
        environment = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": ""}
        self.fails(self.plane("--kubeconfig", "", environment=environment), "--kubeconfig")

    def test_port_taken(self):
        first = self.plane()
        self.fails(self.plane("--listen-addr", first.address()), first.address())

    def test_API_server_unreachable(self):
        path = self.cluster.directory / "away.yaml"
        text = pathlib.Path(self.cluster.user).read_text()
        path.write_text(text.replace(f":{self.cluster.api.port}", ":1"))
        plane = self.plane(kubeconfig=str(path))
        self.reason(plane, "refused")
        self.assertEqual(plane.http("/healthz")[0], 200)
        self.said_once(plane, "refused")

    def test_API_server_untrusted(self):
        other = harness.Cluster()
        self.addCleanup(other.down)
        path = self.cluster.directory / "untrusted.yaml"
        text = pathlib.Path(self.cluster.user).read_text()
        path.write_text(text.replace(f"{self.cluster.state}/pki/ca.crt",
                                     f"{other.state}/pki/ca.crt"))
        plane = self.plane(kubeconfig=str(path))
        self.reason(plane, "certificate")

    def test_403_and_missing_CRDs_then_recovery(self):
        plane = self.plane()
        self.reason(plane, "403")
        self.cluster.kubectl("apply", "-f", harness.LOCAL / "rbac.yaml")
        self.reason(plane, "CRDs", 60)
        self.assertEqual(self.cluster.audit_writes_of("leases"), 0)
        self.cluster.install()
        plane.wait_ready(60)

    def test_second_control_plane_stands_by(self):
        self.cluster.install()
        first = self.plane()
        first.wait_ready(60)
        second = self.plane(name="second")
        second.wait_ready(60)  # a standby is ready
        holder = self.cluster.api.get(harness.LEASE)["spec"]["holderIdentity"]
        body = second.http("/readyz")[1]
        self.assertIn(holder, json.dumps(body))
        self.assertEqual(first.http("/readyz")[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
