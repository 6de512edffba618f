# SPDX-License-Identifier: Apache-2.0
"""The chart's roles are what the control plane needs: without any verb of them
it says which, and who misses it (mokka-control 10.3)."""

import copy
import datetime
import unittest

import harness
from harness import NAMESPACE, wait_for

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CLUSTER_ROLE = f"{RBAC}/clusterroles/control-plane.mokka.nvidia.com"
ROLE = f"{RBAC}/namespaces/{NAMESPACE}/roles/mokka-control-plane"
EVENTS = [f"{RBAC}/namespaces/{space}/roles/mokka-control-plane-events"
          for space in ("default", NAMESPACE)]
POD = {"POD_NAME": "pod-0", "POD_UID": "u-0", "POD_NAMESPACE": NAMESPACE}
NOT_ALLOWED = ("Kubernetes Events are not allowed; give the control plane the verbs "
               "create and patch on events, or go on without")
# Who asks for it at its start and misses it in the log and in /readyz. The
# original has get on profiles in its role, too; nobody here uses it.
MISSED_BY = {
    "nodes": {"get": ["projector"], "patch": ["projector"],
              "list": ["informer"], "watch": ["informer"]},
    "sgpurackprofiles": {"get": [], "list": ["informer"], "watch": ["informer"]},
    "sgpuinventories": {"get": ["projector"], "update": ["projector"],
                        "list": ["informer"], "watch": ["informer"]},
    "sgpuinventories/status": {"update": ["projector"]},
    "sgpuracks": {"get": ["projector"], "create": ["projector"],
                  "update": ["projector"], "delete": ["projector"],
                  "list": ["informer", "projector"], "watch": ["informer"]},
    "sgpuracks/status": {"update": ["projector"]},
    "leases": {"get": ["elector"], "update": ["elector"], "create": ["elector"],
               "list": ["the watch"], "watch": ["the watch"]},
    "events": {"create": ["the log"], "patch": ["the log"]},
}


def pairs(role):
    """(group, resource, verb) of all that a role grants."""
    return [(group, resource, verb) for rule in role["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"]]


def without(role, group, resource, verb):
    """The role, but for that."""
    rules = [{"apiGroups": [g], "resources": [r], "verbs": [v]} for g, r, v in pairs(role)
             if (g, r, v) != (group, resource, verb)]
    return dict(copy.deepcopy(role), rules=rules)


def words(group, resource, verb):
    plural, _, sub = resource.partition("/")
    return (f"{verb} on {plural}" + (f".{group}" if group else "")
            + (f"/{sub}" if sub else "")
            + (f" in namespace {NAMESPACE}" if resource == "leases" else ""))


