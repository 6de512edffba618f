# SPDX-License-Identifier: Apache-2.0
"""How the control plane reads from a real API server: what it asks for, and how
it goes on after what happens to watches.  Names carry the numbers of scenarios
and of tests/pitfalls.md."""

import os
import pathlib
import unittest
from unittest import mock

import between
import harness
from harness import GROUP, ControlPlane, wait_for

EVERY = {"sgpurackprofiles", "sgpuinventories", "sgpuracks", "nodes"}
SELECTOR = "labelSelector=mokka.nvidia.com%2Fsgpu-node%3Dtrue"
STREAM = "sendInitialEvents=true"


class Reading(unittest.TestCase):
    FLAGS = ""

    @classmethod
    def setUpClass(cls):
        if cls is Reading:
            raise unittest.SkipTest("each server by itself")
        with mock.patch.dict(os.environ, APISERVER_FLAGS=cls.FLAGS):
            cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()

    def setUp(self):
        self.cluster.reset()
        self.cluster.add_nodes(2)
        self.mark = self.cluster.mark()

    def plane(self, **options):
        plane = ControlPlane(self.cluster, **options)
        harness.look_after(self, plane)
        plane.wait_ready()
        return plane

    def nodes_asked(self):
        return [e for e in self.cluster.audit(self.mark)
                if e["objectRef"]["resource"] == "nodes" and e["verb"] in ("list", "watch")]

    def node(self, name):
        return self.cluster.api.get(f"/api/v1/nodes/{name}")

    def touch(self, name, value):
        self.cluster.api.merge(f"/api/v1/nodes/{name}",
                               {"metadata": {"labels": {"touched": value}}})

    def declare(self):
        self.cluster.add_samples("profile-nvl72", "inventory-54")

    def projected(self, count):
        wait_for(f"{count} projected Nodes", 30,
                 lambda: len(self.cluster.projected()) == count)


