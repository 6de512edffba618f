# SPDX-License-Identifier: Apache-2.0
"""Ours and a candidate of client-go's own election, which is what the original
has, contend for one Lease: each hands over to the other in every way there is
(mokka-control 2.6)."""

import os
import shutil
import signal
import subprocess
import unittest

import harness
import replicas
from harness import NAMESPACE, wait_for
from replicas import A, B, ReplicaTest

SOURCE = harness.ROOT / "tests" / "cluster" / "candidate" / "main.go"
MODULES = harness.LOCAL / "kubernetes"


@unittest.skipUnless(shutil.which("go"), "no Go here to build the other candidate with")
class Candidate(ReplicaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.cluster.directory / "candidate"
        subprocess.run(["go", "build", "-buildvcs=false", "-o", cls.program, SOURCE],
                       cwd=MODULES, check=True, env=dict(
                           os.environ, GOWORK="off", GOFLAGS="-mod=readonly", CGO_ENABLED="0"))
        cls.config = cls.cluster.run(harness.LOCAL / "user", cls.cluster.state, B)

    def other(self, identity):
        with open(self.cluster.directory / f"{identity}.log", "wb") as log:
            process = subprocess.Popen(
                [self.program, self.config, NAMESPACE, harness.LEASE.rsplit("/", 1)[1],
                 identity, *replicas.QUICK[1::2]], stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def wait_held(self, identity, transitions):
        wait_for(f"{identity} to hold the Lease", 30,
                 lambda: self.spec()["holderIdentity"] == identity)
        self.assertEqual(self.spec()["leaseTransitions"], transitions)

    def test_2_6_released_killed_and_stopped_both_ways(self):
        theirs = self.other("theirs-1")
        wait_for("the Lease", 20, lambda: replicas.holder(self.cluster) == "theirs-1")
        ours = self.replica(A)
        ours.wait_reason("held by theirs-1", status=200)
        theirs.terminate()  # it releases
        self.assertEqual(theirs.wait(20), 0)
        self.wait_held(ours.identity(), 1)
        ours.wait_ready()

        theirs = self.other("theirs-2")
        self.assertEqual(ours.stop(), 0)  # we release
        self.wait_held("theirs-2", 2)

        ours = self.replica(A)
        ours.wait_reason("held by theirs-2", status=200)
        theirs.kill()
        self.wait_held(ours.identity(), 3)
        ours.wait_ready()

        self.other("theirs-3")
        ours.kill_tree()
        self.wait_held("theirs-3", 4)

    def test_2_6_D04_who_was_stopped_finds_the_other_and_gives_way(self):
        ours = self.replica(A)
        ours.wait_leading()
        theirs = self.other("theirs")
        ours.signal_tree(signal.SIGSTOP)
        self.wait_held("theirs", 1)
        ours.signal_tree(signal.SIGCONT)
        ours.wait_reason("held by theirs", status=200)
        self.assertEqual(len(ours.lines(msg="term ended")), 1)
        theirs.send_signal(signal.SIGSTOP)
        self.wait_held(ours.identity(), 2)
        theirs.send_signal(signal.SIGCONT)
        theirs.wait(20)  # this one ends when it has lost
        ours.wait_ready()
        self.assertTrue(ours.leads())
        ours.check_started_once(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
