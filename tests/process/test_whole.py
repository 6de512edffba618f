# SPDX-License-Identifier: Apache-2.0
"""The whole on a real API server, watched for what no test asks about: by the
sanitizers while every worker is killed, and by valgrind up to a normal stop."""

import re
import time
import unittest

import driver
import harness
from driver import SANITIZERS, WORKERS, programs
from harness import ControlPlane, wait_for

SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) errors")
LOST = re.compile(r"(definitely|indirectly) lost: ([\d,]+) bytes")


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        began = time.monotonic()
        cls.cluster = harness.Cluster(audit="None")
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()
        print(f"  API server up after {time.monotonic() - began:.1f} s")

    def setUp(self):
        self.cluster.reset()
        self.began = time.monotonic()

    def say(self, text):
        print(f"  {text} after {time.monotonic() - self.began:.1f} s")

    def declare(self, nodes):
        self.cluster.add_nodes(nodes)
        self.cluster.add_samples("profile-nvl72", "inventory-54")

    def plane(self, *arguments, **options):
        plane = ControlPlane(self.cluster, *arguments, **options)
        self.addCleanup(self.end, plane)
        return plane

    def end(self, plane):
        if plane.process.poll() is None:
            plane.process.kill()
            plane.process.wait()

    def converge(self, plane, nodes, seconds):
        try:
            wait_for("convergence", seconds, lambda: self.cluster.converged()
                     and len(self.cluster.projected()) == nodes)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{plane.tail()}") from error
        self.say(f"{nodes} Nodes projected")

    def test_54_Nodes_and_every_worker_killed_once_and_no_sanitizer_speaks(self):
        self.declare(54)
        plane = self.plane("--kube-api-qps", "30", "--kube-api-burst", "1",
                           program=(programs("debug") / "control-plane",),
                           environment=SANITIZERS)
        plane.wait_ready()
        for name in WORKERS:
            generation, _ = plane.kill(name)
            plane.wait_back(name, generation)
        self.converge(plane, 54, 60)
        plane.wait_ready()
        for name in WORKERS:  # and once more with nothing to do
            generation, _ = plane.kill(name)
            plane.wait_back(name, generation)
        plane.wait_ready()
        status = plane.stop()
        self.say("stopped")
        report = driver.reported(plane.log.read_text() + plane.error.read_text())
        self.assertFalse(report, report)
        self.assertEqual(status, 0, plane.tail())
        causes = {line["cause"] for line in plane.lines(msg="worker died")}
        self.assertEqual(len(causes), 1, causes)  # ours, signal 9

    def test_18_Nodes_under_valgrind_no_errors_and_no_leaks_in_any_process(self):
        logs = self.cluster.directory / "valgrind"
        logs.mkdir()
        self.declare(18)
        plane = self.plane(
            "--log-level", "debug", "--leader-election-lease-duration", "60s",
            "--leader-election-renew-deadline", "40s",
            "--leader-election-retry-period", "5s", "--live-node-get-timeout", "20s",
            program=("valgrind", "--trace-children=yes", "--error-exitcode=9",
                     "--leak-check=full", "--errors-for-leak-kinds=definite",
                     f"--log-file={logs}/%p", programs("release") / "control-plane"))
        plane.wait_ready(60)
        self.say("ready")
        self.converge(plane, 18, 60)
        self.cluster.api.delete("/api/v1/nodes/sim-003")  # a slot is given up
        wait_for("the slot", 60, lambda: len(self.cluster.projected()) == 17
                 and self.cluster.converged())
        status = plane.stop(60)
        self.say("stopped")
        self.assertEqual(status, 0, plane.tail())
        ended = {line["worker"]: line["cause"] for line in plane.lines(msg="worker ended")}
        self.assertEqual(ended, {name: "exit status 0" for name in WORKERS})
        pids = {line["worker"]: line["pid"] for line in plane.lines(msg="worker running")}
        pids["supervisor"] = plane.pid
        self.assertEqual(plane.lines(msg="worker died"), [])
        for name, pid in pids.items():
            with self.subTest(process=name):
                text = (logs / str(pid)).read_text()
                self.assertEqual(SUMMARY.findall(text), ["0"], text)
                self.assertEqual(
                    [count for _, count in LOST.findall(text) if count != "0"], [], text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
