# SPDX-License-Identifier: Apache-2.0
"""The control plane in a real pod: seen with kubectl, held by a debugger, and
docs/debugging.md as it is written there."""

import json
import re
import subprocess
import threading
import time
import unittest

import node
from node import CONTAINER, DEBUG_IMAGE, LEASE, NAMESPACE, NODES, ROOT, wait_for
import manual  # found where node looks

WATCHDOG_SECONDS = 15


def setUpModule():
    """One cluster for all: it takes half a minute."""
    PodTest.node = node.Node()
    unittest.addModuleCleanup(PodTest.node.down)
    PodTest.node.install()
    PodTest.node.add_nodes()
    PodTest.wait_projected()


class PodTest(unittest.TestCase):
    def setUp(self):
        # What a test before this one left half done.
        self.node.kubectl("label", "--overwrite", "node", "--selector",
                          "mokka.nvidia.com/sgpu-node=true", "mokka.nvidia.com/pool=demo")
        self.wait_projected()

    @classmethod
    def wait_projected(cls, count=NODES):
        wait_for("the Nodes to be projected", 60, lambda: cls.node.projected() == count)

    def kept(self):
        """What a worker's fate must not change: the term, and the cache, each
        as its owner sees it and as the API server does."""
        status = self.node.status()
        lease = self.node.get("lease", LEASE)["spec"]
        informer = self.worker("informer", status)
        return {
            "term": status["term"], "holder": lease["holderIdentity"],
            "transitions": lease.get("leaseTransitions", 0),
            "acquired": lease["acquireTime"], "informer": informer["generation"],
            "lists": sum(e["verb"] == "list" for e in self.node.audit()),
        }

    def worker(self, name, status=None):
        return next(w for w in (status or self.node.status())["workers"] if w["name"] == name)

    def debugger(self):
        """A container with gdb beside the control plane; its name."""
        name = f"debugger-{time.monotonic_ns()}"
        self.node.kubectl(
            "debug", self.node.pod(), f"--image={DEBUG_IMAGE}", "--image-pull-policy=Never",
            f"--target={CONTAINER}", "--profile=restricted", "--container", name,
            "--", "sleep", "infinity")
        wait_for("the debugger", 60, lambda: any(
            s["name"] == name and "running" in s["state"] for s in
            self.node.get("pod", self.node.pod())["status"].get("ephemeralContainerStatuses", [])))
        return name

    def inside(self, container, *words):
        return self.node.kubectl("exec", self.node.pod(), "--container", container,
                                 "--", *words)


