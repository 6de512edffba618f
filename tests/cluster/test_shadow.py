# SPDX-License-Identifier: Apache-2.0
"""In shadow nothing is written, whatever the rights; and what is reported is
what is then written by one that may."""

import json
import os
import re
import subprocess
import time
import unittest

import harness
import original
from harness import GROUP, REVIEWS, WRITES, wait_for
from replicas import RBAC, make

READER = "reader"
MOKKACTL = harness.PROGRAM.with_name("mokkactl")
TRAIN = {"mokka.nvidia.com/sgpu-node": "true", "pool": "train"}
# A write is reported once it has stood for so long.
STANDS = 5


def admit_reader(cluster):
    """Rights to read, and no other."""
    make(cluster, f"{RBAC}/clusterroles", {"metadata": {"name": READER}, "rules": [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["mokka.nvidia.com"], "verbs": ["get", "list", "watch"],
         "resources": ["sgpurackprofiles", "sgpuinventories", "sgpuracks"]}]})
    make(cluster, f"{RBAC}/clusterrolebindings", {
        "metadata": {"name": READER},
        "subjects": [{"kind": "User", "name": READER,
                      "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "ClusterRole", "name": READER,
                    "apiGroup": "rbac.authorization.k8s.io"}})
    return cluster.run(harness.LOCAL / "user", cluster.state, READER)


def place(event):
    """(verb, resource, name) of an audited write, as it is reported."""
    ref = event["objectRef"]
    sub = ref.get("subresource")
    return (event["verb"], ref["resource"] + (f"/{sub}" if sub else ""),
            ref.get("name") or event["responseObject"]["metadata"]["name"])


class Shadow(harness.Estate):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubeconfig = admit_reader(cls.cluster)

    def setUp(self):
        super().setUp()
        if "lease" in self.cluster.kubectl("get", "leases", "-n", harness.NAMESPACE, "-o", "name"):
            self.cluster.kubectl("delete", "lease", "--all", "-n", harness.NAMESPACE)

    def shadow(self, *arguments, **options):
        return self.plane("--shadow", *arguments,
                          **{"kubeconfig": self.kubeconfig, **options})

    def ask(self, plane, *arguments):
        return subprocess.run([MOKKACTL, "shadow", "--socket", plane.socket, *arguments],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)

    def reported(self, plane):
        """{(verb, resource, name)}; None while that is not known."""
        done = self.ask(plane, "-o", "json")
        if done.returncode != 0:
            self.assertRegex(done.stderr, "not known yet|cannot be asked")
            return None
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {(line["verb"], line["resource"], line["name"]) for line in lines}

    def check_wrote_nothing(self, user=READER):
        """Whatever was refused included; but for questions of what is allowed."""
        with open(self.cluster.state / "audit.log", "rb") as log:
            log.seek(self.mark)
            asked = [json.loads(line) for line in log if line.endswith(b"\n")]
        asked = [e for e in asked if e["user"]["username"] == user]
        self.assertNotEqual(asked, [])
        self.assertEqual([(e["verb"], e["requestURI"]) for e in asked
                          if e["verb"] not in ("get", "list", "watch")
                          and e["objectRef"]["resource"] != REVIEWS], [])

    def test_beside_the_original_nothing_is_reported(self):
        original.Original(self.cluster)
        stands = original.snapshot(self.cluster)
        plane = self.shadow()
        plane.wait_ready()
        self.assertEqual(self.reported(plane), set())
        self.assertEqual(self.ask(plane, "--exit-code").returncode, 0)
        self.assertEqual(self.ask(plane).stdout, "Nothing would be written.\n")
        self.assertEqual({v for k, v in plane.metrics().items()
                          if k.startswith("mokka_shadow_writes")}, {0})
        self.assertEqual(original.snapshot(self.cluster), stands)
        self.assertEqual(plane.lines(msg="access is missing"), [])
        self.assertEqual(plane.lines(msg="would write"), [])
        self.assertEqual(plane.stop(), 0)
        self.check_wrote_nothing()

    # What is reported, and what is then written.  A change of each kind; whether
    # statuses follow that cannot be told before.

    def unlabel(self):
        self.cluster.api.merge("/api/v1/nodes/worker-1-3", {"metadata": {"labels": {
            harness.ASSIGNED: None}}})
        return {("patch", "nodes", "worker-1-3")}

    def edit_rack(self):
        self.cluster.api.merge(f"{GROUP}/sgpuracks/{self.rack(1)}", {"metadata": {"labels": {
            "mokka.nvidia.com/rack-index": "77"}}})
        return {("update", "sgpuracks", self.rack(1))}

    def take_finalizer(self):
        name = self.estate.inventory["metadata"]["name"]
        self.cluster.api.merge(f"{GROUP}/sgpuinventories/{name}", {"metadata": {
            "finalizers": []}})
        return {("update", "sgpuinventories", name)}

    def spoil_status(self):
        self.cluster.api.merge(f"{GROUP}/sgpuracks/{self.rack(2)}/status", {"status": {
            "assignedNodes": 1}})
        return {("update", "sgpuracks/status", self.rack(2))}

    def add_node(self):
        self.cluster.api.create("/api/v1/nodes", {"metadata": {
            "name": "one-more", "labels": TRAIN}})
        return {("update", "sgpuinventories/status", self.estate.inventory["metadata"]["name"])}

    def lose_node(self):
        self.cluster.api.delete("/api/v1/nodes/worker-0-2")
        return {("update", "sgpuracks", self.rack(0))}

    def retire_node(self):
        self.cluster.api.merge("/api/v1/nodes/worker-0-1", {"metadata": {"labels": {
            "mokka.nvidia.com/sgpu-node": None}}})
        return {("patch", "nodes", "worker-0-1")}

    def shrink(self):
        name = self.estate.inventory["metadata"]["name"]
        groups = self.cluster.api.get(f"{GROUP}/sgpuinventories/{name}")["spec"]["rackGroups"]
        groups[0]["count"] = 2
        self.cluster.api.merge(f"{GROUP}/sgpuinventories/{name}", {"spec": {
            "rackGroups": groups}})
        return {("patch", "nodes", f"worker-2-{slot}") for slot in range(self.estate.per_rack)}

    def rack(self, index):
        meta = self.estate.inventory["metadata"]
        return original.rack_name(meta["name"], meta["uid"], self.estate.given["rackGroup"], index)

    def test_what_is_reported_is_what_is_written(self):
        self.estate = original.Original(self.cluster)
        plane = self.shadow()
        plane.wait_ready()
        for changes, follows in (
                ((self.unlabel, self.edit_rack), False), ((self.take_finalizer,), False),
                ((self.spoil_status, self.add_node), False),
                ((self.lose_node, self.retire_node, self.shrink), True)):
            with self.subTest(changes=[c.__name__ for c in changes]):
                self.check_changes(plane, changes, follows)
        self.assertEqual(plane.stop(), 0)
        self.check_wrote_nothing()

    def check_changes(self, plane, changes, follows):
        wanted = set().union(*(change() for change in changes))
        wait_for("the report", 20, lambda: self.reported(plane) == wanted)
        time.sleep(3)  # it stands
        self.assertEqual(self.reported(plane), wanted)
        self.assertEqual(self.ask(plane, "--exit-code").returncode, 2)
        self.assertEqual(sum(v for k, v in plane.metrics().items()
                             if k.startswith("mokka_shadow_writes")), len(wanted))
        self.check_told(plane, wanted)
        mark = self.cluster.mark()
        # What a status says in between, it need not write.
        writer = self.plane("--status-debounce", "1s", "--status-progress-interval", "5s")
        wait_for("the report to be empty", 30, lambda: self.reported(plane) == set())
        plane.wait_ready()
        self.assertEqual(writer.stop(), 0)
        written = {place(e) for e in self.cluster.writes(mark)}
        if follows:
            self.assertEqual(wanted - written, set())
        else:
            self.assertEqual(written, wanted)

    def check_told(self, plane, wanted):
        wait_for("/readyz", 5, lambda: plane.http("/readyz")[0] == 503)
        page = plane.http("/readyz")[1]
        for _, _, name in sorted(wanted, key=lambda w: w[1:])[:1]:
            self.assertIn(name, page["components"]["projector"]["reason"])
        told = {(line["verb"], line["resource"], line["name"])
                for line in plane.lines(msg="would write")}
        self.assertEqual(wanted - told, set())

    def test_the_commands_of_the_page(self):
        """docs/migrating.md, "Run beside it", by an identity that may only read."""
        original.Original(self.cluster)
        page = (harness.ROOT / "docs" / "migrating.md").read_text()
        begin, look, end = re.findall(
            r"(?ms)^```sh\n(.*?)^```$",
            page.split("## Run beside it")[1].split("\n## ")[0])
        *before, start = begin.splitlines()
        self.assertEqual(self.shell("\n".join(before))[0], 0)
        running = subprocess.Popen(
            "exec " + start.replace("127.0.0.1:8081", "127.0.0.1:0"), shell=True,
            stdout=subprocess.PIPE, text=True, **self.surroundings())
        try:
            wait_for("the report", 30, lambda: self.shell(look) == (
                0, "Nothing would be written.\n"))
            self.spoil()
            wait_for("the report", 30, lambda: self.shell(look)[0] == 2)
            self.assertRegex(self.shell(look)[1], "^VERB +RESOURCE +NAME +SINCE +WHAT\n"
                             r"patch +nodes +worker-1-3 +\d+ s +assigned to rack \S+ slot 3\n$")
        finally:
            running.terminate()
            running.communicate(timeout=20)
        self.assertEqual(running.returncode, 0)
        self.assertEqual(self.shell(end)[0], 0)
        self.check_wrote_nothing("system:serviceaccount:default:mokka-shadow")

    def spoil(self):
        self.cluster.api.merge("/api/v1/nodes/worker-1-3", {"metadata": {"labels": {
            harness.ASSIGNED: None}}})

    def surroundings(self):
        path = f"{harness.PROGRAM.parent}:{self.cluster.bin}:{os.environ['PATH']}"
        return {"cwd": self.cluster.directory, "env": dict(
            os.environ, PATH=path, KUBECONFIG=self.cluster.kubeconfig,
            MOKKA_CP_CONTROL_SOCKET=str(self.cluster.directory / "page.sock"))}

    def shell(self, commands):
        """(exit status of the last one, what was printed)"""
        done = subprocess.run(
            commands, shell=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, check=False, **self.surroundings())
        return done.returncode, done.stdout

    # While somebody writes, slowly

    def test_what_the_other_does_later_does_not_stay_reported(self):
        self.declare()
        plane = self.shadow()
        wait_for("the report", 20, lambda: self.reported(plane))
        self.converge(self.plane("--kube-api-qps", "3", "--kube-api-burst", "1"))
        plane.wait_ready()
        self.assertEqual(self.reported(plane), set())
        told = [(line["verb"], line["resource"], line["name"])
                for line in plane.lines(msg="would write")]
        over = [(line["verb"], line["resource"], line["name"])
                for line in plane.lines(msg="would write no longer")]
        print(f"  {len(told)} writes were reported for a while")
        self.assertGreater(len(told), 20)
        self.assertEqual(sorted(told), sorted(over))
        self.assertEqual(plane.stop(), 0)
        self.check_wrote_nothing()

    def test_who_may_write_does_not_in_shadow(self):
        """Whichever worker dies; and nobody is told of it by an Event."""
        self.declare(3)
        plane = self.plane("--shadow", environment={
            "POD_NAME": "pod-0", "POD_UID": "u-0", "POD_NAMESPACE": harness.NAMESPACE})
        wanted = {("update", "sgpuinventories", "demo")}
        wait_for("the report", 20, lambda: self.reported(plane) == wanted)
        for worker in harness.WORKERS:
            with self.subTest(worker=worker):
                generation, _ = plane.kill(worker)
                plane.wait_back(worker, generation)
                wait_for("the report", 20, lambda: not plane.ready()
                         and self.reported(plane) == wanted)
                wait_for("/readyz", 5, lambda: plane.http("/readyz")[0] == 503)
        self.assertEqual(plane.stop(), 0)
        self.check_wrote_nothing(harness.USER)


if __name__ == "__main__":
    unittest.main(verbosity=2)
