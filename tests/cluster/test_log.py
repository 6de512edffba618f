# SPDX-License-Identifier: Apache-2.0
"""The events of the log that people and their tools rely on, with their keys
(mokka-control 9), in one life of an estate."""

import re
import unittest

import harness
from harness import GROUP, wait_for

RACK = {"rack", "inventory", "rackGroup", "rackIndex", "profileRevision"}
# level, message, keys
EVENTS = [
    ("info", "HTTP listening", {"addr"}),
    ("info", "HTTP draining", {"timeout"}),
    ("info", "joining the election", {"identity", "lease"}),
    ("info", "acquired the lease", {"identity", "lease"}),
    ("info", "left the election", {"identity", "lease"}),
    ("info", "rack created", RACK),
    ("info", "rack re-rendered", RACK | {"reason"}),
    ("info", "rack retired", RACK | {"reason"}),
    ("info", "rack deleted", {"rack"}),
    ("info", "node assigned", {"rack", "inventory", "rackGroup", "rackIndex", "nodeIndex",
                               "node", "nodeUID"}),
    ("info", "node released", {"rack", "nodeIndex", "node", "nodeUID", "reason"}),
    ("info", "projection applied", {"node", "rack", "nodeIndex", "inventory"}),
    ("info", "projection removed", {"node", "rack", "nodeIndex", "inventory"}),
    ("info", "inventory finalizer released", {"inventory"}),
    ("warn", "metadata conflict blocks projection", {"node", "rack", "fields", "managers"}),
    ("debug", "allocation planned", {"pendingNodes", "conflictedNodes"}),
    ("debug", "rack updated", RACK),
    ("debug", "retirement waits for Nodes", {"rack", "reason"}),
    ("debug", "inventory finalizer added", {"inventory"}),
]


class Log(harness.Estate):
    def setUp(self):
        super().setUp()
        self.control = self.plane("--log-level", "debug")

    def test_9_every_event_with_its_keys(self):
        api = self.cluster.api
        self.declare(3)
        api.merge("/api/v1/nodes/sim-002", {"metadata": {"labels": {harness.CLIQUE: "mine"}}})
        wait_for("two Nodes", 30, lambda: len(self.cluster.projected()) == 2)
        wait_for("the conflict", 30, lambda: self.control.lines(
            msg="metadata conflict blocks projection", node="sim-002"))
        profile = f"{GROUP}/sgpurackprofiles/nvl72"
        before = api.get(profile)["spec"]["software"]
        api.merge(profile, {"spec": {"software": {"driverVersion": "999.1"}}})
        lines = wait_for("all racks anew", 30, lambda: len(self.control.lines(
            msg="rack re-rendered", reason="ProfileChanged")) >= 3 and self.control.lines(
                msg="rack re-rendered"))
        self.assertNotEqual(before["driverVersion"], "999.1")
        revisions = {line["profileRevision"] for line in lines}
        created = {line["profileRevision"] for line in self.control.lines(msg="rack created")}
        self.assertEqual((len(revisions), len(created), revisions & created), (1, 1, set()))
        self.assertRegex(revisions.pop(), r"^(sha256:)?[0-9a-f]+$")
        api.merge("/api/v1/nodes/sim-000", {"metadata": {"labels": {
            "mokka.nvidia.com/sgpu-node": None}}})
        wait_for("its release", 30, lambda: self.control.lines(
            msg="node released", node="sim-000"))
        api.merge("/api/v1/nodes/sim-002", {"metadata": {"labels": {harness.CLIQUE: None}}})
        api.delete(f"{GROUP}/sgpuinventories/demo")
        wait_for("the drain", 60, lambda: not api.items(f"{GROUP}/sgpuinventories"))
        self.assertEqual(self.control.stop(), 0)
        for level, message, keys in EVENTS:
            with self.subTest(message=message):
                found = self.control.lines(msg=message, level=level)
                self.assertTrue(found)
                for line in found:
                    self.assertLessEqual(keys | {"worker", "generation"}, set(line))
        for line in self.control.lines():
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertEqual(list(line)[:3], ["level", "time", "msg"])

    def test_9_plain_text_has_the_same_fields(self):
        plane = self.plane("--log-format", "plain")
        line = wait_for("a line", 20, lambda: re.findall(
            r"^.*joining the election.*$", plane.log.read_text(), re.MULTILINE))[0]
        for word in ("identity=", "lease=", "worker=elector", "generation=1"):
            self.assertIn(word, line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
