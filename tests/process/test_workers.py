# SPDX-License-Identifier: Apache-2.0
"""What every worker does alike, each by itself under a supervisor that we play:
how it starts and stops, and what it does with a supervisor or a peer that
breaks the protocol."""

import os
import pathlib
import socket
import tempfile
import time
import unittest

import driver
import api
from driver import DESCRIPTOR, HEADER, MESSAGES, PROTOCOL, WORKERS, frame, pack

# Every way to be no body of a message.
BROKEN_BODIES = {
    "empty": b"",
    "a byte that msgpack does not use": b"\xc1",
    "an extension": b"\x91\xd4\x01\x00",
    "a text that is cut": b"\x91\xa5abc",
    "a text longer than any memory": b"\x91\xdb\xff\xff\xff\xffabc",
    "an array longer than its bytes": b"\xdd\xff\xff\xff\xff",
    "a map longer than its bytes": b"\xdf\x7f\xff\xff\xff\x01",
    "something after its end": b"\x90\x90",
    "nested too deeply": b"\x91" * 17 + b"\xc0",
}

# Bodies in good msgpack that are not the fields of the message.
WRONG_BODIES = {
    "nothing": pack(), "no array": b"\x05", "a map": b"\x81\x01\x02",
    "nil": b"\xc0", "one field of nil": pack(None),
    "too many fields": pack(1, 2, 3, 4, 5, 6, 7, 8, 9),
    "numbers out of range": pack((1 << 64) - 1, -(1 << 63), {}),
    "texts for numbers": pack("1", "2"), "a NUL in a text": pack("a\0b"),
}


def receivers(name):
    """Roles that may get a message from the supervisor."""
    message = MESSAGES[name]
    if "R_SUPERVISOR" not in message.sender:
        return ()
    if "R_WORKERS" in message.receiver:
        return WORKERS
    return [w for w in WORKERS if "R_" + w.upper() in message.receiver.split(" | ")]


