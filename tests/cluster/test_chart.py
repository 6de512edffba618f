# SPDX-License-Identifier: Apache-2.0
"""The charts, installed by helm on a real API server.  No kubelet runs: what the
Deployment would start is started here, with its arguments and environment, as
its service account."""

import http.client
import json
import os
import re
import subprocess
import sys
import unittest

import harness
import original
from harness import GROUP, NAMESPACE, ROOT, ControlPlane, Refused, wait_for

sys.path.append(str(ROOT / "tests" / "chart"))
import charts  # noqa: E402

FIXED = "control-plane.mokka.nvidia.com"
KINDS = ("sgpuinventories", "sgpuracks", "sgpurackprofiles", "sgpuruntimepolicies")
DRAIN = ("delete", "sgpuinventories", "--all", "--wait", "--timeout=15m")
ALL_ON = {"controlPlane": {
    "replicas": 2, "kubeAPIQPS": 1000, "kubeAPIBurst": 2000,
    "podDisruptionBudget": {"enabled": True}, "networkPolicy": {"enabled": True},
    "flowSchema": {"enabled": True}, "dashboard": {"enabled": True},
    "uninstallGuard": {"enabled": True}}}


class ChartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.environment = dict(os.environ, KUBECONFIG=cls.cluster.kubeconfig)
        cls.helm(cls, "install", "mokka-crds", charts.CRDS)
        cls.cluster.kubectl("wait", "--for=condition=Established", "crd", "--all")

    def helm(self, *words):
        """Its output; a failure is one of the test."""
        done = charts.helm(*words, env=self.environment)
        if done.returncode != 0:
            raise AssertionError(f"helm {words}: {done.stderr}")
        return done.stdout

    def refused(self, *words):
        done = charts.helm(*words, env=self.environment)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def install(self, *words, values=None, release="mokka", namespace=NAMESPACE):
        file = self.cluster.directory / "values.json"
        file.write_text(json.dumps(values or {}))
        self.addCleanup(charts.helm, "uninstall", release, "--namespace", namespace,
                        "--no-hooks", env=self.environment)
        return self.helm("install", release, charts.CHART, "--namespace", namespace,
                         "--create-namespace", "--values", file, *words)

    def objects(self, namespace, kinds):
        """Names of what is labelled as of the release."""
        return self.cluster.kubectl(
            "get", kinds, "--namespace", namespace, "-o", "name",
            "-l", "app.kubernetes.io/instance=mokka").split()


