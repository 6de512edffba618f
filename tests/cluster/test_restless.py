# SPDX-License-Identifier: Apache-2.0
"""Others that do not rest: declarations that change all the time, admission that
refuses or changes what we write, restarts.  Nothing is written more often than
it must be, and nothing that stands is taken back."""

import json
import threading
import time
import unittest

import harness
import test_writing
from harness import ASSIGNED, CLIQUE, GROUP

GROUP_LABEL = "mokka.nvidia.com/rack-group"



class Conditions(threading.Thread):
    """Notes each status and reason of an inventory's condition from its start
    on."""

    def __init__(self, cluster, name, kind):
        super().__init__(daemon=True)
        listed = cluster.api.get(f"{GROUP}/sgpuinventories")
        self.kind = kind
        self.seen = []
        self.connection = cluster.api.connect(timeout=None)
        self.connection.request(
            "GET", f"{GROUP}/sgpuinventories?watch=1&fieldSelector=metadata.name%3D{name}"
            f"&resourceVersion={listed['metadata']['resourceVersion']}")
        self.response = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            for line in self.response:
                conditions = json.loads(line)["object"].get("status", {}).get(
                    "conditions", [])
                self.seen += [(c["status"], c["reason"]) for c in conditions
                              if c["type"] == self.kind]
        except (OSError, ValueError, AttributeError):
            pass  # stopped


class Once(test_writing.Writing):
    def requests(self, since):
        """What was asked since, renewals of the Lease and watches apart."""
        return [e for e in self.cluster.audit(since)
                if e["objectRef"]["resource"] not in ("leases", "events")
                and e["verb"] != "watch"]

    def test_P01_M02_one_patch_a_node_no_look_and_nothing_twice(self):
        """Figures: 1.00 PATCH and 0 GET for each changed Node; a second pass of
        any part, or of the whole, writes nothing."""
        self.begin(40, 40)
        self.assertEqual(len(self.patches(self.start)), 40)
        self.assertEqual(len({e["objectRef"]["name"] for e in self.patches(self.start)}), 40)
        self.assertEqual(self.looks(self.start), [])
        mark = self.cluster.mark()
        for name in ("placer", "projector", "informer"):
            generation, _ = self.plane.kill(name)
            self.plane.wait_back(name, generation)
            time.sleep(1)
        self.assertEqual(self.cluster.writes(mark), [])
        self.assertEqual(self.plane.stop(), 0)
        mark = self.cluster.mark()
        self.run_plane()
        self.plane.wait_ready()
        time.sleep(2)
        self.assertEqual(self.cluster.writes(mark), [])
        self.assertEqual(self.looks(mark), [])
        # One Node changes: it leaves its pool and comes back.
        self.edit_node("sim-007", labels={"mokka.nvidia.com/pool": "other"})
        self.until("its release", lambda: self.clean("sim-007"))
        self.edit_node("sim-007", labels={"mokka.nvidia.com/pool": "demo"})
        self.settle(40)
        self.assertEqual(len(self.patches(mark, "sim-007")), 2)
        self.assertEqual(len(self.patches(mark)), 2)
        self.assertEqual(self.looks(mark), [])

    def restart(self):
        mark = self.cluster.mark()
        said = Conditions(self.cluster, "pair", "Programmed")
        self.assertEqual(self.plane.stop(), 0)
        self.run_plane()
        self.plane.wait_ready()
        time.sleep(2)
        self.assertEqual(self.cluster.writes(mark), [])
        self.assertEqual(said.seen, [])

    def test_I12_a_restart_does_not_flap(self):
        """Nothing was projected by this process yet: the Nodes tell."""
        self.begin()
        self.assertEqual(self.reason(), "Programmed")
        self.restart()
        self.assertEqual(self.reason(), "Programmed")

    def test_I12_nor_does_it_forget_a_conflict(self):
        self.declare()
        self.edit_node(labels={CLIQUE: "x"})
        self.run_plane()
        self.until("the conflict", lambda: self.reason() == "NodeMetadataConflict"
                   and len(self.cluster.projected()) == 1)
        time.sleep(1.5)
        self.restart()
        self.assertEqual(self.reason(), "NodeMetadataConflict")


class Restless(test_writing.Writing):
    def test_K13_an_inventory_that_does_not_rest(self):
        """Wanted and not wanted in turn, faster than a cleanup goes: the slot is
        given up only when its Node is clean, and the last word counts."""
        self.begin(2, 2, "--kube-api-qps", "8", "--kube-api-burst", "1")
        bad = []
        done = threading.Event()

        def observe():
            while not done.is_set():
                # In that order: a slot is bound before its Node is patched.
                carried = [n["metadata"] for n in self.cluster.projected()]
                bound = self.bound()
                bad.extend(m["name"] for m in carried
                           if bound.get(m["name"]) != m["uid"]
                           and self.node(m["name"])["labels"].get(ASSIGNED) == "true"
                           and self.bound().get(m["name"]) != m["uid"])

        watcher = threading.Thread(target=observe)
        watcher.start()
        try:
            for turn in range(10):
                self.count(1 + turn % 2)
                time.sleep(0.07 * (turn % 4))
            self.settle(2)
            mark = self.cluster.mark()
            for turn in range(5):
                self.count(1 + turn % 2)
                time.sleep(0.1)
            self.until("one rack", lambda: len(self.racks()) == 1
                       and len(self.cluster.projected()) == 1
                       and self.reason() == "Programmed")
        finally:
            done.set()
            watcher.join()
        self.assertEqual(bad, [])
        # Ends, and ends still; no more than a look at it for each turn.
        self.assertLess(len(self.patches(mark)), 11)
        time.sleep(3)
        mark = self.cluster.mark()
        time.sleep(1)
        self.assertEqual(self.cluster.writes(mark), [])


