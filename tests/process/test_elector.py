# SPDX-License-Identifier: Apache-2.0
"""Electors as real processes against a scripted API server: what they see of a
Lease, what their page grants, and what a stop, a death or a slow server does to
a term.  Where a poll would be no news, it is an hour away."""

import json
import pathlib
import signal
import struct
import tempfile
import time
import unittest

import driver
import api
from driver import wait_for

LEASE = "control-plane.mokka.nvidia.com"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LIST = f"GET {LEASES}?fieldSelector=metadata.name%3D{LEASE}"
WATCH = LIST + "&watch=1"
READ = f"GET {LEASES}/{LEASE}"
PUT = f"PUT {LEASES}/{LEASE}"
# The next poll is out of any test's reach.
PATIENT = {"leader_election_lease_duration": "3h",
           "leader_election_renew_deadline": "2h",
           "leader_election_retry_period": "1h"}
QUICK = {"leader_election_lease_duration": "3s",
         "leader_election_renew_deadline": "2s",
         "leader_election_retry_period": "100ms"}


def record(holder, renewed=0, **more):
    return {"holderIdentity": holder, "leaseDurationSeconds": 10800,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": f"2026-01-01T00:00:{renewed:02d}.000000Z",
            "leaseTransitions": 4, **more}


def lease(holder, renewed=0, **more):
    return {"metadata": {"name": LEASE}, "spec": record(holder, renewed, **more)}


