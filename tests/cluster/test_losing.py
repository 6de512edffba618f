# SPDX-License-Identifier: Apache-2.0
"""Leaders that are cut off, stopped or killed, with Nodes coming all the time: who
writes when, by the API server's audit log (mokka-control 2.5 and 2.6)."""

import signal
import time
import unittest

from replicas import A, B, Probe, ReplicaTest, Witness


class Losing(ReplicaTest):
    def test_L08_L11_a_leader_that_is_cut_off_stands_by_and_comes_back_warm(self):
        load = self.load(limit=100)
        way = self.forwarder()
        leader, standby = self.pair(kubeconfig=way.kubeconfig(A))
        self.wait_writes(A, 20)
        way.cut()
        leader.wait_reason("elector")
        standby.wait_leading()
        self.wait_writes(B, 20)
        way.open()
        since = self.cluster.mark()
        leader.wait_reason(standby.identity(), status=200)
        leader.check_started_once(self)
        self.assertEqual(len(leader.lines(msg="term ended")), 1)
        # It follows what the other writes, and writes nothing.
        self.wait_writes(B, 20)
        self.assertEqual([w for w in self.writes(A) if w.begin > self.writes(B)[0].begin], [])
        self.assertEqual(standby.stop(), 0)
        leader.wait_leading()
        self.wait_writes(A, 20)
        self.wait_projected(load)
        lists = [e["objectRef"]["resource"] for e in self.cluster.audit(since, A)
                 if e["verb"] == "list"]
        self.assertEqual(lists, ["leases"])
        self.check_no_overlap()
        self.assertEqual(self.spec()["leaseTransitions"], 2)

    def test_D04_a_stopped_elector_ends_writing_in_time(self):
        load = self.load()
        leader, standby = self.pair()
        self.wait_writes(A, 20)
        generation, _ = leader.kill("elector", signal.SIGSTOP)
        standby.wait_leading()
        self.assertEqual(leader.readiness()[0], 503)
        self.wait_writes(B, 20)
        self.check_no_overlap()
        leader.kill("elector", signal.SIGCONT)
        leader.wait_reason(standby.identity(), status=200)
        self.wait_writes(B, 20)
        self.wait_projected(load)
        self.check_no_overlap()
        self.assertEqual(leader.worker("elector")[1], generation)

    def test_D04_a_leader_that_is_stopped_as_a_whole_writes_nothing_when_it_goes_on(self):
        load = self.load(pause=0.005)
        leader, standby = self.pair()
        for _ in range(3):
            self.wait_writes(leader.user, 20)
            leader.signal_tree(signal.SIGSTOP)
            standby.wait_leading()
            self.wait_writes(standby.user, 20)
            leader.signal_tree(signal.SIGCONT)
            leader.wait_reason(standby.identity(), status=200)
            self.check_no_overlap()
            leader, standby = standby, leader
        self.wait_projected(load)
        for replica in (leader, standby):
            replica.check_started_once(self)

    def test_2_6_a_dead_leader_is_followed_when_its_Lease_expires(self):
        load = self.load()
        leader, standby = self.pair()
        self.wait_writes(A, 20)
        leader.kill_tree()
        standby.wait_leading()
        self.wait_writes(B, 20)
        self.wait_projected(load)
        self.check_no_overlap()
        self.assertEqual(self.spec()["leaseTransitions"], 1)

    def test_L_a_new_leader_that_has_not_heard_of_the_last_binds_nothing(self):
        witness = Witness(self.cluster)
        self.addCleanup(witness.close)
        load = self.load()
        leader, standby = self.pair()
        self.wait_writes(A, 20)
        standby.kill("informer", signal.SIGSTOP)
        self.wait_writes(A, 40)
        leader.kill_tree()
        standby.wait_leading()
        time.sleep(1)
        self.assertEqual({w.resource for w in self.writes(B)}
                         - {"sgpuracks/status", "sgpuinventories/status"}, set())
        standby.kill("informer", signal.SIGCONT)
        self.wait_writes(B, 20)
        self.wait_projected(load)
        self.assertEqual(witness.wrong + witness.twice(), [])
        self.check_no_overlap()

    def test_7_killed_electors_change_neither_term_nor_readiness(self):
        pair = self.pair()
        before = self.spec()
        probe = Probe(*pair)
        self.addCleanup(probe.enough.set)
        for _ in range(3):
            for replica in pair:
                generation, _ = replica.kill("elector")
                replica.wait_back("elector", generation)
                time.sleep(0.3)
        answers = probe.stop()
        self.assertGreater(len(answers), 20)
        self.assertEqual({tuple(seen.values()) for seen in answers}, {(200, 200)},
                         probe.bodies[:3])
        after = self.spec()
        for key in ("holderIdentity", "acquireTime", "leaseTransitions"):
            self.assertEqual(after[key], before[key], key)
        self.assertGreater(after["renewTime"], before["renewTime"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