class Admission(test_writing.Writing):
    def policy(self, kind, name, spec, binding):
        """Admission policies of the cluster, until the end of the test."""
        version = self.version(kind)
        for plural, body in ((f"{kind.lower()[:-1]}ies", {
                "apiVersion": f"admissionregistration.k8s.io/{version}", "kind": kind,
                "metadata": {"name": name}, "spec": spec}),
                (f"{kind.lower()}bindings", {
                    "apiVersion": f"admissionregistration.k8s.io/{version}",
                    "kind": f"{kind}Binding", "metadata": {"name": name},
                    "spec": {"policyName": name, **binding}})):
            path = f"/apis/admissionregistration.k8s.io/{version}/{plural}"
            self.api.create(path, body)
            self.addCleanup(self.remove, f"{path}/{name}")

    def remove(self, path):
        try:
            self.api.delete(path)
        except harness.Refused as refused:
            if refused.status != 404:
                raise

    def version(self, kind):
        groups = self.api.get("/apis/admissionregistration.k8s.io")
        for version in groups["versions"]:
            served = self.api.get(f"/apis/{version['groupVersion']}")
            if any(r["kind"] == kind for r in served["resources"]):
                return version["version"]
        self.skipTest(f"this API server has no {kind}; it is one of Kubernetes 1.36")
        return None

    @staticmethod
    def ours(resource, group, condition):
        """What such a policy looks at: our writes to some objects."""
        return {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [group], "apiVersions": ["*"], "resources": [resource],
                "operations": ["CREATE", "UPDATE"]}]},
            "matchConditions": [{"name": "ours", "expression":
                                 f"request.userInfo.username == '{harness.USER}'"
                                 f" && {condition}"}]}

    def test_B05_nodes_that_admission_refuses(self):
        """They are tried again ever more seldom, and nobody waits for them."""
        self.policy("ValidatingAdmissionPolicy", "refuse", {
            **self.ours("nodes", "", "object.metadata.name.startsWith('sim-00')"),
            "validations": [{"expression": "false", "message": "not by you"}]},
            {"validationActions": ["Deny"]})
        time.sleep(2)  # until the server knows
        self.declare(14, 14)
        self.run_plane()
        self.until("the others", lambda: len(self.cluster.projected()) == 4)
        self.until("a long rest", lambda: len(self.patches(self.start, "sim-003")) >= 9)
        mark = self.cluster.mark()
        time.sleep(3)
        self.assertLess(len(self.patches(mark, "sim-003")), 4)
        # Racks and Nodes that come meanwhile have their turn.
        self.cluster.add_nodes(1, prefix="new")
        self.count(15)
        self.until("the newcomer", lambda: len(self.cluster.projected()) == 5)
        self.assertEqual(self.reason(), "ProjectionIncomplete")

    def change(self, resource, group, condition, removed):
        """Each write of ours to those objects loses a label."""
        has = f"has(object.metadata.labels) && '{removed}' in object.metadata.labels"
        self.policy("MutatingAdmissionPolicy", "change", {
            **self.ours(resource, group, condition), "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
                f"{has} ? [JSONPatch{{op: 'remove', path: '/metadata/labels/' + "
                f"jsonpatch.escapeKey('{removed}')}}] : []"}}]}, {})
        time.sleep(2)  # until the server knows

    def test_B05_a_node_that_admission_changes_each_time(self):
        """4.1, step 10: the answer tells, so it is asked again when the Node
        changes, and said once."""
        self.change("nodes", "", "object.metadata.name == 'sim-000'", ASSIGNED)
        self.declare()
        self.run_plane()
        self.until("a line about it", lambda: self.said(
            "metadata conflict blocks projection", node="sim-000"))
        time.sleep(3)
        self.assertLess(len(self.patches(self.start, "sim-000")), 4)
        self.assertEqual(len(self.said("metadata conflict blocks projection",
                                       node="sim-000", level="warn")), 1)
        self.assertEqual(self.reason(), "ProjectionIncomplete")
        self.assertEqual([n["metadata"]["name"] for n in self.cluster.projected()],
                         ["sim-001"])
        self.stop_changing()
        time.sleep(2)  # until the server knows
        self.edit_node(labels={"touched": "x"})
        self.settle(2)

    def test_B05_a_rack_that_admission_changes_each_time(self):
        """Written again ever more seldom, said once and counted."""
        self.change("sgpuracks", "mokka.nvidia.com", "true", GROUP_LABEL)
        self.declare(1, 1)
        self.run_plane()
        line = self.until("a line about it",
                          lambda: self.said("what is written does not stand"))[0]
        self.assertEqual(line["level"], "warn")
        self.until("a long rest", lambda: len(self.updates(self.start)) >= 9)
        mark = self.cluster.mark()
        time.sleep(3)
        self.assertLess(len(self.updates(mark)), 4)
        self.assertEqual(len(self.said("what is written does not stand")), 1)
        self.assertEqual(self.plane.metrics()["mokka_contested_objects"], 1)
        self.stop_changing()
        self.until("its label", lambda: GROUP_LABEL in self.racks()[0]["metadata"]["labels"],
                   60)

    def updates(self, since):
        return [e for e in self.cluster.audit(since) if e["verb"] == "update"
                and e["objectRef"]["resource"] == "sgpuracks"
                and "subresource" not in e["objectRef"]]

    def stop_changing(self):
        for plural in ("mutatingadmissionpolicybindings", "mutatingadmissionpolicies"):
            version = self.version("MutatingAdmissionPolicy")
            self.remove(f"/apis/admissionregistration.k8s.io/{version}/{plural}/change")


if __name__ == "__main__":
    unittest.main(verbosity=2)