class Workers(driver.WorkerTest):
    @classmethod
    def setUpClass(cls):
        cls.api = api.Api()
        cls.addClassCleanup(cls.api.close)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.kubeconfig = cls.api.kubeconfig(pathlib.Path(folder.name) / "config")

    def running(self, name, **options):
        return self.start(name).wire(kubeconfig=self.kubeconfig, **options)

    def ends_with_complaint(self, worker, *words):
        """Its control link broke a rule: it ends by itself, and says why."""
        self.assertEqual(worker.wait(5), 1, worker.output())
        said = [line for line in worker.output().splitlines()
                if "control link ended" in line]
        self.assertEqual(len(said), 1, worker.output())
        for word in words:
            self.assertIn(word, said[0])

    # Start

    def test_HELLO_comes_first_and_READY_after_START(self):
        builds = set()
        for name in WORKERS:
            with self.subTest(worker=name):
                worker = self.start(name)
                protocol, build, said, pid = worker.hello()
                self.assertEqual((protocol, said, pid), (PROTOCOL, name, worker.pid))
                builds.add(build)
                worker.configure(kubeconfig=self.kubeconfig)
                lacking, = worker.control.wait("SANDBOXED").fields
                self.assertIn("sanitizers", lacking)
                worker.grant()
                for peer in worker.peers():
                    worker.link(peer)
                worker.control.wait_read()
                with self.assertRaises(AssertionError):
                    worker.control.receive(0.1)  # nothing before START
                worker.control.send("START")
                names = [worker.control.receive().name]
                while names[-1] != "READY":
                    names.append(worker.control.receive().name)
                self.assertLessEqual(set(names), {"STATE", "READY"})
                self.assertEqual(worker.stop(), (True, 0))
        self.assertEqual(len(builds), 1)

    def test_it_starts_without_its_peers_and_takes_their_links_later(self):
        for name, peers in (("informer", ["placer"]),
                            ("placer", ["informer", "projector"]),
                            ("projector", ["placer"])):
            with self.subTest(worker=name):
                worker = self.start(name)
                worker.hello()
                worker.configure(kubeconfig=self.kubeconfig)
                worker.grant()
                worker.control.send("START")
                worker.control.wait("READY")
                for generation in (1, 2, 3):
                    for peer in peers:
                        old = worker.links.get(peer)
                        if old is not None:  # the new one replaces it
                            worker.links.pop(peer)
                            self.addCleanup(old.close)
                        new = worker.link(peer, generation)
                        if old is not None:
                            self.assertTrue(old.ended())
                        if (name, peer) == ("placer", "informer"):
                            self.assertEqual(new.receive().name, "SUBSCRIBE")
                        if name == "projector":
                            self.assertEqual(new.receive().name, "WRITTEN_END")
                self.assertEqual(worker.stop(), (True, 0))

    def test_nothing_is_taken_before_CONFIG(self):
        messages = {
            "GRANTED": [0], "LINKED": [2, 1], "START": [], "STOP": [],
            "CONTEND": [], "TERM_BEGAN": [1], "TERM_ENDED": [1, "why"],
            "READINESS": [True, "", {}]}
        for message, fields in messages.items():
            for name in receivers(message):
                with self.subTest(worker=name, message=message):
                    worker = self.start(name)
                    worker.hello()
                    with socket.socket() as other:
                        worker.control.send(
                            message, *fields,
                            descriptor=other.fileno()
                            if message in ("GRANTED", "LINKED") else None)
                    self.ends_with_complaint(worker, message)

    def test_CONFIG_and_START_come_once(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                worker = self.running(name)
                worker.configure(kubeconfig=self.kubeconfig)
                self.ends_with_complaint(worker, "CONFIG")
                worker = self.running(name)
                worker.control.send("START")
                self.ends_with_complaint(worker, "START")

    def test_a_grant_that_is_missing_or_of_no_use_is_FAILED(self):
        for name in ("projector", "elector", "web"):
            with self.subTest(worker=name, grant="none"):
                worker = self.start(name)
                worker.hello()
                worker.configure(kubeconfig=self.kubeconfig)
                worker.control.send("START")
                self.assertIn("granted", worker.control.wait("FAILED").fields[0])
                self.assertEqual(worker.wait(5), 1)
        for name in WORKERS:
            with self.subTest(worker=name):
                worker = self.start(name)
                worker.hello()
                worker.configure(kubeconfig=self.kubeconfig)
                read, write = os.pipe()
                # The placer's own, a recording, may fail without harm.
                worker.control.send(
                    "GRANTED", 0 if name in ("elector", "placer") else 1, descriptor=read)
                os.close(read)
                os.close(write)
                self.assertEqual(worker.wait(5), 1, worker.output())

    def test_a_lease_page_that_is_too_short_is_refused(self):
        for name, resource in (("projector", driver.LEASE_VIEW),
                               ("elector", driver.LEASE_PAGE)):
            with self.subTest(worker=name):
                worker = self.start(name)
                worker.hello()
                worker.configure(kubeconfig=self.kubeconfig)
                page = os.memfd_create("short")
                worker.control.send("GRANTED", resource, descriptor=page)
                os.close(page)
                worker.control.send("START")
                self.assertIn("lease page", worker.control.wait("FAILED").fields[0])
                self.assertEqual(worker.wait(5), 1, worker.output())

    def test_started_by_hand_it_says_what_to_run_instead(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                read, write = os.pipe()
                self.addCleanup(os.close, read)
                self.addCleanup(os.close, write)
                ways = [{"descriptor": -1}, {"descriptor": read}]
                if name != "placer":  # which has a use by hand: --replay
                    ways.append({"arguments": ["--help"]})
                for how in ways:
                    worker = self.start(name, **how)
                    self.assertEqual(worker.wait(5), 2)
                    line, = worker.error().splitlines()
                    self.assertIn("run control-plane instead", line)

    # End

    def test_STOP_is_answered_with_BYE_and_exit_0(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                worker = self.running(name)
                self.assertEqual(worker.stop(), (True, 0))
                worker = self.start(name)  # all at once, as when it stops early
                worker.hello()
                worker.configure(kubeconfig=self.kubeconfig)
                worker.grant()
                worker.control.send("START")
                self.assertEqual(worker.stop(), (True, 0))
                worker = self.start(name)  # before START
                worker.hello()
                worker.configure(kubeconfig=self.kubeconfig)
                self.assertEqual(worker.stop(), (True, 0))

    def test_what_follows_STOP_does_no_harm(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                worker = self.running(name)
                after = b"".join(frame("STOP") for _ in range(3))
                peers = worker.peers() or ["placer"]
                ours, theirs = socket.socketpair()
                with ours, theirs:
                    worker.control.send_bytes(
                        frame("STOP") + after
                        + frame("LINKED", driver.ROLES[peers[0]], 2, flags=DESCRIPTOR),
                        theirs.fileno())
                    late = {"elector": frame("CONTEND"), "placer": frame("TERM_BEGAN", 1),
                            "web": frame("READINESS", True, "", {})}
                    worker.control.send_bytes(late.get(name, frame("STOP")))
                    self.assertEqual(worker.wait(), 0, worker.output())
                self.assertIn("BYE", [f.name for f in worker.control.drain()])

    def test_supervisor_gone_is_exit_0_within_a_second(self):
        longest = 0
        begin = {
            "at once": lambda w: None,
            "after HELLO": lambda w: w.hello(),
            "after CONFIG": lambda w: (w.hello(),
                                       w.configure(kubeconfig=self.kubeconfig)),
            "running": lambda w: w.wire(kubeconfig=self.kubeconfig),
            "in a frame": lambda w: (w.wire(kubeconfig=self.kubeconfig),
                                     w.control.send_bytes(frame("STOP")[:7])),
            "told to stop": lambda w: (w.wire(kubeconfig=self.kubeconfig),
                                       w.control.send("STOP")),
        }
        for name in WORKERS:
            with self.subTest(worker=name):
                for when, prepare in begin.items():
                    with self.subTest(when=when):
                        worker = self.start(name)
                        prepare(worker)
                        worker.control.close()
                        closed = time.monotonic()
                        self.assertEqual(worker.wait(), 0, worker.output())
                        longest = max(longest, time.monotonic() - closed)
        print(f"  longest: {longest * 1000:.0f} ms")
        self.assertLess(longest, 1)

    # Control links that break a rule

    def bad_frames(self, name):
        """What a supervisor must not send to that worker."""
        yield "unknown type 9999", frame("STOP", number=9999), "unknown type"
        yield "unknown type 0", frame("STOP", number=0), "unknown type"
        yield "its own HELLO", frame("HELLO", 1, "b", name, 1), "may not send"
        yield "a peer's message", frame("GONE", 1, "a", "b"), "may not send"
        foreign = "READINESS" if name != "web" else "CONTEND"
        yield "another worker's", frame(foreign), "may not send"
        yield ("over-long, header only",
               frame("STOP", length=MESSAGES["STOP"].cap + 1, body=b""), "limit")
        yield ("4 GiB, header only", frame("STOP", length=(1 << 32) - 1, body=b""),
               "limit")
        yield "LINKED without its descriptor", frame(
            "LINKED", 2, 1, flags=DESCRIPTOR), "descriptor"
        yield "LINKED without a descriptor", frame("LINKED", 2, 1), "descriptor"
        yield "GRANTED without its descriptor", frame(
            "GRANTED", 1, flags=DESCRIPTOR), "descriptor"
        yield "GRANTED without a descriptor", frame("GRANTED", 1), "not asked for"
        for what, body in BROKEN_BODIES.items():
            yield what, frame("STOP", body=body), "STOP"

    def test_a_bad_frame_on_the_control_link_ends_the_process(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                for what, data, word in self.bad_frames(name):
                    with self.subTest(what=what):
                        worker = self.running(name)
                        worker.control.send_bytes(data)
                        self.ends_with_complaint(worker, word)

    def test_fields_of_a_wrong_kind_on_the_control_link_end_the_process(self):
        for message in ("CONFIG", "GRANTED", "LINKED", "TERM_BEGAN", "READINESS"):
            for name in receivers(message):
                for what, body in WRONG_BODIES.items():
                    with self.subTest(worker=name, message=message, what=what):
                        worker = self.start(name)
                        worker.hello()
                        if message != "CONFIG":
                            worker.configure(kubeconfig=self.kubeconfig)
                        descriptor = None
                        if message in ("GRANTED", "LINKED"):
                            descriptor = os.memfd_create("any")
                        worker.control.send(message, body=body, descriptor=descriptor)
                        if descriptor is not None:
                            os.close(descriptor)
                        self.assertEqual(worker.wait(5), 1, worker.output())

    def test_descriptors_that_no_frame_claims_are_closed(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                worker = self.running(name)
                read, write = os.pipe()
                worker.control.send_bytes(frame("STOP")[:6], write)
                worker.control.wait_read()
                os.close(write)
                worker.control.send_bytes(frame("STOP")[6:])
                self.assertEqual(worker.wait(), 0)
                self.assertEqual(os.read(read, 1), b"")
                os.close(read)

    def test_noise_on_the_control_link_is_no_crash(self):
        dice = self.dice
        for name in WORKERS:
            with self.subTest(worker=name):
                for _ in range(12):
                    worker = self.start(name)
                    if dice.random() < 0.5:
                        worker.wire(kubeconfig=self.kubeconfig)
                    number = dice.choice(list(MESSAGES.values())).number
                    length = dice.choice((0, 3, 20, 200))
                    data = HEADER.pack(length, number, dice.choice((0, 1, 0xffff)), 0)
                    worker.control.send_bytes(data + dice.randbytes(length + 3))
                    worker.control.close()
                    self.assertIn(worker.wait(), (0, 1), worker.output())

    # Links between workers

    def peer_links(self):
        """A worker, the peer that misbehaves, and a message it may send."""
        yield "informer", "placer", "SUBSCRIBE"
        yield "placer", "informer", "NODE"
        yield "placer", "projector", "RESULT"
        yield "projector", "placer", "NODE_APPLY"

    def bad_peer_frames(self, message):
        yield "unknown type", frame(message, number=9999)
        yield "the supervisor's STOP", frame("STOP")
        yield "a message of the other direction", frame(
            {"SUBSCRIBE": "NODE", "NODE": "SUBSCRIBE", "RESULT": "NODE_APPLY",
             "NODE_APPLY": "RESULT"}[message])
        yield "over-long, header only", frame(
            message, length=MESSAGES[message].cap + 1, body=b"")
        yield "without its descriptor", frame(message, body=pack(), flags=DESCRIPTOR)
        for what, body in {**BROKEN_BODIES, **WRONG_BODIES}.items():
            yield what, frame(message, body=body)

    def test_a_bad_frame_of_a_peer_ends_that_link_and_nothing_else(self):
        for name, peer, message in self.peer_links():
            worker = self.running(name)
            for count, (what, data) in enumerate(self.bad_peer_frames(message), 1):
                with self.subTest(worker=name, peer=peer, what=what):
                    link = worker.link(peer, count)
                    link.send_bytes(data)
                    self.assertTrue(link.ended(5))
                    self.assertTrue(worker.alive(), worker.output())
                    told, generation, reason = worker.control.wait("LINK_BROKEN").fields
                    self.assertEqual((told, generation), (driver.ROLES[peer], count))
                    self.assertTrue(reason)
            for other in worker.peers():
                if other != peer:  # its link is still the first one
                    worker.links[other].wait_read()
            self.assertEqual(worker.stop(), (True, 0))

    def test_a_peer_that_closes_is_no_fault(self):
        for name, peer, message in self.peer_links():
            with self.subTest(worker=name, peer=peer):
                worker = self.running(name)
                for count in range(20):
                    link = worker.link(peer, count)
                    if count % 2:  # in the middle of a frame
                        link.send_bytes(frame(message, length=100, body=b"\x91"))
                    link.close()
                worker.links.pop(peer)
                worker.control.send("STOP")
                said = [f.name for f in worker.control.drain()]
                self.assertNotIn("LINK_BROKEN", said)
                self.assertIn("BYE", said)
                self.assertEqual(worker.wait(), 0)

    def test_orders_that_a_peer_may_not_give_end_its_link(self):
        """Good frames in a wrong order."""
        cases = [
            ("informer", "placer", frame("SUBSCRIBE", [], 0, 0)),
            ("informer", "placer", frame("SUBSCRIBE", [4], 0, 0)),
            ("informer", "placer", frame("SUBSCRIBE", [-1], 0, 0)),
            ("informer", "placer", frame("SUBSCRIBE", [2], -1, 0)),
            ("informer", "placer", frame("REFRESH", 1, 1)),
            ("placer", "informer", frame("CURRENT", 0, 1)),
            ("placer", "informer", frame("SYNC_END")),
            ("placer", "informer", frame("SYNC_BEGIN") * 2),
            ("placer", "informer", frame("GONE", 9, "a", "b")),
            ("placer", "projector", frame("RESULT", 7, 0, "a", "b", "1", "")),
            ("placer", "projector", frame("RESULT", 0, 9, "a", "b", "1", "")),
            ("placer", "projector", frame("WRITTEN", 9, ["a", "b", "1"])),
            ("projector", "placer", frame("PLAN_END")),
            ("projector", "placer", frame("PLAN_BEGIN", 1) * 2),
            ("projector", "placer", frame("WITHDRAW", 9, "a")),
            ("projector", "placer", frame("RACK_DELETE", ["", "u", "1"])),
            ("projector", "placer", frame("STATUS_WRITE", ["a", "u", "1"], 1, "{}", [])),
        ]
        workers = {}
        for name, peer, data in cases:
            with self.subTest(worker=name, data=data):
                if name not in workers:
                    workers[name] = self.running(name)
                link = workers[name].link(peer)
                if name == "projector":
                    link.wait("WRITTEN_END")
                link.send_bytes(data)
                self.assertTrue(link.ended(5))
                told = workers[name].control.wait("LINK_BROKEN").fields[0]
                self.assertEqual(told, driver.ROLES[peer])
        for worker in workers.values():
            self.assertEqual(worker.stop(), (True, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