class Streaming(Reading):
    """A server that offers streaming lists."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Started anew, it does not remember how all began: version 1 is expired.
        cls.cluster.run(harness.LOCAL / "down", cls.cluster.state)
        cls.cluster.run(harness.LOCAL / "up", cls.cluster.state)
        cls.cluster.api = harness.Api(cls.cluster.state)

    def through(self):
        """A control plane whose every byte passes through us."""
        way = between.Between(self.cluster, pathlib.Path(self.cluster.user).stem)
        self.addCleanup(way.close)
        config = self.cluster.directory / f"between-{way.port}"
        return way, self.plane(kubeconfig=way.kubeconfig(config))

    def cut(self, way, resource):
        self.assertEqual(way.cut(rf"/{resource}\?.*watch=true"), 1, resource)

    def test_C01_the_selector_is_sent_with_lists_and_watches(self):
        way, _ = self.through()
        way.cut(r"/api/v1/nodes\?")
        wait_for("both requests", 10, lambda: len(
            [r for r in way.asked if "/api/v1/nodes?" in r]) >= 2)
        requests = [r for r in way.asked if "/api/v1/nodes?" in r]
        self.assertEqual([STREAM in r for r in requests], [True, False])
        for request in requests:
            self.assertIn(SELECTOR, request)
            self.assertIn("watch=true", request)

    def test_A06_every_resource_is_one_streaming_list_and_nothing_else(self):
        self.plane()
        lists = self.cluster.lists(self.mark)
        self.assertEqual(sorted(e["objectRef"]["resource"] for e in lists), sorted(EVERY))
        self.assertEqual({e["verb"] for e in lists}, {"watch"})

    def test_C01_Nodes_without_the_label_are_nobodys(self):
        self.cluster.api.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {
                "name": "stranger", "labels": {"mokka.nvidia.com/pool": "demo"}}})
        self.plane()
        self.declare()
        self.projected(2)
        # The label that goes is an object that goes.
        self.cluster.api.merge("/api/v1/nodes/sim-000", {
            "metadata": {"labels": {"mokka.nvidia.com/sgpu-node": None}}})
        self.projected(1)
        self.assertNotIn(harness.ASSIGNED, self.node("stranger")["metadata"]["labels"])

    def test_C07_one_Node_event_lists_nothing(self):
        plane = self.plane()
        self.declare()
        self.projected(2)
        mark = self.cluster.mark()
        self.touch("sim-000", "once")
        self.cluster.add_nodes(1, prefix="more")
        self.projected(3)
        self.cluster.api.delete("/api/v1/nodes/sim-001")
        self.projected(2)
        self.assertEqual(self.cluster.lists(mark), [])
        self.assertEqual(plane.stop(), 0)

    def test_A11_cut_watches_go_on_without_a_list(self):
        way, plane = self.through()
        self.declare()
        self.projected(2)
        mark = self.cluster.mark()
        for resource in sorted(EVERY):
            self.cut(way, resource)
        self.cluster.add_nodes(1, prefix="more")
        self.projected(3)
        self.assertEqual(self.cluster.lists(mark), [])
        self.assertEqual(plane.stop(), 0)

    def test_A01_A02_expired_version_lists_again_and_nothing_is_written_twice(self):
        way, plane = self.through()
        self.declare()
        self.projected(2)
        wait_for("the statuses", 30, self.converged)
        mark = self.cluster.mark()
        for resource in ("nodes", "sgpuracks"):
            way.rewrite(rf"/{resource}\?(.*)resourceVersion=\d+", rf"/{resource}?\1"
                        "resourceVersion=1")
            self.cut(way, resource)
            wait_for("a list", 10, lambda r=resource: r in {
                e["objectRef"]["resource"] for e in self.cluster.lists(mark)})
        expired = plane.lines(msg="version expired, listing again")
        self.assertEqual({line["resource"] for line in expired}, {"nodes", "sgpuracks"})
        for line in expired:
            self.assertIn("410", line["reason"])
        again = [r for r in way.asked if STREAM in r and "resourceVersion=" in r]
        self.assertEqual(len(again), 2)
        for request in again:
            self.assertRegex(request, r"resourceVersion=\d\d")
        self.touch("sim-000", "after")
        self.cluster.add_nodes(1, prefix="more")
        self.projected(3)
        written = harness.written_objects(self.cluster.writes(mark))
        self.assertEqual([name for (resource, _, name) in written
                          if resource == "nodes"], ["more-000"])

    def test_A04_list_of_the_future_is_asked_for_without_a_version(self):
        way, plane = self.through()
        version = r"/nodes\?(.*)resourceVersion=\d+"
        way.rewrite(version, r"/nodes?\1" "resourceVersion=1")
        way.rewrite(version, r"/nodes?\1" "resourceVersion=99999999")
        self.cut(way, "nodes")
        lists = wait_for("a list of whatever there is", 40, lambda: [
            r for r in way.asked if "/nodes?" in r and STREAM in r][2:])
        self.assertNotIn("resourceVersion=", lists[0])
        self.declare()
        self.projected(2)
        self.assertEqual(plane.stop(), 0)

    def converged(self):
        return all(c["status"] == "True" for kind in ("sgpuinventories", "sgpuracks")
                   for item in self.cluster.api.items(f"{GROUP}/{kind}")
                   for c in item.get("status", {}).get("conditions", [{"status": ""}])
                   if c.get("type") in ("Programmed", "Accepted", None))

    def test_10_3_what_is_not_allowed_is_named(self):
        kubeconfig = self.cluster.run(harness.LOCAL / "user", self.cluster.state, "poor")
        self.cluster.kubectl("create", "clusterrole", "poor", "--verb=get,list,watch",
                             "--resource=nodes,sgpurackprofiles.mokka.nvidia.com,"
                             "sgpuinventories.mokka.nvidia.com,sgpuracks.mokka.nvidia.com")
        self.cluster.kubectl("create", "clusterrolebinding", "poor", "--clusterrole=poor",
                             "--user=poor")
        plane = ControlPlane(self.cluster, kubeconfig=kubeconfig)
        harness.look_after(self, plane)
        missing = {
            "projector": ["not allowed: patch on nodes",
                          "update on sgpuinventories.mokka.nvidia.com;",
                          "update on sgpuracks.mokka.nvidia.com/status",
                          "create, update, delete on sgpuracks.mokka.nvidia.com"],
            "elector": ["leases.coordination.k8s.io in namespace " + harness.NAMESPACE,
                        "get, update", "create"]}
        for worker, texts in missing.items():
            line, = wait_for("the warning", 10, lambda w=worker: plane.lines(
                msg="access is missing", worker=w))
            for text in texts:
                self.assertIn(text, line["missing"])
            wait_for("the reason", 10, lambda w=worker, t=texts[0]: t in plane.http(
                "/readyz")[1]["components"][w].get("reason", ""))
        self.assertEqual(plane.lines(msg="access is missing", worker="informer"), [])


class Pages(Reading):
    """A server that knows no streaming lists, as those of 1.28."""

    FLAGS = "--feature-gates=WatchList=false"

    def test_C01_C07_A06_lists_come_in_pages(self):
        self.cluster.add_nodes(520, prefix="many", pool="none")
        plane = self.plane()
        self.assertEqual({line["resource"] for line in plane.lines(
            msg="no streaming list is offered, listing in pages")}, EVERY)
        lists = [e for e in self.cluster.audit(self.mark) if e["verb"] == "list"]
        count = {r: sum(e["objectRef"]["resource"] == r for e in lists) for r in EVERY}
        self.assertEqual(count, {**dict.fromkeys(EVERY, 1), "nodes": 2})
        for event in self.nodes_asked():
            self.assertIn(SELECTOR, event["requestURI"])
        self.assertTrue([e for e in self.nodes_asked() if e["verb"] == "watch"
                         and STREAM not in e["requestURI"]])
        mark = self.cluster.mark()
        self.declare()
        self.projected(2)
        self.touch("sim-000", "once")
        self.cluster.add_nodes(1, prefix="more")
        self.projected(3)
        # Once before the first write of the term, from whatever is newest.
        again, = [e["requestURI"] for e in self.cluster.audit(mark) if e["verb"] == "list"]
        self.assertIn("/sgpuracks?", again)
        self.assertNotIn("resourceVersion", again)
        self.assertEqual(plane.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