class Install(ChartTest):
    def test_X02_kinds_and_objects_outlive_their_chart(self):
        self.cluster.add_samples("profile-nvl72", "inventory-54")
        self.helm("uninstall", "mokka-crds")
        try:
            for plural in KINDS:
                self.assertTrue(self.cluster.api.get(
                    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                    f"{plural}.mokka.nvidia.com"))
            self.assertEqual([i["metadata"]["name"] for i in self.cluster.api.items(
                f"{GROUP}/sgpuinventories")], ["demo"])
            self.assertEqual([i["metadata"]["name"] for i in self.cluster.api.items(
                f"{GROUP}/sgpurackprofiles")], ["nvl72"])
        finally:
            self.helm("install", "mokka-crds", charts.CRDS)  # takes them over again
            self.cluster.kubectl("delete", "sgpuinventories,sgpurackprofiles", "--all")

    def test_the_server_takes_every_object_as_it_is(self):
        """Strictly: a member that it does not know is an error."""
        self.cluster.kubectl("create", "namespace", "dry")
        for values in ({}, ALL_ON):
            text = charts.Rendered(values, namespace="dry", release="dry").text
            said = self.cluster.kubectl("apply", "--dry-run=server", "--validate=strict",
                                        "-f", "-", input=text)
            self.assertIn("deployment.apps/dry-mokka-control-plane created", said)

    def test_pods_are_fit_for_a_restricted_namespace(self):
        self.cluster.kubectl("create", "namespace", "strict")
        self.cluster.kubectl("label", "namespace", "strict",
                             "pod-security.kubernetes.io/enforce=restricted")
        r = charts.Rendered(ALL_ON, namespace="strict")
        for name, spec in (("deployment", r.pod()), ("check", r["Pod"]["spec"]),
                           ("job", r["Job"]["spec"]["template"]["spec"])):
            pod = {"apiVersion": "v1", "kind": "Pod", "spec": dict(spec, restartPolicy="Never"),
                   "metadata": {"name": name}}
            path = "/api/v1/namespaces/strict/pods?dryRun=All&fieldValidation=Strict"
            self.cluster.api.create(path, pod)
            pod["spec"]["containers"][0]["securityContext"].pop("capabilities")
            with self.assertRaises(Refused) as refused:
                self.cluster.api.create(path, pod)
            self.assertEqual(refused.exception.status, 403)

    def test_10_4_a_cluster_has_one_release(self):
        self.install()
        said = self.refused("install", "second", charts.CHART, "--namespace", "elsewhere",
                            "--create-namespace")
        for word in ("release mokka in namespace mokka-system",
                     "release second in namespace elsewhere", FIXED):
            self.assertIn(word, said)
        # The same name elsewhere is another release; the own one goes on.
        self.assertIn("in namespace elsewhere", self.refused(
            "install", "mokka", charts.CHART, "--namespace", "elsewhere"))
        self.helm("upgrade", "mokka", charts.CHART, "--namespace", NAMESPACE,
                  "--set", "controlPlane.replicas=2")
        self.helm("rollback", "mokka", "1", "--namespace", NAMESPACE)

    def test_10_4_one_release_is_switched_off_for_another(self):
        """As docs/migrating.md says, of the original's chart, which has the same
        value and the same names."""
        self.install(release="old", namespace="olden")
        self.assertIn("release old in namespace olden", self.refused(
            "install", "mokka", charts.CHART, "--namespace", NAMESPACE))
        self.helm("upgrade", "old", charts.CHART, "--namespace", "olden",
                  "--reuse-values", "--set", "controlPlane.enabled=false")
        self.install()
        self.helm("uninstall", "mokka", "--namespace", NAMESPACE)
        self.helm("upgrade", "old", charts.CHART, "--namespace", "olden",
                  "--reuse-values", "--set", "controlPlane.enabled=true")

    def test_X01_kinds_of_another_release_are_handed_over(self):
        self.helm("uninstall", "mokka-crds")
        self.helm("install", "theirs", charts.CRDS, "--namespace", "kinds",
                  "--create-namespace", "--take-ownership")
        said = self.refused("install", "mokka-crds", charts.CRDS, "--namespace", "default")
        self.assertIn("release-name", said)
        page = (ROOT / "docs" / "migrating.md").read_text()
        annotate, = re.findall(r"^kubectl (annotate .*)$", page, re.MULTILINE)
        self.cluster.kubectl(*annotate.split())
        self.helm("upgrade", "--install", "mokka-crds", charts.CRDS, "--namespace",
                  "default")

    def test_10_4_a_control_plane_of_nobody_is_in_the_way(self):
        self.cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": FIXED}, "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": "view"}})
        self.addCleanup(self.cluster.api.delete, "/apis/rbac.authorization.k8s.io/v1/"
                        f"clusterrolebindings/{FIXED}")
        said = self.refused("install", "mokka", charts.CHART, "--namespace", NAMESPACE,
                            "--create-namespace")
        self.assertIn(f"no Helm release owns: ClusterRoleBinding {FIXED}", said)

    def test_the_notes_tell_the_next_step(self):
        notes = self.install().split("NOTES:")[1]
        for word in ("helm -n mokka-system test mokka", "deployment/mokka-control-plane",
                     "kubectl " + " ".join(DRAIN)):
            self.assertIn(word, notes)
        self.assertNotIn("mokka-crds", notes)  # they are there
        for word in notes.split():
            if word.startswith(("crds/", "deploy/")):
                self.assertTrue((ROOT / word).exists(), word)