class Rbac(harness.Estate):
    def role(self, path):
        role = self.cluster.api.get(path)
        role["metadata"] = {"name": role["metadata"]["name"]}
        return role

    def take(self, path, *what):
        """Takes it out of the role, until the end of the test, or give()."""
        whole = self.role(path)
        self.cluster.api.ask("PUT", path, without(whole, *what))
        wait_for("the role to be in force", 20, lambda: not self.may(path, *what))
        return whole

    def give(self, path, whole):
        self.cluster.api.ask("PUT", path, whole)
        for what in pairs(whole):
            wait_for("the role to be in force", 20, lambda w=what: self.may(path, *w))

    def may(self, path, group, resource, verb):
        """Whether the server lets the control plane do it; a role that was changed
        is in force a moment later."""
        plural, _, sub = resource.partition("/")
        space = path.split("/namespaces/")[-1].split("/")[0] if "/namespaces/" in path else ""
        return self.cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "spec": {"user": harness.USER, "resourceAttributes": {
                "group": group, "resource": plural, "subresource": sub, "verb": verb,
                "namespace": space}}})["status"]["allowed"]

    def test_10_3_the_table_is_that_of_the_chart(self):
        granted = {}
        for path in (CLUSTER_ROLE, ROLE, EVENTS[0]):
            for _, resource, verb in pairs(self.role(path)):
                granted.setdefault(resource, set()).add(verb)
        self.assertEqual(granted, {resource: set(verbs)
                                   for resource, verbs in MISSED_BY.items()})

    def test_10_3_each_verb_that_is_missing_is_missed_by_name(self):
        for path in (CLUSTER_ROLE, ROLE):
            for what in pairs(self.role(path)):
                for who in MISSED_BY[what[1]][what[2]]:
                    with self.subTest(what=what, who=who):
                        whole = self.take(path, *what)
                        try:
                            self.check_missed(what, who)
                        finally:
                            self.give(path, whole)

    def check_missed(self, what, who):
        if who == "the watch":
            self.hold_the_lease()
        plane = harness.ControlPlane(self.cluster)
        try:
            if who == "the watch":
                self.check_polls(plane)
                return
            line = wait_for("its log line", 20, lambda: plane.lines(
                msg="access is missing", worker=who))[0]
            self.assertEqual((line["level"], line["missing"]), (
                "warn", f"not allowed: {words(*what)}; grant it to this identity"))
            self.wait_reason(plane, who, what)
        finally:
            plane.stop()

    def wait_reason(self, plane, who, what):
        """In /readyz, by that question, or by a request that was refused."""
        _, resource, verb = what
        plural = resource.partition("/")[0]

        def told():
            try:
                reason = plane.http("/readyz")[1]["components"][who].get("reason", "")
            except (OSError, KeyError):
                return False
            return "not allowed" in reason and verb in reason and plural in reason
        wait_for("its reason in /readyz", 20, told)

    def hold_the_lease(self):
        """For a moment it is somebody else's: who stands by watches it."""
        now = datetime.datetime.now(datetime.timezone.utc)
        spec = {"holderIdentity": "else", "leaseDurationSeconds": 2, "leaseTransitions": 0,
                "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        spec["acquireTime"] = spec["renewTime"]
        self.cluster.kubectl("delete", "lease", "--all", "-n", NAMESPACE)
        self.cluster.api.create(harness.LEASE.rpartition("/")[0], {
            "metadata": {"name": harness.LEASE.rpartition("/")[2]}, "spec": spec})

    def check_polls(self, plane):
        """Without the watch of the Lease it takes it all the same."""
        line = wait_for("its log line", 20, lambda: plane.lines(
            msg="the lease cannot be watched; it is polled"))[0]
        self.assertEqual((line["level"], line["worker"]), ("warn", "elector"))
        self.assertIn("forbidden", line["error"])
        wait_for("its term", 20, lambda: plane.lines(msg="acquired the lease"))

    def test_10_3_what_is_granted_later_is_taken_up_without_a_restart(self):
        whole = self.take(CLUSTER_ROLE, "mokka.nvidia.com", "sgpuracks", "create")
        self.declare(2)
        try:
            plane = self.plane()
            self.wait_reason(plane, "projector", ("", "sgpuracks", "create"))
        finally:
            self.give(CLUSTER_ROLE, whole)
        wait_for("both Nodes", 60, lambda: len(self.cluster.projected()) == 2)
        wait_for("its log line", 30, lambda: plane.lines(
            msg="no access is missing any more", worker="projector"))
        self.assertEqual([w for w in harness.WORKERS
                          if len(plane.lines(msg="worker running", worker=w)) != 1], [])

    def test_12_Events_that_may_not_be_sent_are_said_once(self):
        """create: the first about an inventory; patch: the second of a kind about
        the Pod."""
        for path, verb, trouble in ((EVENTS[0], "create", self.declare_two),
                                    (EVENTS[1], "patch", self.kill_twice)):
            for group in ("", "events.k8s.io"):
                with self.subTest(verb=verb, group=group):
                    whole = self.take(path, group, "events", verb)
                    plane = harness.ControlPlane(self.cluster, environment=POD)
                    try:
                        plane.wait_ready()
                        trouble(plane)
                        if group == "":
                            line = wait_for("its log line", 20,
                                            lambda: plane.lines(msg=NOT_ALLOWED))[0]
                            self.assertIn("forbidden", line["error"])
                        else:
                            self.assertEqual(plane.lines(msg=NOT_ALLOWED), [])
                    finally:
                        plane.stop()
                        self.give(path, whole)
                        self.cluster.reset()

    def declare_two(self, plane):
        self.declare(2)
        wait_for("both Nodes", 30, lambda: len(self.cluster.projected()) == 2)

    def kill_twice(self, plane):
        for _ in range(2):
            generation, _ = plane.kill("web")
            plane.wait_back("web", generation)
            plane.wait_ready()

    def test_10_3_nothing_needs_more(self):
        """A life with all that happens in one: no request is refused."""
        self.declare(4)
        plane = self.plane(environment=POD)
        wait_for("the Nodes", 60, lambda: len(self.cluster.projected()) == 4)
        self.cluster.api.delete("/api/v1/nodes/sim-000")
        self.cluster.api.merge("/api/v1/nodes/sim-001", {"metadata": {"labels": {
            "mokka.nvidia.com/sgpu-node": None}}})
        for worker in harness.WORKERS:
            generation, _ = plane.kill(worker)
            plane.wait_back(worker, generation)
        wait_for("two are left", 60, lambda: len(self.cluster.projected()) == 2)
        self.cluster.api.delete(f"{harness.GROUP}/sgpuinventories/demo")
        wait_for("the drain", 60, lambda: not self.cluster.api.items(
            f"{harness.GROUP}/sgpuinventories"))
        self.assertEqual(plane.stop(), 0)
        asked = self.cluster.audit(self.mark)
        self.assertEqual([e["requestURI"] for e in asked
                          if e["responseStatus"]["code"] in (401, 403)], [])
        self.assertEqual(plane.lines(msg="access is missing"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
