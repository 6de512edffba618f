# SPDX-License-Identifier: Apache-2.0
"""mokkactl against a real API server, and docs/debugging.md: what it shows is
what happens."""

import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

import harness
import manual
from harness import ControlPlane, wait_for

BUILD = harness.PROGRAM.parent
NODES = 54


class DebuggingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cluster.install()

    def begin(self):
        self.cluster.reset()
        self.cluster.add_nodes(NODES)
        self.cluster.add_samples("profile-nvl72", "inventory-54")
        # mokkactl record wants one that does not record already.
        self.plane = ControlPlane(self.cluster, "--record", "")
        harness.look_after(self, self.plane)
        wait_for("convergence", 60, lambda: len(self.cluster.projected()) == NODES
                 and self.cluster.converged())

    def ctl(self, *arguments, kubeconfig=None):
        return subprocess.run(
            [BUILD / "mokkactl", *arguments, "--kubeconfig",
             kubeconfig or self.cluster.user], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False, timeout=60)


class Check(DebuggingTest):
    def check(self, *arguments, **options):
        done = self.ctl("check", "--namespace", harness.NAMESPACE, *arguments, **options)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_check_names_what_is_missing(self):
        self.begin()
        status, out, err = self.check()
        self.assertEqual((status, err), (0, ""), out)
        self.assertEqual(len(out.splitlines()), 3 + 10 + 1)
        nobody = self.cluster.run(harness.LOCAL / "user", self.cluster.state, "nobody")
        status, out, err = self.check(kubeconfig=nobody)
        self.assertEqual(status, 2, err)
        self.assertIn("WRONG  nodes: this identity may not get list watch patch\n", out)
        self.assertIn("sgpuracks/status.mokka.nvidia.com: this identity may not update\n", out)
        self.assertIn("note   events in default: this identity may not create patch: ", out)
        # Without Events there is less to see, and nothing wrong.
        self.cluster.kubectl("delete", "rolebinding", "--all", "--namespace", "default")
        self.addCleanup(self.cluster.kubectl, "apply", "-f", harness.LOCAL / "rbac.yaml")
        status, out, err = self.check()
        self.assertEqual((status, out.count("note")), (0, 1), out)
        self.assertIn("ok     events in mokka-system: create patch\n", out)
        status, out, _ = self.check("--lease", "another")
        self.assertEqual(status, 2)
        self.assertRegex(out, r"WRONG  Lease mokka-system/another: 404")
        self.plane.stop()
        status, out, _ = self.check()
        self.assertEqual(status, 2)
        self.assertIn("was released: no replica leads", out)

    def find(self, kubeconfig, *arguments, **environment):
        """What check says without --namespace: its status, last line, stderr."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("POD_", "MOKKA_"))}
        done = subprocess.run(
            [BUILD / "mokkactl", "check", "--kubeconfig", kubeconfig, *arguments],
            capture_output=True, text=True, check=False, timeout=60,
            env={**clean, "MOKKA_CP_CONTROL_SOCKET": "/nowhere", **environment})
        return done.returncode, (done.stdout.splitlines() or [""])[-1], done.stderr

    def test_check_finds_the_namespace_by_itself(self):
        self.begin()
        held = f"ok     Lease {harness.NAMESPACE}/control-plane.mokka.nvidia.com is held"
        other = "WRONG  Lease elsewhere/control-plane.mokka.nvidia.com: 403"
        # By the Lease, which an administrator may look for.
        self.assertIn(held, self.find(self.cluster.kubeconfig)[1])
        # By the control plane, where one may not.
        socket = str(self.plane.socket)
        self.assertIn(held, self.find(self.cluster.user, MOKKA_CP_CONTROL_SOCKET=socket)[1])
        # By the context; what is told comes first.
        context = pathlib.Path(self.folder.name, "context.kubeconfig")
        context.write_text(pathlib.Path(self.cluster.user).read_text())
        self.cluster.kubectl("config", "set-context", "--current", "--namespace", "elsewhere",
                             "--kubeconfig", str(context))
        last = self.find(str(context))[1]
        self.assertIn(other, last)
        self.assertTrue(last.endswith("; another namespace is named with --namespace"), last)
        self.assertIn(held, self.find(str(context), "-n", harness.NAMESPACE)[1])
        self.assertIn(held, self.find(str(context), POD_NAMESPACE=harness.NAMESPACE)[1])
        # Nobody knows: one line, with the remedy.
        status, out, err = self.find(self.cluster.user)
        self.assertEqual((status, out, err.count("\n")), (1, "", 1))
        self.assertRegex(err, "403 .*: name it with --namespace$")
        status, out, err = self.find(self.cluster.kubeconfig, "--lease", "another")
        self.assertEqual((status, out, err.count("\n")), (1, "", 1))
        self.assertIn("no namespace has a Lease another): name it with --namespace", err)
        # Two do: they are named.
        lease = self.cluster.api.get(harness.LEASE)
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        self.cluster.api.create(leases, {
            "apiVersion": lease["apiVersion"], "kind": "Lease",
            "metadata": {"name": lease["metadata"]["name"]}, "spec": {}})
        self.addCleanup(self.cluster.kubectl, "delete", "lease", "--namespace", "default",
                        lease["metadata"]["name"])
        status, out, err = self.find(self.cluster.kubeconfig)
        self.assertEqual((status, out, err.count("\n")), (1, "", 1))
        self.assertIn("choose one with --namespace: default mokka-system", err)

    def test_check_needs_an_API_server(self):
        status, out, err = self.check(kubeconfig="/nowhere")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("/nowhere", err)


class Drain(DebuggingTest):
    def drain(self):
        done = self.ctl("drain", "--check", kubeconfig=self.cluster.kubeconfig)
        self.assertEqual(done.stderr, b"")
        return done.returncode, done.stdout.decode().splitlines()

    def test_10_7_a_drain_ends_with_nothing_printed(self):
        self.begin()
        status, lines = self.drain()
        self.assertEqual(status, 2)
        self.assertEqual(len(lines), 1 + 3 + NODES)
        self.assertEqual(lines[0], "SGPUInventory demo")
        self.cluster.kubectl("delete", "sgpuinventories", "--all", "--wait", "--timeout=2m")
        self.assertEqual(self.drain(), (0, []))
        # What remains of a Node that lost its eligibility is found all the same.
        self.cluster.kubectl("annotate", "node", "sim-003", f"{harness.ASSIGNMENT}=x")
        self.cluster.kubectl("label", "node", "sim-003", "mokka.nvidia.com/sgpu-node-")
        self.assertEqual(self.drain(), (2, [f"Node sim-003: {harness.ASSIGNMENT}"]))
        done = self.ctl("drain")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"kubectl delete sgpuinventories", done.stderr)


class Laptop(DebuggingTest):
    """With a kubeconfig and nothing else."""

    def alike(self, *words, status=0):
        """What the placer that runs answers, and one made from the objects."""
        live = self.ctl_live(*words, status=status)
        read = self.ctl(*words)
        self.assertEqual((read.returncode, read.stderr), (status, b""), words)
        self.assertEqual(read.stdout, live, words)
        return live.decode()

    def ctl_live(self, *words, status=0):
        done = subprocess.run(
            [BUILD / "mokkactl", words[0], "--socket", self.plane.socket, *words[1:]],
            stdout=subprocess.PIPE, check=False, timeout=60)
        self.assertEqual(done.returncode, status, words)
        return done.stdout

    def test_8_why_and_assignments_say_the_same_as_in_the_pod(self):
        self.begin()
        for name in ("wide", "none", "mine"):
            self.cluster.api.create("/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self.cluster.kubectl("label", "node", "wide", "mokka.nvidia.com/sgpu-node=true",
                             "mokka.nvidia.com/pool=demo")
        self.cluster.kubectl("label", "node", "none", "mokka.nvidia.com/sgpu-node=true")
        self.cluster.kubectl("label", "node", "mine", f"{harness.CLIQUE}=mine",
                             "mokka.nvidia.com/sgpu-node=true")
        wait_for("the placer", 10, lambda: b"pending" in self.ctl_live("why", "wide"))
        for name, verdict in (("sim-000", "assigned and projected"), ("wide", "pending"),
                              ("none", "no group selects it")):
            self.assertIn(verdict, self.alike("why", name))
        self.assertIn("not known", self.alike("why", "nobody", status=2))
        # A key that somebody else owns, on a Node that gets a slot.
        self.cluster.kubectl("label", "node", "mine", "mokka.nvidia.com/pool=demo")
        self.cluster.api.merge(f"{harness.GROUP}/sgpuinventories/demo", {"spec": {"rackGroups": [{
            **self.cluster.api.get(f"{harness.GROUP}/sgpuinventories/demo")["spec"][
                "rackGroups"][0], "count": 4}]}})
        wait_for("the conflict", 20, lambda: b"NodeMetadataConflict" in self.ctl_live(
            "why", "mine"))
        wait_for("the rest", 20, lambda: b"assigned and projected" in self.ctl_live(
            "why", "wide"))
        self.assertIn("in the way", self.alike("why", "mine"))
        node = self.cluster.api.get("/api/v1/nodes/sim-017")["metadata"]
        self.assertEqual(self.alike("assignments", node["name"], node["uid"]).count("\t"), 4)
        self.assertEqual(self.alike("assignments", "nobody", "x"), "")
        mark = self.cluster.mark()
        self.ctl("why", "sim-000")
        self.assertEqual([e for e in self.cluster.writes(mark)], [])
        # Nothing of a control plane is needed.
        self.plane.stop()
        self.assertIn(b"assigned and projected", self.ctl("why", "sim-000").stdout)

    def test_8_plan_of_what_is_there(self):
        self.begin()
        done = self.ctl("plan", "--diff", "--exit-code")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertIn(b"54 Nodes", self.ctl("plan").stdout)
        self.plane.stop()
        self.cluster.kubectl("label", "node", "sim-000", "mokka.nvidia.com/sgpu-node-")
        mark = self.cluster.mark()
        done = self.ctl("plan", "--diff", "--exit-code")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"sim-000", done.stdout)
        self.assertEqual(self.cluster.writes(mark), [])
        done = self.ctl("plan", kubeconfig="/nowhere")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"/nowhere", done.stderr)

    def racks(self):
        return {r["metadata"]["name"]
                for r in self.cluster.api.get(f"{harness.GROUP}/sgpuracks")["items"]}

    def plan_of(self, *objects):
        """The difference that applying the objects would make."""
        file = pathlib.Path(self.folder.name, "objects.json")
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        done = self.ctl("plan", "--diff", "-f", str(file))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def test_8_plan_of_what_applying_a_file_would_do(self):
        self.begin()
        inventory = f"{harness.GROUP}/sgpuinventories/demo"
        demo = self.cluster.api.get(inventory)
        self.assertEqual(self.plan_of(demo), "")
        smaller = json.loads(json.dumps(demo))
        smaller["spec"]["rackGroups"][0]["count"] = 1
        whole = self.plan_of(smaller)
        self.assertEqual(len(re.findall(r"(?m)^delete SGPURack .* CapacityShrink$", whole)), 2)
        # What only a server sets need not be there: the plan is the same.
        bare = {"apiVersion": demo["apiVersion"], "kind": demo["kind"],
                "metadata": {"name": "demo"}, "spec": smaller["spec"]}
        self.assertEqual(self.plan_of(bare), whole)
        # It is what happens.
        names = set(re.findall(r"(?m)^delete SGPURack (\S+)", whole))
        racks = self.racks()
        self.cluster.api.merge(inventory, {"spec": smaller["spec"]})
        wait_for("the racks", 30, lambda: self.racks() == racks - names)
        # A Node's labels, too; the others stay.
        away = {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "sim-000", "labels": {"mokka.nvidia.com/pool": "elsewhere"}}}
        self.assertIn("Node sim-000: SelectorMismatch", self.plan_of(away))

    def test_8_what_cannot_be_read_is_said(self):
        self.begin()
        done = self.ctl("why", "sim-000", kubeconfig="/nowhere")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"/nowhere", done.stderr)
        nobody = self.cluster.run(harness.LOCAL / "user", self.cluster.state, "nobody")
        done = self.ctl("why", "sim-000", kubeconfig=nobody)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"403", done.stderr)
        done = self.ctl("why", "sim-000", "--socket", "@x")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"give one of them", done.stderr)


class Support(DebuggingTest):
    def test_support_is_an_archive_without_secrets(self):
        self.begin()
        done = self.ctl("support", "-", "--socket", str(self.plane.socket),
                        "--namespace", harness.NAMESPACE, "--log", str(self.plane.log))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            files = {m.name: archive.extractfile(m).read().decode()
                     for m in archive.getmembers()}
        status = json.loads(files["mokka-support/status.json"])
        self.assertTrue(status["ready"])
        self.assertEqual(files["mokka-support/informer.jsonl"].count('"kind":"Node"'), NODES)
        self.assertNotIn("WRONG", files["mokka-support/check.txt"])
        self.assertRegex(files["mokka-support/metrics.txt"], r"(?m)^mokka_\S+ \d")
        self.assertIn('"msg":"acquired the lease"', files["mokka-support/log.jsonl"])
        key = pathlib.Path(self.cluster.user).read_text()
        for secret in re.findall(r"(?:token|client-key-data): *(\S{20,})", key):
            self.assertNotIn(secret, "".join(files.values()))
        full = self.ctl("support", "/dev/full", "--socket", str(self.plane.socket))
        self.assertEqual(full.returncode, 1)
        self.plane.stop()
        done = self.ctl("support", "-", "--socket", str(self.plane.socket))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"no control plane answers", done.stdout)


class Document(DebuggingTest):
    """Every command of the manual, and what it prints."""

    def prepare(self):
        self.begin()
        self.cluster.api.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-7"}})
        log = pathlib.Path(self.folder.name, "mokka.log")
        log.unlink(missing_ok=True)
        log.symlink_to(self.plane.log)
        return {
            **os.environ, "PATH": f"{BUILD}:{self.cluster.bin}:{os.environ['PATH']}",
            "KUBECONFIG": self.cluster.kubeconfig, "NO_COLOR": "1",
            "MOKKA_CP_CONTROL_SOCKET": str(self.plane.socket),
            "MOKKA_CP_KUBECONFIG": self.cluster.user, "POD_NAMESPACE": harness.NAMESPACE}

    def run_page(self, page, least):
        environment = self.prepare()
        count = 0
        for line, shown in manual.commands("", page):
            count += 1
            user = environment
            if "drain" in line:  # it looks at all Nodes, as an administrator
                user = {**environment, "MOKKA_CP_KUBECONFIG": self.cluster.kubeconfig}
            done = subprocess.run(
                ["sh", "-c", line], cwd=self.folder.name, env=user, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90, check=False)
            if not manual.is_shown(shown, done.stdout):
                self.fail(f"$ {line}\n--- shown\n{shown}--- printed\n{done.stdout}"
                          f"--- log\n{self.plane.tail(5)}")
        self.assertGreaterEqual(count, least)

    def test_the_commands_of_the_manual(self):
        self.run_page("docs/debugging.md", 30)

    def test_7_the_commands_for_troubles(self):
        self.run_page("docs/troubleshooting.md", 20)

    def test_7_the_commands_beside_others_that_write_the_label(self):
        self.run_page("docs/coexistence.md", 16)


if __name__ == "__main__":
    unittest.main(verbosity=2)