class Seen(PodTest):
    def test_it_is_ready_restricted_and_asks_for_nothing_more(self):
        pod = self.node.get("pod", self.node.pod())
        self.assertEqual([c["restartCount"] for c in pod["status"]["containerStatuses"]], [0])
        self.assertTrue(self.node.status()["ready"])
        out = self.node.kubectl("exec", node.DEPLOYMENT, "--", "mokkactl", "status")
        self.assertRegex(out, r"\Aready, leads \(term 1\); Lease mokka-system/")
        self.assertNotIn("WRONG", self.node.kubectl(
            "exec", node.DEPLOYMENT, "--", "mokkactl", "check"))
        refused = [e for e in self.node.audit() if e["responseStatus"]["code"] == 403]
        self.assertEqual(refused, [])

    def test_a_worker_that_dies_is_an_Event_and_a_crash_report_in_the_log(self):
        debugger = self.debugger()
        kept = self.kept()
        before = self.worker("placer")
        self.inside(debugger, "pkill", "-SEGV", "-x", "placer")
        after = wait_for("the placer", 30, lambda: next(iter(
            w for w in [self.worker("placer")]
            if w["state"] == "running" and w["generation"] > before["generation"]), None))
        self.assertEqual(after["generation"], before["generation"] + 1)
        events = wait_for("the Events", 30, lambda: {
            e["reason"]: e for e in self.node.get("events")["items"]
            if e["involvedObject"]["name"] == self.node.pod()
            and e["reason"].startswith("Worker")})
        self.assertIn("placer", events["WorkerDied"]["message"])
        report = [line for line in self.node.log() if line["msg"] == "crash report"][-1]
        self.assertEqual((report["worker"], report["signal"]), ("placer", "Segmentation fault"))
        # From its address to the line of code, with the debugger's symbols.
        at = re.findall(r"placer\+(0x[0-9a-f]+)", report["stack"])[0]
        listed = self.inside(debugger, "gdb", "-batch", "-ex", f"list *{at}",
                             "/usr/local/libexec/mokka/placer")
        self.assertRegex(listed, r"is in \w+ \(/usr/src/mokka/\S+\.c:\d+\)")
        self.assertEqual(self.kept(), kept)
        self.wait_projected()

    def test_a_recording_through_kubectl_runs_again(self):
        file = self.node.directory / "placer.recording"
        with open(file, "wb") as out:
            done = subprocess.run(
                self.node.command("kubectl", "mokka", "record", "placer", "-", "--seconds", "3"),
                env=self.node.environment(), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        replay = subprocess.run(
            [ROOT / "build" / "release" / "placer", "--replay", file, "-o", "none"],
            stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(replay.returncode, 0, replay.stderr)
        self.assertRegex(replay.stderr, "identical")
        self.assertGreater(file.stat().st_size, NODES * 100)


class Plugin(PodTest):
    def mokka(self, *arguments, status=0):
        return self.node.run("kubectl", "mokka", *arguments, status=status)

    def test_kubectl_mokka_finds_the_leader(self):
        self.assertIn("ready, leads", self.mokka("status")[0])
        self.assertIn("ready, leads", self.mokka(
            "--namespace", NAMESPACE, f"--kubeconfig={self.node.state}/kubeconfig", "status")[0])
        self.assertEqual(json.loads(self.mokka("status", "-o", "json")[0])["term"], 1)
        self.assertIn("assigned and projected", self.mokka("why", "sim-000")[0])
        # The exit status is that of mokkactl.
        self.assertIn("SGPUInventory demo", self.mokka("drain", "--check", status=2)[0])

    def test_kubectl_mokka_says_what_to_do(self):
        for arguments, said in (
                (("--lease", "none", "status"), "is the control plane installed"),
                (("-n", "default", "status"), "--namespace and --lease"),
                (("--pod", "nobody", "-n", NAMESPACE, "status"), "nobody"),
                (("--context", "other", "status"), "other")):
            self.assertIn(said, self.mokka(*arguments, status=1)[1])


class Debugger(PodTest):
    def gdb(self, debugger, *commands):
        """Attaches to the projector; the output."""
        words = [w for c in commands for w in ("-ex", c)]
        pid = self.inside(debugger, "pgrep", "-x", "projector").strip()
        return self.inside(debugger, "gdb", "-batch", "-p", pid, *words)

    def test_J10_8_a_breakpoint_on_a_request_and_on_it_goes(self):
        debugger = self.debugger()
        kept = self.kept()
        before = self.worker("projector")
        said = []
        held = threading.Thread(target=lambda: said.append(self.gdb(
            debugger, "break task_send", "continue", "backtrace 3", "info args",
            f"shell sleep {WATCHDOG_SECONDS + 5}", "delete", "detach")))
        held.start()
        wait_for("gdb", 30, lambda: "gdb" in self.inside(debugger, "ps", "-eo", "comm"))
        time.sleep(3)
        self.node.kubectl("label", "node", "sim-009", "mokka.nvidia.com/pool=none", "--overwrite")
        held.join(120)
        self.assertRegex(said[0], r"Breakpoint 1, (\S+ in )?task_send \(t=\S*0x")
        self.assertRegex(said[0], r"at /usr/src/mokka/projector/task\w*\.c:\d+")
        self.assertIn("detached", said[0])
        self.assertEqual(self.kept(), kept)
        after = self.worker("projector")
        for key in ("pid", "generation", "restarts"):
            self.assertEqual(after[key], before[key], key)
        self.assertEqual([line for line in self.node.log() if line["msg"] in (
            "worker is silent", "worker died", "not ready", "lost the lease")
            and line["worker"] == "projector"], [])
        # What was held goes on where it was.
        self.wait_projected(NODES - 1)
        self.node.kubectl("label", "node", "sim-009", "mokka.nvidia.com/pool=demo", "--overwrite")
        self.wait_projected()
        self.assertEqual(self.kept(), kept)


class Shell:
    """A shell that stays, for commands that follow each other."""

    def __init__(self, place, folder, shell="bash"):
        self.process = subprocess.Popen(
            place.command(shell), env=place.environment(NO_COLOR="1"), cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, line):
        mark = "--- the end of a command"
        quoted = line.replace("'", "'\\''")
        self.process.stdin.write(f"eval '{quoted}' </dev/null 2>&1; echo '{mark}'\n")
        self.process.stdin.flush()
        said = []
        for shown in self.process.stdout:
            if shown.endswith(mark + "\n"):
                said.append(shown[:-len(mark) - 1])
                break
            said.append(shown)
        return "".join(said)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait()


class Document(PodTest):
    """Every command of the manual that is for a pod, and what it prints."""

    def test_the_commands_of_the_manual(self):
        folder = self.node.directory / "manual"
        folder.mkdir()
        shell = Shell(self.node, folder)
        self.addCleanup(shell.end)
        count = 0
        for line, shown in manual.commands(" pod"):
            printed = shell.run(line)
            count += 1
            if not manual.is_shown(shown, printed):
                self.fail(f"$ {line}\n--- shown\n{shown}--- printed\n{printed}")
        self.assertGreater(count, 15)


if __name__ == "__main__":
    unittest.main(verbosity=2)
