# SPDX-License-Identifier: Apache-2.0
"""/healthz and /readyz on a real API server: what a replica waits for, and that
it goes on by itself once that is there (mokka-control 2.4 and 2.5)."""

import http.client
import json
import signal
import socket
import unittest

import harness
import replicas
from harness import WORKERS, wait_for
from replicas import A, B, Probe, ReplicaTest, mutations

D = "replica-d"  # may do nothing until a test says so


class Waiting(ReplicaTest):
    def leases_of(self, user):
        return [e for e in self.cluster.audit(self.mark, user)
                if e["objectRef"]["resource"] == "leases"]

    def check_alive(self, replica):
        self.assertEqual(replica.http("/healthz"), (200, {"ok": True}))
        self.assertIsNone(replica.process.poll())

    def test_L01_L02_without_rights_it_lives_unready_and_leaves_the_Lease_alone(self):
        replica = self.replica(D)
        body = replica.wait_reason("403")
        self.assertTrue(body["reason"].startswith("informer: "), body)
        self.assertIs(body["components"]["informer"]["ok"], False)
        body = replica.wait_reason("waits for the first complete snapshot")
        self.assertIn("waits for the first complete snapshot",
                      body["components"]["elector"]["reason"])
        self.check_alive(replica)
        self.assertEqual(self.leases_of(D), [])
        replicas.admit(self.cluster, D)
        replica.wait_ready(60)
        self.assertTrue(replica.leads())
        replica.check_started_once(self)

    def test_L01_an_API_server_that_comes_later_is_waited_for(self):
        way = self.forwarder()
        way.cut()
        replica = self.replica(A, kubeconfig=way.kubeconfig(A))
        body = replica.wait_reason("refused")
        self.assertTrue(body["reason"].startswith("informer: "), body)
        self.check_alive(replica)
        way.open()
        replica.wait_ready(60)
        replica.check_started_once(self)

    def test_2_5_J12_an_API_server_that_goes_away_ends_a_term_and_no_process(self):
        way = self.forwarder()
        replica = self.replica(A, kubeconfig=way.kubeconfig(A))
        replica.wait_ready()
        way.cut()
        body = replica.wait_reason("elector: ")
        self.assertIn("Lease", json.dumps(body["components"]["elector"]))
        self.check_alive(replica)
        way.open()
        replica.wait_ready(60)
        replica.check_started_once(self)
        self.assertEqual(len(replica.lines(msg="acquired the lease")), 2)
        self.assertEqual(self.spec()["leaseTransitions"], 0)

    def test_L04_a_new_leader_is_unready_until_it_has_planned(self):
        replicas.declare(self.cluster, 100)
        leader, standby = self.pair()
        standby.kill("placer", signal.SIGSTOP)
        leader.stop()
        standby.wait_leading()
        body = standby.wait_reason("placer: no plan in the new term yet")
        self.assertIs(body["ok"], False)
        replicas.create_nodes(self.cluster, 3)
        self.assertEqual(self.writes(B), [])
        standby.kill("placer", signal.SIGCONT)
        standby.wait_ready()
        wait_for("the Nodes", 20, lambda: len(self.cluster.projected()) == 3)


class Answers(ReplicaTest):
    def test_G05_bodies_statuses_and_components(self):
        leader, standby = self.pair()
        for replica in (leader, standby):
            self.assertEqual(replica.http("/healthz"), (200, {"ok": True}))
            status, body = replica.http("/readyz")
            self.assertEqual(status, 200)
            self.assertIs(body["ok"], True)
            self.assertNotIn("reason", body)
            self.assertEqual(set(body["components"]), set(WORKERS))
            for name, component in body["components"].items():
                self.assertIs(component["ok"], True, name)
        self.assertIn(leader.identity(), standby.http("/readyz")[1]["components"][
            "elector"]["reason"])
        for path in ("/", "/healthz/", "/readyz/x", "/metric"):
            status, body = leader.http(path)
            self.assertEqual((status, body["ok"]), (404, False), path)
        for method in ("POST", "PUT", "DELETE"):
            for path in ("/healthz", "/readyz"):
                self.assertEqual(leader.http(path, method)[0], 405, (method, path))
        connection = http.client.HTTPConnection(leader.address(), timeout=5)
        connection.request("GET", "/readyz?verbose")
        response = connection.getresponse()
        text = response.read()
        connection.close()
        self.assertEqual(response.headers["Content-Type"], "application/json")
        self.assertTrue(text.endswith(b"}\n"))
        self.assertEqual(text.count(b"\n"), 1)

    def test_G06_a_request_under_way_is_answered_and_the_listener_closes(self):
        replica = self.replica(A, "--shutdown-timeout", "15s")
        replica.wait_ready()
        host, port = replica.address().split(":")
        with socket.create_connection((host, int(port)), timeout=20) as under_way:
            under_way.sendall(b"GET /readyz HTTP/1.1\r\n")
            replica.process.terminate()
            wait_for("the listener to close", 10, lambda: self.is_refused(host, int(port)))
            self.assertIsNone(replica.process.poll())
            under_way.sendall(b"Host: x\r\n\r\n")
            answer = b""
            while data := under_way.recv(1 << 12):
                answer += data
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertIn(b" 503 ", head)
        self.assertEqual(json.loads(body)["reason"], "stopping")
        self.assertEqual(replica.process.wait(10), 0)
        self.assertEqual(replicas.holder(self.cluster), "")

    @staticmethod
    def is_refused(host, port):
        try:
            socket.create_connection((host, port), timeout=1).close()
        except ConnectionRefusedError:
            return True
        return False

    def test_2_5_readyz_is_false_before_the_Lease_is_released(self):
        """The projector is held, so that the release waits for it."""
        leader, _ = self.pair()
        leader.kill("projector", signal.SIGSTOP)
        leader.process.terminate()
        self.assertEqual(leader.wait_reason("stopping")["reason"], "stopping")
        self.assertEqual(replicas.holder(self.cluster), leader.identity())
        leader.kill("projector", signal.SIGCONT)
        self.assertEqual(leader.process.wait(20), 0)
        self.assertFalse([w for w in mutations(self.cluster, (A,), self.mark, True)
                          if w.code != 200 and w.code != 201])

    def test_7_who_is_away_for_a_moment_changes_nothing(self):
        pair = self.pair()
        probe = Probe(*pair)
        self.addCleanup(probe.enough.set)
        for replica in pair:
            for name in ("projector", "elector", "placer", "informer"):
                generation, _ = replica.kill(name)
                replica.wait_back(name, generation)
        for replica in pair:  # and until each has what it needs
            wait_for("all to be well", 20, lambda r=replica: all(
                c["ok"] for c in r.http("/readyz")[1]["components"].values()))
        seen = probe.stop()
        self.assertEqual({tuple(answer.values()) for answer in seen}, {(200, 200)},
                         probe.bodies[:3])


if __name__ == "__main__":
    unittest.main(verbosity=2)
