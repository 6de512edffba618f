# SPDX-License-Identifier: Apache-2.0
"""kubectl mokka with a kubectl of ours that notes what it is asked for; the pod
test has the real one."""

import json
import os
import pathlib
import pty
import subprocess
import tarfile
import tempfile
import unittest

import driver

PLUGIN = driver.ROOT / "deploy" / "kubectl-mokka"
LEASE = "control-plane.mokka.nvidia.com"
HOLDER = "mokka-0_823bf102-c6fc-4b96-8986-954b2b8b0f47"

KUBECTL = """#!/usr/bin/env python3
import json, os, sys, tarfile
folder = os.path.dirname(__file__)
words = sys.argv[1:]
with open(f"{folder}/asked", "a", encoding="utf-8") as out:
    out.write(json.dumps(words) + "\\n")
with open(f"{folder}/answers", encoding="utf-8") as file:
    answers = json.load(file)
for verb in ("leases", "lease", "pod", "logs", "exec"):
    if verb in words:
        status, text = answers[verb]
        if "support" in words:
            with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
                tar.addfile(tarfile.TarInfo("mokka-support/version.txt"))
            sys.exit(status)
        print(text, file=sys.stderr if status else sys.stdout)
        sys.exit(status)
sys.exit(9)
"""


class PluginTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        kubectl = self.folder / "kubectl"
        kubectl.write_text(KUBECTL)
        kubectl.chmod(0o755)

    def mokka(self, *words, status=0, run=None, environment=None, **answers):
        """(stdout, stderr, what kubectl was asked)"""
        answers = {"leases": (0, "mokka-system"), "lease": (0, HOLDER), "pod": (0, "pod/mokka-0"),
                   "exec": (0, "done"), "logs": (0, "a log"), **answers}
        (self.folder / "answers").write_text(json.dumps(answers))
        asked = self.folder / "asked"
        asked.write_text("")
        done = (run or subprocess.run)(
            [PLUGIN, *words], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=30, check=False,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                 **(environment or {})})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr, [
            json.loads(line) for line in asked.read_text().splitlines()]

    def refused(self, *words, lines=1, **answers):
        out, err, asked = self.mokka(*words, status=1, **answers)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), lines, err)
        self.assertTrue(err.splitlines()[-1].startswith("kubectl mokka: "), err)
        self.assertFalse([a for a in asked if "exec" in a])
        return err

    def test_the_pod_that_leads_by_the_Lease(self):
        out, err, asked = self.mokka("why", "sim-017", "-n", "5")
        self.assertEqual((out, err), ("done\n", ""))
        self.assertIn(f"metadata.name={LEASE}", asked[0])
        self.assertEqual(asked[1][:3], ["get", "lease", LEASE])
        # What comes after the command is mokkactl's.
        self.assertEqual(asked[-1], [
            "exec", "-i", "--namespace", "mokka-system", "mokka-0", "--",
            "mokkactl", "why", "sim-017", "-n", "5"])

    def test_options_of_kubectl_go_to_each_of_its_calls(self):
        options = ["--context", "c", "--kubeconfig", "/k", "--cluster", "d", "--user", "u"]
        _, _, asked = self.mokka("-n", "ns", "--context=c", "--kubeconfig=/k", *options[4:],
                                 "--lease", "other", "-c", "main", "status")
        self.assertEqual([a[:len(options)] for a in asked], [options] * 3)
        self.assertFalse([a for a in asked if "leases" in a])
        self.assertIn("other", asked[0])
        self.assertEqual(asked[-1][len(options):], [
            "exec", "-i", "--namespace", "ns", "mokka-0", "--container", "main", "--",
            "mokkactl", "status"])

    def test_a_pod_that_is_named_needs_no_Lease(self):
        _, _, asked = self.mokka("--namespace=ns", "--pod", "mokka-1", "status")
        self.assertEqual(len(asked), 1)
        self.assertIn("mokka-1", asked[0])

    def test_the_exit_status_is_that_of_mokkactl(self):
        for status in (1, 2):
            self.mokka("drain", "--check", status=status, exec=(status, "left"))

    def test_each_error_names_the_remedy(self):
        self.assertIn("--namespace", self.refused(
            "status", lines=2, leases=(1, "Error from server (Forbidden): leases")))
        self.assertIn("is the control plane installed", self.refused("status", leases=(0, "")))
        err = self.refused("status", leases=(0, "a\nb"))
        self.assertIn("choose one with --namespace: a b", err)
        self.assertIn("--lease", self.refused("status", lines=2, lease=(1, "NotFound")))
        self.assertIn("released. Name a pod with --pod", self.refused("status", lease=(0, "")))
        err = self.refused("status", lines=2, pod=(1, "Error from server (NotFound)"))
        self.assertIn("no pod there", err)
        self.assertIn("--pod", err)
        self.assertIn("a command of mokkactl is missing", self.refused())
        self.assertIn("after --lease", self.refused("--lease"))
        self.assertIn("no option --wide", self.refused("--wide", "status"))

    def test_8_support_has_the_logs(self):
        file = self.folder / "support.tar"
        self.assertEqual(self.mokka("support", file)[:2], ("", ""))
        with tarfile.open(file) as archive:
            self.assertEqual(sorted(archive.getnames()), [f"mokka-support/{name}" for name in (
                "log-previous.jsonl", "log.jsonl", "version.txt")])
            self.assertEqual(archive.extractfile("mokka-support/log.jsonl").read(), b"a log\n")
        self.assertIn("is there already", self.refused("support", file))
        file.unlink()
        _, err, _ = self.mokka("support", file, logs=(1, "Forbidden"))
        self.assertIn("the log is missing", err)
        with tarfile.open(file) as archive:
            self.assertIn("mokka-support/version.txt", archive.getnames())
        # Of itself it goes to stdout, without them.
        _, _, asked = self.mokka("support", "-")
        self.assertEqual(asked[-1][-2:], ["support", "-"])

    def test_help_is_complete(self):
        out, _, asked = self.mokka("--help")
        self.assertEqual(asked, [])
        for word in ("--namespace", "--lease", "--pod", "--container", "--context",
                     "--kubeconfig", "Exit status", "Examples"):
            self.assertIn(word, out)

    def test_a_terminal_is_one_in_the_pod_too(self):
        def at_a_terminal(words, **options):
            here, there = pty.openpty()
            self.addCleanup(os.close, here)
            self.addCleanup(os.close, there)
            return subprocess.run(words, **{**options, "stdin": there, "stdout": there,
                                            "text": True})

        for no, last in (("", "status"), ("1", "--no-color")):
            (self.folder / "asked").write_text("")
            _, _, asked = self.mokka("status", run=at_a_terminal, environment={"NO_COLOR": no})
            self.assertEqual(asked[-1][:3], ["exec", "-i", "-t"])
            self.assertEqual(asked[-1][-1], last)


if __name__ == "__main__":
    unittest.main(verbosity=2)