class ElectorTest(driver.WorkerTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.api = api.Api()
        self.addCleanup(self.api.close)

    def configured(self, identity, **options):
        worker = self.start("elector")
        worker.hello()
        worker.configure(identity=identity, kubeconfig=self.api.kubeconfig(
            self.folder / "config"), **options)
        return worker

    def elector(self, identity="me", page=None, **options):
        """One that contends; with the page of another, if there is one."""
        worker = self.configured(identity, **options)
        if page is None:
            worker.grant()
        else:
            worker.control.send("GRANTED", driver.LEASE_PAGE,
                                descriptor=page.descriptor)
        worker.control.send("START")
        worker.control.send("CONTEND")
        return worker

    def standby(self, **options):
        """One that watches a Lease that another holds."""
        self.api.put("leases", lease("other"))
        worker = self.elector(**{**PATIENT, **options})
        self.wait_watching(worker)
        return worker

    def wait_watching(self, worker, yes=1):
        while True:
            _, _, facts = worker.control.wait("STATE").fields
            if facts["watching"] == yes:
                return

    def spec(self):
        return self.api.get("leases", LEASE)["spec"]

    def granted(self, page):
        """(term, seconds that it still grants)"""
        sequence, = struct.unpack_from("=Q", page.page, 0)
        term, deadline = struct.unpack_from("=Qq", page.page, 8 + 16 * (sequence & 1))
        return term, deadline / 1e9 - time.clock_gettime(time.CLOCK_BOOTTIME)

    def lines(self, worker, msg):
        return [line for line in map(json.loads, worker.output().splitlines())
                if line["msg"] == msg]


class Watch(ElectorTest):
    """2.6: what a standby learns by its watch."""

    def test_L12_a_released_Lease_is_taken_at_once(self):
        worker = self.standby()
        self.api.put("leases", lease("", 1))
        self.assertEqual(worker.control.wait("TERM_BEGAN").fields, [1])
        spec = self.spec()
        self.assertEqual(spec["holderIdentity"], "me")
        self.assertEqual(spec["leaseTransitions"], 5)
        self.assertEqual(spec["leaseDurationSeconds"], 10800)
        self.assertEqual(worker.stop(), (True, 0))
        self.assertEqual(len(self.api.asked(READ)), 2)  # at first, and before it took

    def test_a_deleted_Lease_is_made_anew_at_once(self):
        worker = self.standby()
        self.api.remove("leases", LEASE)
        worker.control.wait("TERM_BEGAN")
        self.assertEqual(self.spec()["leaseTransitions"], 0)
        self.assertEqual(worker.stop(), (True, 0))

    def test_renewals_of_the_holder_cause_no_request(self):
        worker = self.standby()
        before = len(self.api.requests)
        for number in range(1, 40):
            self.api.put("leases", lease("other", number))
        self.api.put("leases", lease("another", 50))
        while "held by another" not in worker.control.wait("STATE").fields[1]:
            pass
        self.assertEqual(len(self.api.requests), before)
        self.assertEqual(worker.stop(), (True, 0))

    def test_a_leader_does_not_watch(self):
        worker = self.standby()
        self.api.put("leases", lease(""))
        worker.control.wait("TERM_BEGAN")
        wait_for("the end of the watch", 5, lambda: not self.api.watches["leases"])
        self.assertEqual(worker.stop(), (True, 0))
        self.assertEqual(self.spec()["holderIdentity"], "")

    def test_a_watch_that_ends_goes_on_where_it_stood(self):
        worker = self.standby()
        time.sleep(1.2)  # one that ends sooner counts as one that cannot stand
        self.api.cut_watches("leases")
        self.wait_watching(worker, 0)
        self.wait_watching(worker)
        self.assertEqual(len(self.api.asked(WATCH)), 2)
        self.assertEqual(len(self.api.asked(LIST)) - 2, 1)
        self.api.put("leases", lease(""))
        worker.control.wait("TERM_BEGAN")
        self.assertEqual(worker.stop(), (True, 0))

    def test_whatever_the_watch_is_answered_a_release_is_seen_in_the_end(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        chunk = head + b"Transfer-Encoding: chunked\r\n\r\n"
        faults = {
            "429": api.status(429, retry_after=1), "500": api.status(500),
            "404 of a proxy": api.raw(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
            "410": api.status(410, "Expired"), "closed": api.raw(b""),
            "no HTTP": api.raw(b"220 mail\r\n"),
            "nothing": api.raw(head + b"Content-Length: 0\r\n\r\n"),
            "noise": api.raw(chunk + b"5\r\n{]\n{}\r\n"),
            "no object": api.raw(chunk + b"15\r\n" + b'{"type":"MODIFIED"}\n'.ljust(21)
                                 + b"\r\n"),
            "no end of a line": api.raw(chunk + b"60000\r\n" + b"x" * 0x60000 + b"\r\n"),
        }
        workers = []
        for begins in (LIST, WATCH):
            for what, reply in faults.items():
                self.api = api.Api()
                self.addCleanup(self.api.close)
                self.api.put("leases", lease("other"))
                self.api.answer(begins, reply, times=1)
                workers.append((begins, what, self.api, self.elector(**PATIENT)))
        for begins, what, server, worker in workers:
            with self.subTest(request=begins, what=what):
                self.wait_watching(worker)
                server.put("leases", lease(""))
                worker.control.wait("TERM_BEGAN")
                self.assertEqual(worker.stop(), (True, 0))

    def test_410_in_the_watch_is_followed_by_a_list(self):
        worker = self.standby()
        self.api.expire("leases")
        self.wait_watching(worker, 0)
        self.wait_watching(worker)
        self.assertEqual(len(self.api.asked(LIST)) - len(self.api.asked(WATCH)), 2)
        self.api.put("leases", lease(""))
        worker.control.wait("TERM_BEGAN")
        self.assertEqual(worker.stop(), (True, 0))

    def test_L12_without_the_right_to_watch_it_polls_and_says_so_once(self):
        self.api.put("leases", lease("other"))
        self.api.answer(LIST, api.status(403, "Forbidden", "no right to list"))
        worker = self.elector(**{**QUICK, "leader_election_lease_duration": "20s"})
        wait_for("polls", 10, lambda: len(self.api.asked(READ)) > 10)
        self.assertEqual(len(self.api.asked(LIST)), 1)
        self.api.put("leases", lease(""))
        worker.control.wait("TERM_BEGAN")
        self.assertEqual(self.spec()["leaseTransitions"], 5)
        said = self.lines(worker, "the lease cannot be watched; it is polled")
        self.assertEqual(len(said), 1)
        self.assertIn("403", said[0]["error"])
        self.assertEqual(worker.stop(), (True, 0))

    def test_a_watch_that_falls_silent_is_opened_anew(self):
        self.api.put("leases", lease("other"))
        self.api.answer(WATCH, silent, times=1)
        worker = self.elector(**QUICK)
        self.wait_watching(worker)
        wait_for("a second watch", 10, lambda: len(self.api.asked(WATCH)) == 2)
        self.assertEqual(worker.stop(), (True, 0))

    def test_an_expired_Lease_is_read_once_and_taken(self):
        self.api.put("leases", lease("other", leaseDurationSeconds=2))
        worker = self.elector(**PATIENT)
        worker.control.wait("TERM_BEGAN")
        self.assertEqual(self.spec()["leaseTransitions"], 5)
        self.assertEqual(len(self.api.asked(READ)), 2)
        self.assertEqual(worker.stop(), (True, 0))


def silent(exchange):
    """A watch that opens, and never says a thing."""
    exchange.begin_stream("application/json")
    exchange.wait_closed()
    exchange.close()


class Term(ElectorTest):
    def test_D04_a_stopped_elector_grants_nothing_after_its_deadline(self):
        worker = self.elector(**QUICK)
        worker.control.wait("TERM_BEGAN")
        worker.signal(signal.SIGSTOP)
        wait_for("the deadline", 5, lambda: self.granted(worker.page)[1] < 0)
        requests = len(self.api.requests)
        worker.signal(signal.SIGCONT)
        term, reason = worker.control.wait("TERM_ENDED").fields
        self.assertEqual((term, reason), (1, "it could not be renewed in time"))
        # Nobody has taken the Lease: it is ours again, in another term.
        self.assertEqual(worker.control.wait("TERM_BEGAN").fields, [2])
        self.assertTrue(self.api.requests[requests].method == "GET")
        self.assertEqual(self.spec()["leaseTransitions"], 0)
        self.assertEqual(worker.stop(), (True, 0))

    def test_D04_a_stopped_elector_whose_Lease_was_taken_stands_by(self):
        worker = self.elector(**QUICK)
        worker.control.wait("TERM_BEGAN")
        worker.signal(signal.SIGSTOP)
        other = self.elector("other", **QUICK)
        other.control.wait("TERM_BEGAN")
        self.assertLess(self.granted(worker.page)[1], 0)
        self.assertEqual(self.spec()["leaseTransitions"], 1)
        worker.signal(signal.SIGCONT)
        worker.control.wait("TERM_ENDED")
        while "held by other" not in worker.control.wait("STATE").fields[1]:
            pass
        self.assertEqual(self.spec()["holderIdentity"], "other")
        self.assertEqual(worker.stop(), (True, 0))
        self.assertEqual(self.spec()["holderIdentity"], "other")
        self.assertEqual(other.stop(), (True, 0))

    def test_a_killed_elector_is_followed_in_the_same_term(self):
        first = self.elector(**QUICK)
        first.control.wait("TERM_BEGAN")
        before = self.spec()
        for _ in range(3):
            first.signal(signal.SIGKILL)
            first.wait()
            page = first.page
            second = self.elector(page=page, **QUICK)
            self.assertEqual(second.control.wait("TERM_BEGAN").fields, [1])
            self.assertGreater(self.granted(page)[1], 0)
            self.assertEqual(self.lines(second, "goes on in the running term")[0]["term"], 1)
            second.page, first.page = page, None
            first = second
        after = self.spec()
        for key in ("holderIdentity", "acquireTime", "leaseTransitions"):
            self.assertEqual(after[key], before[key])
        self.assertEqual(first.stop(), (True, 0))

    def test_a_slow_renewal_costs_no_term(self):
        worker = self.elector(**QUICK)
        worker.control.wait("TERM_BEGAN")
        for reply in (api.stall, api.cut(0)):  # not done; done and not answered
            self.api.answer(PUT, reply, times=1)
            before = len(self.api.asked(PUT))
            wait_for("renewals after it", 10,
                     lambda: [r.status for r in self.api.asked(PUT)[before + 1:]].count(200) > 2)
        names = [frame.name for frame in worker.control.now()]
        self.assertNotIn("TERM_ENDED", names)
        self.assertEqual(self.granted(worker.page)[0], 1)
        self.assertEqual(worker.stop(), (True, 0))

    def test_a_renewal_that_never_comes_back_in_time_ends_the_term_in_time(self):
        worker = self.elector(**QUICK)
        worker.control.wait("TERM_BEGAN")
        self.api.answer("PUT", api.stall)
        self.api.answer("GET", api.stall)
        worker.control.wait("TERM_ENDED")
        self.assertLessEqual(self.granted(worker.page)[1], 0)
        self.api.behave()
        self.assertEqual(worker.control.wait("TERM_BEGAN").fields, [2])
        self.assertEqual(worker.stop(), (True, 0))

    def test_never_two_pages_grant_at_a_time(self):
        """Electors that are stopped and go on by chance, with one Lease of a
        second: looked at all the time, at most one of their pages grants."""
        options = {"leader_election_lease_duration": "1s",
                   "leader_election_renew_deadline": "600ms",
                   "leader_election_retry_period": "100ms"}
        workers = [self.elector(name, **options) for name in ("a", "b", "c")]
        stopped = {}
        leaders, end, event_at = set(), time.monotonic() + 12, 0
        while (now := time.monotonic()) < end:
            if now >= event_at:
                event_at = now + self.dice.uniform(0.05, 0.3)
                worker = self.dice.choice(workers)
                if worker not in stopped:
                    worker.signal(signal.SIGSTOP)
                    stopped[worker] = now + self.dice.choice((0.02, 0.5, 2))
            for worker in [w for w, until in stopped.items() if now >= until]:
                worker.signal(signal.SIGCONT)
                del stopped[worker]
            granting = [w for w in workers if self.granted(w.page)[1] > 0]
            self.assertLessEqual(len(granting), 1)
            leaders.update((workers.index(w), self.granted(w.page)[0]) for w in granting)
            time.sleep(0.002)
        for worker in stopped:
            worker.signal(signal.SIGCONT)
        print(f"  {len(leaders)} terms")
        self.assertGreater(len(leaders), 1)
        for worker in workers:
            self.assertEqual(worker.stop(), (True, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
