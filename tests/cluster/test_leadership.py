# SPDX-License-Identifier: Apache-2.0
"""The Lease on a real API server: its fields, its expiry, and foreign hands on it
(mokka-control 2.6)."""

import json
import os
import re
import time
import unittest

import harness
import replicas
from harness import LEASE, wait_for
from replicas import A, B, C, ReplicaTest

TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"


class Lease(ReplicaTest):
    def test_D01_D07_2_6_fields_over_a_life(self):
        leader = self.replica(A)
        leader.wait_ready()
        first = self.spec()
        self.assertEqual(first["holderIdentity"], leader.identity())
        self.assertRegex(leader.identity(), r"^[^_]+_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                            r"[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(first["leaseDurationSeconds"], replicas.LEASE_SECONDS)
        self.assertEqual(first["leaseTransitions"], 0)
        for key in ("acquireTime", "renewTime"):
            self.assertRegex(first[key], TIME)
        self.cluster.api.merge(LEASE, {"metadata": {"labels": {"of": "somebody"}}})
        wait_for("a renewal", 10, lambda: self.spec()["renewTime"] > first["renewTime"])
        wait_for("another", 10, lambda: len(self.writes(A, leases=True)) > 4)
        for key in ("holderIdentity", "acquireTime", "leaseTransitions"):
            self.assertEqual(self.spec()[key], first[key], key)
        self.assertEqual(leader.stop(), 0)
        lease = self.cluster.api.get(LEASE)
        self.assertEqual(lease["metadata"]["labels"], {"of": "somebody"})
        self.assertEqual(lease["spec"]["holderIdentity"], "")
        self.assertEqual(lease["spec"]["leaseDurationSeconds"], 1)
        self.assertEqual(lease["spec"]["leaseTransitions"], 0)
        self.assertGreater(lease["spec"]["acquireTime"], first["acquireTime"])
        # A released one is taken over, and that counts.
        second = self.replica(B)
        second.wait_ready()
        self.assertEqual(self.spec()["leaseTransitions"], 1)

    def first(self, mark, verb):
        """When A first asked that of the Lease."""
        event = wait_for(verb, 5, lambda: [
            e for e in self.cluster.audit(mark, A)
            if e["objectRef"]["resource"] == "leases" and e["verb"] == verb])[0]
        return replicas.moment(event["requestReceivedTimestamp"])

    def test_D02_D03_a_record_is_judged_by_our_clock_and_its_own_duration(self):
        for year in (1999, 2099):
            with self.subTest(year=year):
                self.cluster.reset()
                mark = self.cluster.mark()
                moment = f"{year}-01-01T00:00:00.000000Z"
                name = LEASE.rsplit("/", 1)
                self.cluster.api.create(name[0], {
                    "metadata": {"name": name[1]}, "spec": {
                        "holderIdentity": "stranger", "leaseDurationSeconds": 5,
                        "acquireTime": moment, "renewTime": moment, "leaseTransitions": 9}})
                replica = self.replica(A)
                replica.wait_leading()
                read, taken = (self.first(mark, verb) for verb in ("get", "update"))
                self.assertGreaterEqual(taken - read, 5)
                self.assertEqual(self.spec()["leaseTransitions"], 10)
                replica.stop()

    def test_D06_who_loses_the_Lease_to_another_hand_writes_no_more_and_waits(self):
        load = self.load()
        leader = self.replica(A)
        leader.wait_leading()
        self.wait_writes(A, 20)
        self.steal(seconds=6)
        leader.wait_reason("held by stranger", status=200)
        time.sleep(1)  # what was under way is answered by now
        count = len(self.writes(A))
        stolen = len(self.writes(A, leases=True))
        self.wait_nodes(load, 20)
        self.assertEqual(len(self.writes(A)), count)
        self.assertEqual(len(leader.lines(msg="term ended")), 1)
        leader.wait_leading()  # it expired, as nobody renewed it
        self.assertEqual(self.writes(A, leases=True)[stolen:][0].code, 200)
        self.assertEqual(self.spec()["leaseTransitions"], 2)
        self.wait_projected(load)
        leader.check_started_once(self)

    def steal(self, identity="stranger", seconds=2):
        """Another hand takes the Lease, whoever holds it."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        while True:
            lease = self.cluster.api.get(LEASE)
            lease["spec"].update(
                holderIdentity=identity, leaseDurationSeconds=seconds, acquireTime=now,
                renewTime=now, leaseTransitions=lease["spec"]["leaseTransitions"] + 1)
            try:
                return self.cluster.api.ask("PUT", LEASE, lease)
            except harness.Refused as refused:
                if refused.status != 409:
                    raise

    def wait_nodes(self, load, more):
        count = load.count + more
        wait_for("Nodes", 10, lambda: load.count >= count)

    def test_the_commands_of_the_manual(self):
        leader = self.replica(A)
        leader.wait_ready()
        text = (harness.ROOT / "docs" / "leadership.md").read_text()
        commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
        environment = dict(os.environ, KUBECONFIG=self.cluster.kubeconfig,
                           PATH=f"{self.cluster.bin}:{os.environ['PATH']}")
        answers = [self.cluster.run("sh", "-c", c.replace("ADDRESS", leader.address()),
                                    env=environment) for c in commands]
        self.assertEqual(answers[0], leader.identity())
        self.assertIs(json.loads(answers[1])["ok"], True)

    def test_a_deleted_Lease_is_made_anew_in_a_new_term(self):
        leader = self.replica(A)
        leader.wait_ready()
        self.cluster.api.delete(LEASE)
        wait_for("a new term", 10, lambda: len(leader.lines(msg="acquired the lease")) == 2)
        self.assertTrue(leader.leads())
        leader.wait_ready()

    def test_L12_a_released_Lease_is_taken_at_once_and_counted(self):
        leader, standby = self.pair()
        wait_for("the watch of the standby", 10, lambda: [
            e for e in self.cluster.audit(self.mark, B)
            if e["verb"] == "watch" and e["objectRef"]["resource"] == "leases"])
        standby_asked = self.cluster.mark()
        self.assertEqual(leader.stop(), 0)
        standby.wait_leading()
        asked = [e["verb"] for e in self.cluster.audit(standby_asked, B)
                 if e["objectRef"]["resource"] == "leases" and e["verb"] != "watch"]
        # It polled for nothing: a read, and what came of it.
        self.assertEqual(asked[:2], ["get", "update"])
        self.assertEqual(self.spec()["leaseTransitions"], 1)

    def test_L12_without_the_right_to_watch_the_Lease_is_polled(self):
        leader, standby = self.pair(A, C)
        self.assertEqual(leader.stop(), 0)
        standby.wait_leading()
        self.assertEqual(self.spec()["leaseTransitions"], 1)
        said = standby.lines(msg="the lease cannot be watched; it is polled")
        self.assertEqual(len(said), 1)
        self.assertIn("403", said[0]["error"])
        asked = [e["verb"] for e in self.cluster.audit(self.mark, C)
                 if e["objectRef"]["resource"] == "leases"]
        self.assertEqual([v for v in asked if v in ("list", "watch")], ["list"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