class Life(ChartTest):
    """From install to uninstall, with the write guard that a new server has."""

    def setUp(self):
        self.cluster.api.delete("/api/v1/nodes")

    def start(self, **options):
        """What the Deployment would start."""
        deployment = self.cluster.api.get(
            f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/mokka-control-plane")
        container, = deployment["spec"]["template"]["spec"]["containers"]
        arguments = [a.replace("$(POD_NAMESPACE)", NAMESPACE) for a in container["args"]
                     if not a.startswith("--listen-addr")]
        arguments = ["--shadow" if a == "--shadow=true" else a for a in arguments]
        plane = ControlPlane(self.cluster, *arguments, environment={
            "POD_NAMESPACE": NAMESPACE, "POD_NAME": "pod-0", "POD_UID": "u-0"}, **options)
        harness.look_after(self, plane)
        plane.wait_ready()
        return plane

    def mokkactl(self, *words):
        return subprocess.run(
            [harness.PROGRAM.with_name("mokkactl"), *words, "--kubeconfig",
             self.cluster.user], text=True, capture_output=True, check=False,
            env=dict(os.environ, POD_NAMESPACE=NAMESPACE))

    def test_10_from_install_to_nothing_left(self):
        self.install(values=ALL_ON)
        kinds = ("deployments,services,serviceaccounts,roles,rolebindings,configmaps,"
                 "poddisruptionbudgets,networkpolicies,clusterroles,clusterrolebindings,"
                 "flowschemas,prioritylevelconfigurations,"
                 "validatingadmissionpolicies,validatingadmissionpolicybindings")
        self.assertGreaterEqual(len(self.objects(NAMESPACE, kinds)), 13)
        self.cluster.add_nodes(54)
        self.cluster.add_samples("profile-nvl72", "inventory-54")
        plane = self.start()
        wait_for("convergence", 60, lambda: self.cluster.converged()
                 and len(self.cluster.projected()) == 54)
        # helm test
        checked = self.mokkactl("check")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        # What the uninstall hook asks, before and after.
        self.assertEqual(self.mokkactl("drain", "--check").returncode, 2)
        self.check_guard()
        self.cluster.kubectl(*DRAIN)
        left = self.mokkactl("drain", "--check")
        self.assertEqual((left.returncode, left.stdout), (0, ""))
        self.assertEqual(plane.stop(), 0)
        self.assertEqual([e["requestURI"] for e in self.cluster.audit()
                          if e["responseStatus"]["code"] == 403], [])
        self.helm("uninstall", "mokka", "--namespace", NAMESPACE, "--no-hooks")
        self.assertEqual(self.objects(NAMESPACE, kinds), [])
        self.assertEqual(self.objects("default", kinds), [])

    def test_the_label_is_left_to_others_by_the_command_of_the_page(self):
        """docs/coexistence.md, "Or leave the label to them", and back."""
        page = (ROOT / "docs" / "coexistence.md").read_text()
        command, = re.findall(r"(?ms)^```sh\n(.*?)^```", page)
        self.install()
        self.cluster.add_nodes(54)
        self.cluster.add_samples("profile-nvl72", "inventory-54")
        for leave in (False, True, False):
            if leave:
                self.shell(command.strip())
            else:
                self.shell(command.strip().replace("Label=false", "Label=true"))
            plane = self.start(record=False)
            wait_for("the labels", 60, lambda left=leave: self.cluster.converged() and len([
                n for n in self.cluster.projected()
                if (harness.CLIQUE in n["metadata"]["labels"]) != left]) == 54)
            if leave:
                self.cluster.kubectl("label", "node", "sim-001", f"{harness.CLIQUE}=theirs")
                self.cluster.kubectl("delete", "node", "sim-002")
                self.cluster.add_nodes(1, prefix="late", **{harness.CLIQUE: "theirs"})
                wait_for("a Node that others label, too", 30, lambda: "late-000" in [
                    n["metadata"]["name"] for n in self.cluster.projected()])
                self.cluster.kubectl("label", "nodes", "sim-001", "late-000", f"{harness.CLIQUE}-")
            self.assertEqual(plane.stop(), 0)
        self.start()
        self.cluster.kubectl(*DRAIN)

    def test_in_shadow_beside_another_and_then_in_its_place(self):
        """docs/migrating.md, "Or in the cluster"."""
        wait_for("the guard of the test before to go", 30, self.is_unguarded)
        original.Original(self.cluster)
        stands = original.snapshot(self.cluster)
        page = (ROOT / "docs" / "migrating.md").read_text()
        section = page.split("## Or in the cluster")[1].split("\n## ")[0]
        (install, look), (take_over,) = (
            block.splitlines() for block in re.findall(r"(?ms)^```sh\n(.*?)^```", section))
        self.install(release="old", namespace="olden")
        mark = self.cluster.mark()
        self.shell(install)
        self.addCleanup(charts.helm, "uninstall", "mokka", "--namespace", NAMESPACE,
                        env=self.environment)
        plane = self.start(record=False)
        self.assertEqual(plane.lines(msg="access is missing"), [])
        told = subprocess.run(
            [harness.PROGRAM.with_name("mokkactl"), *look.split(" mokkactl ")[1].split(),
             "--socket", plane.socket], text=True, capture_output=True, check=False)
        self.assertEqual((told.returncode, told.stdout), (0, "Nothing would be written.\n"))
        self.assertEqual(plane.stop(), 0)
        self.assertEqual([(e["verb"], e["requestURI"]) for e in self.cluster.audit(mark)
                          if e["verb"] not in ("get", "list", "watch")
                          or e["responseStatus"]["code"] == 403], [])
        # Only in the other's place.
        self.assertIn("release old in namespace olden", self.refused(
            "upgrade", "mokka", charts.CHART, "--namespace", NAMESPACE,
            "--reuse-values", "--set", "controlPlane.shadow=false"))
        self.helm("upgrade", "old", charts.CHART, "--namespace", "olden",
                  "--reuse-values", "--set", "controlPlane.enabled=false")
        self.shell(take_over)
        plane = self.start(record=False)
        wait_for("its term", 30, lambda: plane.lines(msg="acquired the lease"))
        self.assertEqual(plane.stop(), 0)
        self.assertEqual(original.snapshot(self.cluster), stands)

    def test_10_the_commands_of_the_documentation(self):
        """Those of docs/operating.md in their order; no pod runs, so nobody waits
        for one, and what helm test would run is run here."""
        page = (ROOT / "docs" / "operating.md").read_text()
        commands = "".join(re.findall(r"^```sh\n(.*?)^```", page,
                                      re.MULTILINE | re.DOTALL)).splitlines()
        self.assertGreater(len(commands), 10)
        self.helm("uninstall", "mokka-crds")  # the first command brings them
        self.addCleanup(charts.helm, "uninstall", "mokka", "--namespace", NAMESPACE,
                        env=self.environment)
        for i in range(2):
            self.cluster.api.create("/api/v1/nodes", {"metadata": {
                "name": f"doc-{i}", "labels": {"kubernetes.io/os": "linux"}}})
        plane = None
        for command in commands:
            if command.startswith("helm test"):
                plane = self.start()
                wait_for("what helm test asks", 10,
                         lambda: self.mokkactl("check").returncode == 0)
                continue
            if command.startswith("helm uninstall mokka "):
                self.assertEqual(plane.stop(), 0)
            self.shell(command)
            if "kubectl label" in command:
                wait_for("both Nodes", 30, lambda: len(self.cluster.projected()) == 2)
        self.assertEqual(self.objects(NAMESPACE, "deployments,serviceaccounts"), [])

    def shell(self, command):
        path = f"{charts.tools()}:{self.cluster.bin}:{os.environ['PATH']}"
        for folder in ("deploy", "crds"):
            command = command.replace(f" {folder}/", f" {ROOT}/{folder}/")
        if command.startswith("helm"):
            command = command.replace(" --wait", "")
        done = subprocess.run(command, shell=True, text=True, capture_output=True,
                              check=False, cwd=self.cluster.directory,
                              env=dict(self.environment, PATH=path))
        self.assertEqual(done.returncode, 0, (command, done.stderr))

    def is_unguarded(self):
        """Whether racks may be written by us: a policy that was deleted holds for a
        moment."""
        profile = {"name": "p", "uid": "u", "generation": 1}
        name, spec = original.render("probe", "u", profile, 0)
        try:
            self.cluster.api.ask("POST", f"{harness.GROUP}/sgpuracks?dryRun=All", {
                "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPURack",
                "metadata": {"name": name}, "spec": spec})
        except harness.Refused as refused:
            if refused.status != 403:
                raise
            return False
        return True

    def check_guard(self):
        """10.5: nobody else writes racks, and the collector only what it must."""
        racks = self.cluster.api.items(f"{GROUP}/sgpuracks")
        path = f"{GROUP}/sgpuracks/{racks[0]['metadata']['name']}"
        with self.assertRaises(Refused) as refused:
            self.cluster.api.merge(path, {"metadata": {"labels": {"mine": "yes"}}})
        self.assertEqual(refused.exception.status, 403)
        self.assertIn("denied request: SGPURack writes are", str(refused.exception))
        with self.assertRaises(Refused):
            self.cluster.api.create(f"{GROUP}/sgpuracks", {
                "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPURack",
                "metadata": {"name": "mine"}, "spec": racks[0]["spec"]})

    def test_10_5_the_collector_may_end_a_deletion_and_no_more(self):
        self.install(values={"controlPlane": {"writeGuard": {"enabled": False}}})
        self.cluster.add_nodes(1, prefix="gc", pool="gc")
        self.cluster.add_samples("profile-nvl72", "inventory-54")
        plane = self.start()
        wait_for("racks", 30, lambda: self.cluster.api.items(f"{GROUP}/sgpuracks"))
        plane.stop()
        self.helm("upgrade", "mokka", charts.CHART, "--namespace", NAMESPACE,
                  "--reset-values")
        rack = self.cluster.api.items(f"{GROUP}/sgpuracks")[0]["metadata"]["name"]
        path = f"{GROUP}/sgpuracks/{rack}"
        collector = "system:serviceaccount:kube-system:generic-garbage-collector"
        wait_for("the guard", 20, lambda: self.write_as("jane", path, {
            "metadata": {"labels": {"a": "b"}}}) == 403)
        self.assertEqual(self.write_as(collector, path, {"metadata": {"finalizers": []}}), 403)
        # Deleted in the foreground, it has the collector's finalizer, too.
        self.cluster.api.ask("DELETE", path, {"propagationPolicy": "Foreground"})
        ours = "mokka.nvidia.com/rack-cleanup"
        self.assertEqual(sorted(self.cluster.api.get(path)["metadata"]["finalizers"]),
                         ["foregroundDeletion", ours])
        for patch in ({"metadata": {"finalizers": ["foregroundDeletion"]}},
                      {"metadata": {"finalizers": [ours], "labels": {"c": "d"}}},
                      {"metadata": {"finalizers": [ours], "annotations": {"a": "b"}}},
                      {"metadata": {"finalizers": [ours], "ownerReferences": None}},
                      {"metadata": {"finalizers": [ours]}, "spec": {
                          "profileRef": {"uid": "other"}}}):
            self.assertEqual(self.write_as(collector, path, patch), 403, patch)
        self.assertEqual(self.write_as("jane", path, {"metadata": {"finalizers": [ours]}}), 403)
        self.assertEqual(self.write_as(collector, path, {"metadata": {
            "finalizers": [ours]}}), 200)
        self.assertEqual(self.cluster.api.get(path)["metadata"]["finalizers"], [ours])
        self.start()
        self.cluster.kubectl(*DRAIN)

    def write_as(self, user, path, body):
        """The status of a merge patch in that name; RBAC lets it pass."""
        connection = self.cluster.api.connect()
        connection.request("PATCH", path, json.dumps(body), {
            "Content-Type": "application/merge-patch+json",
            "Impersonate-User": user, "Impersonate-Group": "system:masters"})
        status = connection.getresponse().status
        connection.close()
        return status

    def test_the_Lease_has_a_level_of_its_own(self):
        self.install(values={"controlPlane": {"flowSchema": {"enabled": True}}})
        level = self.cluster.api.get(
            "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/"
            "mokka-control-plane-lease")["metadata"]["uid"]
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{FIXED}"
        wait_for("the level", 30, lambda: self.level_of(leases) == level)
        self.assertNotEqual(self.level_of("/api/v1/nodes"), level)

    def level_of(self, path):
        """The priority level of a request of the control plane's account."""
        pki = self.cluster.state / "pki"
        context = harness.ssl.create_default_context(cafile=pki / "ca.crt")
        name = harness.USER.replace(":", "-")
        context.load_cert_chain(pki / f"{name}.crt", pki / f"{name}.key")
        connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.api.port,
                                                 context=context, timeout=10)
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.headers["X-Kubernetes-PF-PriorityLevel-UID"]


if __name__ == "__main__":
    unittest.main(verbosity=2)
