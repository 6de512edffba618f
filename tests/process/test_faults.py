# SPDX-License-Identifier: Apache-2.0
"""What informer, projector, elector and web make of a world that misbehaves:
an API server that refuses, cuts, stalls and lies, and clients that are none."""

import json
import pathlib
import socket
import struct
import tempfile
import time
import unittest

import driver
import api
import falsify
from driver import NODE, RACK, frame, wait_for
from estate import declare

NODES = "/api/v1/nodes"
RACKS = f"/apis/{api.GROUP}/sgpuracks"
ANNOTATION = "mokka.nvidia.com/sgpu-assignment"


class Fault(driver.WorkerTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def server(self, **offers):
        server = api.Api(**offers)
        self.addCleanup(server.close)
        return server

    def worker(self, name, server, **options):
        path = self.folder / f"config-{server.port}"
        return self.start(name).wire(kubeconfig=server.kubeconfig(path), **options)

    def reason(self, worker, *words):
        """Waits for a STATE that is not ok and has all the words in its reason."""
        while True:
            ok, reason, _ = worker.control.wait("STATE").fields
            if not ok and all(word in reason for word in words):
                return reason

    def spoiled(self, data):
        """Bytes with some that are wrong."""
        data = bytearray(data)
        for _ in range(self.dice.choice((1, 2, 5))):
            at = self.dice.randrange(len(data))
            if self.dice.random() < 0.3:
                del data[at:at + self.dice.choice((1, 4, 20))]
            else:
                data[at] = self.dice.randrange(256)
        return bytes(data)


class InformerFault(Fault):
    """An informer, and we are its placer."""

    def informer(self, server, kinds=(0, 1, 2, 3), **options):
        worker = self.worker("informer", server, **options)
        worker.links["placer"].send("SUBSCRIBE", list(kinds), 0, 0)
        return worker

    def names(self, worker, end):
        """The names of what comes up to that message."""
        names = []
        while (found := worker.links["placer"].receive()).name != end:
            self.assertNotIn(found.name, ("SYNC_BEGIN", "SYNC_END"))
            if found.name == "GONE":
                names.append(found.fields[1])
            elif found.name != "AS_OF":
                names.append(found.fields[0][0])
        return names

    def synced(self, worker):
        """The names in the sync that comes now."""
        worker.links["placer"].wait("SYNC_BEGIN")
        return self.names(worker, "SYNC_END")

    def next_change(self, worker):
        """The names in the next batch that has any."""
        names = []
        while not names:
            names = self.names(worker, "BATCH_END")
        return names


class Informer(InformerFault):
    def test_whatever_a_LIST_is_answered_it_is_asked_again_until_it_is_right(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
        page = b"<html>welcome</html>"
        faults = {
            "429": api.status(429, retry_after=1), "500": api.status(500),
            "503 of a proxy": api.raw(
                b"HTTP/1.1 503 Away\r\nContent-Type: text/html\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(page), page)),
            "401": api.status(401), "403": api.status(403), "404": api.status(404),
            "410": api.status(410, "Expired"), "no HTTP": api.raw(b"220 mail\r\n"),
            "closed": api.raw(b""), "cut in the header": api.cut(30),
            "cut in the body": api.cut(150),
            "another type": api.raw(head % (b"text/html", len(page)) + page),
            "nothing": api.changed(lambda body: b""),
            "half of it": api.changed(lambda body: body[:len(body) // 2]),
            "more than it": api.changed(lambda body: body + b"x"),
            "zeros": api.changed(lambda body: bytes(len(body))),
            "no version": api.changed(
                lambda body: body.replace(b"resourceVersion", b"resourceVersiom")),
            "no object": api.changed(lambda body: b"[]"),
            "a Status": api.changed(
                lambda body: json.dumps(api.failure(500, "Odd")).encode()),
        }
        workers = []
        for path in (NODES, RACKS):
            for what, reply in faults.items():
                if path == NODES and what == "no version":
                    continue  # a protobuf has no names
                server = self.server()
                declare(server, 2)
                server.answer(f"GET {path}?", reply, times=1)
                workers.append((what, path, server, self.informer(server)))
        for what, path, server, worker in workers:
            with self.subTest(what=what, path=path):
                self.assertEqual(self.synced(worker),
                                 ["nvl72", "demo", "sim-000", "sim-001"])
                lists = [r for r in server.asked(f"GET {path}") if "watch=" not in r.target]
                self.assertEqual(len(lists), 2, lists)
                if what == "429":
                    self.assertGreaterEqual(lists[1].time - lists[0].time, 1)
                self.assertEqual(worker.stop(), (True, 0))

    def test_what_it_waits_for_is_said(self):
        for code, words in ((403, ["403", "grant list on nodes"]), (500, ["500"]),
                            (429, ["429"])):
            with self.subTest(code=code):
                server = self.server()
                server.answer(f"GET {NODES}", api.status(code))
                worker = self.informer(server)
                self.assertTrue(self.reason(worker, "nodes", *words))
                self.assertEqual(worker.stop(), (True, 0))
        server = self.server()
        server.answer(f"GET {RACKS}", api.status(404))
        worker = self.informer(server)
        self.assertTrue(self.reason(worker, "sgpuracks", "install the CRDs"))

    def test_a_watch_that_is_cut_goes_on_without_a_LIST(self):
        server = self.server()
        declare(server, 2)
        worker = self.informer(server)
        self.synced(worker)
        wait_for("the watches", 5, lambda: all(server.watches[p] for p in (
            "nodes", "sgpuracks")))
        for number in range(2):
            server.cut_watches("nodes")
            server.put("nodes", api.node(f"new-{number}"))
            self.assertEqual(self.next_change(worker), [f"new-{number}"])
            wait_for("the watch", 5, lambda: server.watches["nodes"])
        self.assertEqual(len([r for r in server.requests if "watch=" not in r.target]), 4)
        self.assertEqual(worker.stop(), (True, 0))

    def test_410_on_a_watch_lists_that_resource_again_and_tells_the_difference(self):
        server = self.server()
        declare(server, 3)
        worker = self.informer(server)
        self.synced(worker)
        wait_for("the watch", 5, lambda: server.watches["nodes"])
        with server.lock:
            for exchange in server.watches["nodes"]:
                exchange.open = False
            server.history["nodes"].clear()
            del server.objects["nodes"]["sim-001"]
            server.objects["nodes"]["more"] = dict(server.objects["nodes"]["sim-002"])
            server.objects["nodes"]["more"]["metadata"] = {
                **server.objects["nodes"]["sim-002"]["metadata"], "name": "more",
                "uid": "another"}
            server.expire("nodes")
        self.assertEqual(sorted(self.next_change(worker)), ["more", "sim-001"])
        lists = [r.path for r in server.requests if "watch=" not in r.target]
        self.assertEqual(len(lists), 5, lists)
        self.assertEqual(lists.count(NODES), 2)
        self.assertEqual(worker.stop(), (True, 0))

    def test_noise_on_a_watch_is_followed_by_what_is_true(self):
        frames = {"nodes": [b"\xff" * 20, struct.pack(">I", 5) + b"hello", b"\0\0\0\0",
                            struct.pack(">I", 1 << 30)],
                  "sgpuracks": [b"{]\n", b"[]\n", b"{}\n", b'{"type":"ADDED"}\n',
                                b'{"type":"ADDED","object":{"metadata":{}}}\n', b"\0\n"]}
        for plural, noises in frames.items():
            workers = []
            for noise in noises:
                server = self.server()
                worker = self.informer(server)
                self.synced(worker)
                wait_for("the watch", 5, lambda: server.watches[plural])
                server.say(plural, noise)
                item = api.node("true") if plural == "nodes" else {
                    "metadata": {"name": "true"}, "spec": {}}
                server.put(plural, item)
                workers.append((noise, worker))
            for noise, worker in workers:
                with self.subTest(plural=plural, noise=noise):
                    self.assertEqual(self.next_change(worker), ["true"])
                    self.assertEqual(worker.stop(), (True, 0))

    def test_objects_that_are_none_are_left_out_and_the_others_are_there(self):
        server = self.server()
        declare(server, 1)
        profile = server.get("sgpurackprofiles", "nvl72")
        inventory = server.get("sgpuinventories", "demo")
        rack = {"metadata": {**inventory["metadata"], "ownerReferences": [
            {"apiVersion": api.GROUP, "kind": "SGPUInventory", "name": "demo",
             "uid": "u", "controller": True}], "annotations": {"a": "b"},
            "finalizers": ["f"], "labels": {"c": "d"}, "managedFields": [
                {"manager": "m", "operation": "Update", "apiVersion": api.GROUP,
                 "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"inventoryRef": {"name": "demo", "uid": "u"},
                     "profileRef": {"name": "n", "uid": "u", "generation": 1,
                                    "revision": "r"},
                     "identity": {"rackGroup": "g", "rackIndex": 0, "fabricUUID": "f",
                                  "cliqueID": 0},
                     "nodes": [{"index": 0, "gpus": [{"index": 0, "uuid": "u"}],
                                "nodeRef": {"name": "n", "uid": "u"}}]},
            "status": {"assignedNodes": 1, "conditions": [
                {"type": "Ready", "status": "True", "reason": "R", "message": "m",
                 "observedGeneration": 1}]}}
        with server.lock:
            for plural, item in (("sgpurackprofiles", profile), ("sgpuracks", rack),
                                 ("sgpuinventories", inventory)):
                for number in range(150):
                    bad = falsify.mutate(item, self.dice)
                    # JSON has no bytes; and a key of ours finds it again.
                    server.objects[plural][f"bad-{number}"] = json.loads(
                        json.dumps(bad, default=repr, skipkeys=True))
                server.objects[plural]["zz"] = {
                    **item, "metadata": {**item["metadata"], "name": "zz"}}
        nodes = [api.field(1, api.object_meta(
            server.get("nodes", "sim-000")["metadata"])) for _ in range(150)]
        spoiled = b"".join(api.field(2, self.spoiled(item)) for item in nodes)
        server.answer(f"GET {NODES}?labelSelector=mokka.nvidia.com%2Fsgpu-node%3Dtrue&limit",
                      lambda exchange: exchange.send(200, api.envelope(
                          "meta.k8s.io/v1", "PartialObjectMetadataList",
                          api.field(1, api.field(2, "500")) + spoiled
                          + api.field(2, nodes[0])), api.PROTOBUF))
        worker = self.informer(server)
        names = [name for name in self.synced(worker)]
        for name in ("nvl72", "demo", "sim-000"):
            self.assertIn(name, names)
        self.assertEqual(names.count("zz"), 3)
        facts = worker.control.wait("STATE").fields[2]
        while not facts.get("bad"):
            facts = worker.control.wait("STATE").fields[2]
        print(f"  {facts['bad']} objects left out, {len(names)} taken")
        self.assertLess(len(worker.output().splitlines()), 400)
        self.assertEqual(worker.stop(), (True, 0))

    def test_a_list_for_the_first_write_of_a_term_that_stalls_is_asked_for_again(self):
        """At once it is said what is waited for; soon, that nothing came."""
        workers = []
        for streaming in (False, True):
            server = self.server(streaming=streaming)
            declare(server, 1)
            worker = self.informer(server)
            self.synced(worker)
            wait_for("the watch", 5, lambda: server.watches["sgpuracks"])
            server.answer(f"GET {RACKS}?", api.stall, times=1)
            worker.links["placer"].send("REFRESH", 1, 1)
            workers.append((streaming, worker, time.monotonic()))
        for streaming, worker, began in workers:
            with self.subTest(streaming=streaming):
                self.said(worker, "sgpuracks: listing anew")
                self.said(worker, "does not open" if streaming else
                          "no answer came within 10.0 s")
                worker.links["placer"].wait("CURRENT")
                self.assertLess(time.monotonic() - began, 14)
                self.assertEqual(worker.stop(), (True, 0))

    def said(self, worker, *words):
        """Waits for a reason with all the words, whether it is ok or not."""
        while True:
            reason = worker.control.wait("STATE").fields[1]
            if all(word in reason for word in words):
                return

    def test_a_server_that_says_nothing_holds_up_no_stop(self):
        for stage in ("GET", f"GET {NODES}?labelSelector=mokka.nvidia.com%2F"
                             "sgpu-node%3Dtrue&watch"):
            server = self.server()
            server.answer(stage, api.stall)
            worker = self.informer(server)
            wait_for("a request", 5, lambda: server.asked(stage))
            began = time.monotonic()
            self.assertEqual(worker.stop(), (True, 0))
            self.assertLess(time.monotonic() - began, 1)


class Projector(Fault):
    def projector(self, server, **options):
        worker = self.worker("projector", server, **options)
        worker.page.publish(1, 600)
        worker.control.send("TERM_BEGAN", 1)
        worker.links["placer"].wait("WRITTEN_END")
        worker.links["placer"].send("PLAN_BEGIN", 1)
        worker.links["placer"].send("PLAN_END")
        return worker

    def apply(self, worker, item, id, annotation="assigned"):
        meta = item["metadata"]
        worker.links["placer"].send(
            "NODE_APPLY", [meta["name"], meta["uid"], meta["resourceVersion"]],
            "clique.0", annotation, False, False, False, id=id)

    def test_whatever_a_write_is_answered_it_is_carried_out_once(self):
        faults = {
            "429": api.status(429, retry_after=1), "500": api.status(500),
            "503": api.status(503), "401": api.status(401), "403": api.status(403),
            "no HTTP": api.raw(b"220 mail\r\n"), "closed": api.raw(b""),
            "done, answer lost": api.cut(0), "done, answer cut": api.cut(60),
            "done, answer of zeros": api.changed(lambda body: bytes(len(body))),
            "done, answer in half": api.changed(lambda body: body[:len(body) // 2]),
            "done, answer of another": api.changed(
                lambda body: body.replace(b"sim-", b"sam-")),
            "conflict without a cause": api.status(409, "Conflict"),
        }
        server = self.server()
        declare(server, len(faults))
        names = sorted(server.objects["nodes"])
        for name, reply in zip(names, faults.values()):
            server.answer(f"PATCH {NODES}/{name}?", reply, times=1)
        worker = self.projector(server)
        link = worker.links["placer"]
        link.send("PLAN_BEGIN", 1)
        for number, name in enumerate(names):
            self.apply(worker, server.get("nodes", name), number)
        link.send("PLAN_END")
        results = {}
        while len(results) < len(names):
            found = link.wait("RESULT")
            self.assertNotIn(found.id, results)
            results[found.id] = found.fields
        for number, (what, name) in enumerate(zip(faults, names)):
            with self.subTest(what=what):
                action, outcome, said, uid, version, _ = results[number]
                item = server.get("nodes", name)
                self.assertEqual((action, outcome, said, uid, version),
                                 (1, 0, name, item["metadata"]["uid"],
                                  item["metadata"]["resourceVersion"]))
                changes = [v for v, kind, i in server.history["nodes"]
                           if i["metadata"]["name"] == name and kind == "MODIFIED"]
                self.assertEqual(len(changes), 1)
        self.assertEqual(worker.stop(), (True, 0))

    def test_nothing_is_written_without_a_term_that_the_page_grants(self):
        server = self.server()
        declare(server, 3)
        items = [server.get("nodes", f"sim-00{i}") for i in range(3)]
        worker = self.worker("projector", server)
        link = worker.links["placer"]
        link.wait("WRITTEN_END")

        def silent():
            time.sleep(0.5)
            self.assertEqual(server.requests, [])
        worker.control.send("TERM_BEGAN", 1)  # a word, but no page
        link.send("PLAN_BEGIN", 1)
        link.send("PLAN_END")
        self.apply(worker, items[0], 1)
        silent()
        worker.page.publish(1, -1)  # a page that has run out
        silent()
        worker.page.publish(1, 0.7)
        self.assertEqual(link.wait("RESULT").id, 1)
        time.sleep(0.7)
        server.requests.clear()
        self.apply(worker, items[1], 2)  # it has run out by itself
        silent()
        worker.page.publish(2, 600)  # another term than that of the plan
        silent()
        link.send("PLAN_BEGIN", 2)
        self.apply(worker, items[1], 2)
        link.send("PLAN_END")
        self.assertEqual(link.wait("RESULT").id, 2)
        server.requests.clear()
        worker.control.send("TERM_ENDED", 2, "why")
        worker.control.wait_read()
        self.apply(worker, items[2], 3)
        silent()
        self.assertEqual(worker.stop(), (True, 0))

    def test_a_stop_lets_what_is_under_way_end_and_begins_nothing(self):
        server = self.server()
        declare(server, 200)

        def slow(exchange):
            time.sleep(0.5)
            exchange.serve()
        server.answer("PATCH", slow)
        worker = self.projector(server)
        for number in range(200):
            self.apply(worker, server.get("nodes", f"sim-{number:03d}"), number)
        wait_for("the first requests", 5, lambda: server.asked("PATCH"))
        worker.links["placer"].wait_read()
        self.assertEqual(worker.stop(), (True, 0))
        asked = len(server.asked("PATCH"))
        told = sum(f.name == "RESULT" for f in worker.links["placer"].drain())
        print(f"  {asked} requests under way at the stop, {told} results told")
        self.assertLess(asked, 200)
        self.assertLessEqual(told, asked)
        self.assertTrue(all(r.status == 200 for r in server.asked("PATCH")))

    def test_a_server_that_says_nothing_holds_up_no_stop_for_ever(self):
        server = self.server()
        declare(server, 1)
        server.answer("PATCH", api.stall)
        worker = self.projector(server, leader_election_lease_duration="11s")
        self.apply(worker, server.get("nodes", "sim-000"), 1)
        wait_for("the request", 5, lambda: server.asked("PATCH"))
        began = time.monotonic()
        self.assertEqual(worker.stop(), (True, 0))
        print(f"  {time.monotonic() - began:.1f} s")
        self.assertLess(time.monotonic() - began, 3)

    def test_no_intent_of_the_placer_makes_it_crash(self):
        server = self.server()
        declare(server, 4)
        inventory = server.get("sgpuinventories", "demo")["metadata"]
        rack = server.put("sgpuracks", {"metadata": {"name": "rack"}, "spec": {}})
        target = ["rack", rack["metadata"]["uid"], rack["metadata"]["resourceVersion"]]
        node = server.get("nodes", "sim-000")["metadata"]
        condition = ["Ready", "True", "R", "m", 1]
        owner = [api.GROUP, "SGPUInventory", "demo", "u", 1, 0]
        intents = [
            frame("RACK_WRITE", ["new", "", ""], 0, {"a": "b"}, {"c": "d"}, ["f"],
                  [owner], '{"nodes":[]}', id=1),
            frame("RACK_WRITE", target, 1, {}, {}, [], [], "{}", id=2),
            frame("RACK_DELETE", target, id=3),
            frame("FINALIZER", ["demo", inventory["uid"], "1"], "x/y", True, id=4),
            frame("NODE_APPLY", [node["name"], node["uid"], "1"], "c.0", "{}", False,
                  False, False, id=5),
            frame("NODE_APPLY", [node["name"], node["uid"], "1"], "", "", True, False,
                  True, id=6),
            frame("STATUS_WRITE", target, 4, '{"a":1}', [condition], id=7),
            frame("STATUS_WRITE", ["demo", inventory["uid"], "1"], 3, "{}",
                  [condition] * 4, id=8),
            frame("WITHDRAW", 0, "rack"),
        ]
        worker = self.projector(server, status_debounce="0s")
        stood = 0
        for count in range(250):
            link = worker.link("placer", count)
            link.wait("WRITTEN_END")
            bad = [falsify.falsify(self.dice.choice(intents), self.dice, count)
                   for _ in range(self.dice.choice((1, 1, 2)))]
            link.send_bytes(frame("PLAN_BEGIN", 1) + bad[0] + frame("PLAN_END")
                            + self.dice.choice(intents) + b"".join(bad[1:]))
            link.wait_read()
            worker.control.now()
            self.assertTrue(worker.alive(), worker.output()[-4000:])
            stood += link.socket not in driver.readable(link.socket)
        print(f"  {len(server.requests)} requests came of them; {stood} links stood")
        self.assertEqual(worker.stop(), (True, 0))

    def test_no_answer_of_the_server_makes_it_crash(self):
        server = self.server()
        declare(server, 150)
        server.answer("PATCH", api.changed(self.spoiled), times=300)
        worker = self.projector(server)
        for number in range(150):
            self.apply(worker, server.get("nodes", f"sim-{number:03d}"), number)
        inventory = server.get("sgpuinventories", "demo")["metadata"]
        server.answer(f"GET /apis/{api.GROUP}/sgpuinventories", api.changed(
            lambda body: self.dice.choice((self.spoiled(body), json.dumps(
                falsify.mutate(json.loads(body), self.dice), default=repr,
                skipkeys=True).encode()))), times=20)
        worker.links["placer"].send("FINALIZER", ["demo", inventory["uid"], "1"],
                                    "x/y", True, id=1000)
        told = set()
        while len(told) < 140:
            told.add(worker.links["placer"].wait("RESULT").id)
        self.assertTrue(worker.alive())
        self.assertEqual(worker.stop(), (True, 0))


class Elector(Fault):
    OPTIONS = {"leader_election_lease_duration": "3s", "identity": "me",
               "leader_election_renew_deadline": "2s",
               "leader_election_retry_period": "100ms"}
    LEASE = "control-plane.mokka.nvidia.com"

    def elector(self, server, **options):
        worker = self.worker("elector", server, **{**self.OPTIONS, **options})
        worker.control.send("CONTEND")
        return worker

    def holder(self, server):
        lease = server.get("leases", self.LEASE)
        return lease and lease["spec"]["holderIdentity"]

    def granted(self, worker):
        """Seconds that the page still grants."""
        sequence, = struct.unpack_from("=Q", worker.page.page, 0)
        term, deadline = struct.unpack_from("=Qq", worker.page.page,
                                            8 + 16 * (sequence & 1))
        return term, deadline / 1e9 - time.clock_gettime(time.CLOCK_BOOTTIME)

    def test_whatever_a_Lease_request_is_answered_it_leads_in_the_end(self):
        faults = {
            "429": api.status(429), "500": api.status(500), "403": api.status(403),
            "404 of a proxy": api.raw(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
            "no HTTP": api.raw(b"220 mail\r\n"), "closed": api.raw(b""),
            "answer lost": api.cut(0), "answer cut": api.cut(60),
            "answer of nothing": api.changed(lambda body: b""),
            "answer in half": api.changed(lambda body: body[:len(body) // 2]),
            "no Lease": api.changed(lambda body: b"[]"), "stalled": api.stall,
        }
        workers = []
        for begins in ("GET", "POST", "PUT"):
            for what, reply in faults.items():
                server = self.server()
                server.answer(begins, reply, times=1)
                workers.append((begins, what, server, self.elector(server)))
        for begins, what, server, worker in workers:
            with self.subTest(request=begins, what=what):
                worker.control.wait("TERM_BEGAN")
                self.assertEqual(self.holder(server), "me")
                wait_for("a renewal", 5,
                         lambda: len([r for r in server.asked("PUT") if r.status == 200]) > 1)
                self.assertGreater(self.granted(worker)[1], 0)
                self.assertEqual(worker.stop(), (True, 0))
                self.assertEqual(self.holder(server), "")

    def test_the_page_grants_nothing_once_renewals_fail_and_the_term_ends(self):
        workers = []
        for what, reply in {"refused": api.status(500), "silent": api.stall,
                            "closed": api.raw(b"")}.items():
            server = self.server()
            worker = self.elector(server)
            worker.control.wait("TERM_BEGAN")
            server.answer("PUT", reply)
            server.answer("GET", reply)
            workers.append((what, worker))
        for what, worker in workers:
            with self.subTest(what=what):
                _, reason = worker.control.wait("TERM_ENDED").fields
                print(f"  {what}: {reason}")
                self.assertLessEqual(self.granted(worker)[1], 0)

    def test_it_stands_by_while_another_holds_the_Lease(self):
        server = self.server()
        first = self.elector(server, identity="first")
        first.control.wait("TERM_BEGAN")
        second = self.elector(server, identity="second")
        reason = ""
        while "held by first" not in reason:
            ok, reason, _ = second.control.wait("STATE").fields
        self.assertTrue(ok)
        self.assertEqual(first.stop(), (True, 0))
        released = time.monotonic()
        second.control.wait("TERM_BEGAN")
        print(f"  taken over {time.monotonic() - released:.2f} s after the release")
        self.assertEqual(second.stop(), (True, 0))

    def test_no_Lease_makes_it_crash(self):
        server = self.server()
        worker = self.elector(server, leader_election_retry_period="10ms")
        worker.control.wait("TERM_BEGAN")
        lies = api.changed(lambda body: self.dice.choice((
            self.spoiled(body), json.dumps(falsify.mutate(json.loads(body), self.dice),
                                           default=repr, skipkeys=True).encode())))
        server.answer("GET", lies)
        server.answer("PUT", lies)
        began = time.monotonic()
        while time.monotonic() - began < 4:
            worker.control.now()
            time.sleep(0.01)
            self.assertTrue(worker.alive(), worker.output()[-4000:])
        print(f"  {len(server.requests)} requests")
        server.behave()
        self.assertEqual(worker.stop()[1], 0)


class Web(Fault):
    def test_no_client_makes_it_crash_or_go_deaf(self):
        worker = self.start("web").wire(shutdown_timeout="1s")
        address = worker.listener.getsockname()
        right = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        stays = []
        for count in range(300):
            client = self.enterContext(socket.create_connection(address, timeout=10))
            data = self.spoiled(right) if count % 3 else self.dice.randbytes(50)
            client.sendall(data)
            if count % 5 == 0:
                stays.append(client)
            else:
                client.close()
        with socket.create_connection(address, timeout=10) as client:
            client.sendall(right)
            self.assertIn(b"200", client.recv(1000))
        self.assertTrue(worker.alive())
        began = time.monotonic()
        self.assertEqual(worker.stop(), (True, 0))
        print(f"  stopped in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    unittest.main(verbosity=2)
