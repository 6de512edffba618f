# SPDX-License-Identifier: Apache-2.0
"""How the informer reads, against API servers that offer streaming lists or not,
and that cut, stall, repeat, lie and say no.  Names carry the numbers of
tests/pitfalls.md."""

import itertools
import json
import unittest

import driver  # noqa: F401 (it says where the rest is)
import api
from driver import wait_for
from estate import declare
from test_faults import ANNOTATION, NODES, RACKS, InformerFault

EVERY = ("sgpurackprofiles", "sgpuinventories", "sgpuracks", "nodes")
MIB = 1 << 20


def rack(name, **more):
    return {"metadata": {"name": name}, "spec": {"nodes": [], **more}}


def streams(server, path=""):
    """The streaming lists that were asked for."""
    return [r for r in server.asked(f"GET {path}") if "sendInitialEvents" in r.query]


def lists(server, path=""):
    return [r for r in server.asked(f"GET {path}") if "watch" not in r.query]


def watches(server, path=""):
    """The watches that go on from a version."""
    return [r for r in server.asked(f"GET {path}")
            if "watch" in r.query and "sendInitialEvents" not in r.query]


class Reading(InformerFault):
    def server(self, **options):
        server = api.Api(**options)
        self.addCleanup(server.close)
        return server

    def watched(self, server, *plurals):
        """Waits until every one of them is watched."""
        wait_for("the watches", 10, lambda: all(
            server.watches[plural] for plural in plurals or EVERY))

    def state(self, worker, question):
        """Waits for a report of which that is true: ok, reason, facts."""
        while True:
            fields = worker.control.wait("STATE").fields
            if question(*fields):
                return fields

    def ended(self, worker):
        self.assertEqual(worker.stop(), (True, 0))


class Lists(Reading):
    def test_A06_streaming_list_where_it_is_offered(self):
        server = self.server(streaming=True)
        declare(server, 3)
        worker = self.informer(server)
        self.assertEqual(self.synced(worker),
                         ["nvl72", "demo", "sim-000", "sim-001", "sim-002"])
        self.assertEqual(lists(server), [])
        self.assertEqual(len(streams(server)), len(EVERY))
        for request in streams(server):
            self.assertEqual(request.query["resourceVersionMatch"], "NotOlderThan")
            self.assertNotIn("resourceVersion", request.query)
        # The same request goes on as the watch; cut, it is resumed.
        server.put("nodes", api.node("later"))
        self.assertEqual(self.next_change(worker), ["later"])
        self.assertEqual(watches(server), [])
        server.cut_watches("nodes")
        server.put("nodes", api.node("after"))
        self.assertEqual(self.next_change(worker), ["after"])
        self.assertEqual((len(lists(server)), len(streams(server))), (0, len(EVERY)))
        self.ended(worker)

    def test_A06_streaming_list_that_never_ends_is_left_for_pages(self):
        def endless(exchange):
            plural = "nodes" if exchange.path == NODES else "sgpuracks"
            kind = api.PROTOBUF if plural == "nodes" else "application/json"
            exchange.begin_stream(kind)
            for item in server.objects[plural].values():
                exchange.send_chunk(server.event(plural, "ADDED", item))
            exchange.send_chunk(server.event(plural, "BOOKMARK", server.mark(plural)))
            exchange.wait_closed()
            exchange.close()

        server = self.server(streaming=True)
        declare(server, 1)
        server.put("sgpuracks", rack("r"))
        for path in (NODES, RACKS):
            server.answer(f"GET {path}", endless, times=1)
        worker = self.informer(server)
        # A bookmark without the annotation is no end, and nothing is complete.
        self.assertEqual(sorted(self.synced(worker)), ["demo", "nvl72", "r", "sim-000"])
        self.assertEqual([r.path for r in lists(server)].count(NODES), 1)
        # It is remembered, for those alone.
        self.watched(server)
        for plural in EVERY:
            server.expire(plural)
        wait_for("the lists", 10, lambda: len(lists(server)) + len(streams(server)) >= 10)
        for path, count in ((NODES, 2), (RACKS, 2)):
            self.assertEqual((len(lists(server, path)), len(streams(server, path))),
                             (count, 1), path)
        self.assertIn("no streaming list is offered", worker.output())
        self.ended(worker)

    def test_A06_streaming_lists_that_break_off_are_left_for_pages(self):
        server = self.server(streaming=True)
        declare(server, 2)
        for path in (NODES, RACKS):
            server.answer(f"GET {path}", lambda exchange: (
                exchange.begin_stream(api.PROTOBUF if exchange.path == NODES
                                      else "application/json"), exchange.close()), times=2)
        worker = self.informer(server)
        self.synced(worker)
        for path in (NODES, RACKS):
            self.assertEqual((len(streams(server, path)), len(lists(server, path))), (2, 1))
        said = [json.loads(line) for line in worker.output().splitlines()
                if "no streaming list is offered" in line]
        self.assertEqual({line["resource"] for line in said}, {"nodes", "sgpuracks"})
        for line in said:
            self.assertTrue(line["reason"])
        self.ended(worker)

    def test_A06_A08_A10_many_objects_however_lists_come(self):
        for options in ({"streaming": True}, {"pages": True}, {}):
            with self.subTest(**options):
                server = self.server(**options)
                nodes = [f"n-{i:04d}" for i in range(1203)]
                racks = [f"r-{i:03d}" for i in range(123)]
                for name in nodes:
                    server.put("nodes", api.node(name))
                for name in racks:
                    server.put("sgpuracks", rack(name))
                worker = self.informer(server)
                self.assertEqual(self.synced(worker), racks + nodes)
                pages = {"pages": (3, 3)}.get(next(iter(options), None), None)
                if pages is not None:
                    self.assertEqual(
                        (len(lists(server, NODES)), len(lists(server, RACKS))), pages)
                self.ended(worker)

    def test_A08_A09_token_that_expires_leads_to_one_whole_list(self):
        server = self.server(pages=True)
        for i in range(120):
            server.put("sgpuracks", rack(f"r-{i:03d}"))
        gone = api.status(410, "Expired", "the token is too old",
                          metadata={"continue": "another", "resourceVersion": "1"})
        server.answer(f"GET {RACKS}?limit=50&continue=", gone, times=1)
        worker = self.informer(server)
        self.assertEqual(len(self.synced(worker)), 120)
        asked = lists(server, RACKS)
        self.assertEqual(len(asked), 3)
        self.assertEqual(asked[2].query, {})
        self.assertFalse([r for r in asked if r.query.get("continue") == "another"])
        self.ended(worker)

    def test_A01_A02_A04_410_in_both_forms_lists_again_from_no_older_version(self):
        forms = {"answer": lambda server, plural, path: (
                     server.answer(f"GET {path}", api.status(410, "Expired"), times=1),
                     server.cut_watches(plural)),
                 "event": lambda server, plural, path: server.expire(plural)}
        for streaming in (True, False):
            for form, expire in forms.items():
                for plural, path in (("nodes", NODES), ("sgpuracks", RACKS)):
                    with self.subTest(streaming=streaming, form=form, plural=plural):
                        self.expired_once(streaming, plural, path, expire)

    def expired_once(self, streaming, plural, path, expire):
        make = api.node if plural == "nodes" else rack
        server = self.server(streaming=streaming)
        for name in ("stays", "goes"):
            server.put(plural, make(name))
        worker = self.informer(server)
        self.synced(worker)
        self.watched(server)
        seen = server.put(plural, make("new"))["metadata"]["resourceVersion"]
        self.assertEqual(self.next_change(worker), ["new"])
        with server.lock:
            # What happens now is not in any watch.
            del server.objects[plural]["goes"]
            expire(server, plural, path)
        # What is the same is not sent again; what is gone is.
        self.assertEqual(self.next_change(worker), ["goes"])
        again = (streams if streaming else lists)(server, path)
        self.assertEqual(len(again), 2)
        self.assertEqual(again[1].query["resourceVersionMatch"], "NotOlderThan")
        self.assertGreaterEqual(int(again[1].query["resourceVersion"]), int(seen))
        self.ended(worker)

    def test_a_server_that_lags_holds_up_what_it_is_asked_and_nothing_else(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                server = self.server(streaming=streaming)
                declare(server, 2)
                server.answer(f"GET {NODES}", api.late(3), times=1)
                worker = self.informer(server)
                ok, reason, facts = self.state(worker, lambda ok, reason, facts:
                                               reason == "nodes: listing")
                self.assertFalse(ok)
                self.assertEqual((facts["profiles"], facts["inventories"]), (1, 1))
                # The reader gets all at once, and nothing of a part.
                self.assertEqual(worker.links["placer"].now(), [])
                self.assertEqual(self.synced(worker),
                                 ["nvl72", "demo", "sim-000", "sim-001"])
                self.ended(worker)

    def test_A09_what_a_list_holds_twice_is_one_object(self):
        server = self.server()
        for plural, make in (("nodes", api.node), ("sgpuracks", rack)):
            for name in ("a", "b"):
                server.put(plural, make(name))
            server.objects[plural]["again"] = server.objects[plural]["a"]
        worker = self.informer(server)
        self.assertEqual(self.synced(worker), ["a", "b", "a", "b"])
        self.ended(worker)

    def test_A04_version_that_the_server_does_not_know_is_dropped_at_once(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                server = self.server(streaming=streaming)
                declare(server, 1)
                worker = self.informer(server)
                self.synced(worker)
                self.watched(server)
                server.answer(f"GET {NODES}", api.status(
                    504, "Timeout", "Too large resource version: 900, current: 5"),
                    times=1)
                server.cut_watches("nodes")
                again = wait_for("a list", 10, lambda: (
                    streams if streaming else lists)(server, NODES)[1:])
                self.assertNotIn("resourceVersion", again[0].query)
                self.ended(worker)


    def test_A04_a_server_that_went_back_in_time_is_told_of(self):
        """Restored from a backup: what it has is older than what it had."""
        for change in ("object", "list"):
            with self.subTest(change=change):
                server = self.server(streaming=True)
                declare(server, 1)
                server.version = itertools.count(500)
                server.put("nodes", api.node("sim-000"))
                worker = self.informer(server)
                self.synced(worker)
                self.watched(server)
                with server.lock:
                    server.version = itertools.count(400 if change == "list" else 600)
                    if change == "object":
                        server.objects["nodes"]["sim-000"]["metadata"]["resourceVersion"] = "7"
                    server.expire("nodes")
                why, = worker.control.wait("WENT_BACK").fields
                self.assertIn("Node sim-000" if change == "object" else "Node list", why)
                self.ended(worker)


class Watches(Reading):
    def reading(self, *names, **options):
        """A server and an informer that is synchronised with it."""
        server = self.server(**options)
        for name in names:
            server.put("nodes", api.node(name))
            server.put("sgpuracks", rack(name))
        worker = self.informer(server)
        self.synced(worker)
        self.watched(server)
        return server, worker

    def test_A05_resumed_from_the_bookmark(self):
        server, worker = self.reading("a", streaming=True)
        for plural, path in (("nodes", NODES), ("sgpuracks", RACKS)):
            server.bookmark(plural)
            version = str(next(server.version) - 1)
            server.cut_watches(plural)
            resumed = wait_for("the watch", 10, lambda p=path: watches(server, p))
            self.assertEqual(resumed[0].query["resourceVersion"], version)
        self.assertEqual(worker.links["placer"].now(), [])
        self.ended(worker)

    def test_A12_reading_does_not_wait_for_a_reader_that_sleeps(self):
        server, worker = self.reading()
        total = 0
        for number in range(60):
            for name in range(50):
                item = api.node(f"n-{name:02d}", pool="p" * 20 + str(number))
                item["metadata"]["labels"]["long"] = "x" * 60
                server.put("nodes", item)
                total += 1
        # All is read, though nobody reads what the informer sends.
        *_, facts = self.state(worker, lambda ok, reason, facts: facts["events"] == total)
        self.assertLessEqual(facts["unsent"], 50)
        newest = {}
        names = 0
        while len(newest) < 50 or set(newest.values()) != {"p" * 20 + "59"}:
            found = worker.links["placer"].receive()
            if found.name == "NODE":
                names += 1
                meta = found.fields[0]
                labels = next(f for f in meta if isinstance(f, dict) and "pool" in f)
                newest[meta[0]] = labels["pool"]
        print(f"  {total} events, {names} messages")
        self.ended(worker)

    def test_A14_A02_deleted_while_nobody_watched(self):
        server, worker = self.reading("stays", "goes", streaming=True)
        with server.lock:
            del server.objects["nodes"]["goes"]
            server.expire("nodes")
        self.assertEqual(self.next_change(worker), ["goes"])
        self.ended(worker)

    def test_A16_half_open_watches_are_found(self):
        server, worker = self.reading("a", streaming=True)
        before = len(watches(server))
        for plural in ("nodes", "sgpuracks"):
            server.deafen(plural)
            server.watches[plural].clear()
        found = wait_for("new watches", 50, lambda: len(watches(server)) == before + 2)
        self.assertTrue(found)
        self.assertEqual(len(streams(server)), len(EVERY))
        self.watched(server, "nodes", "sgpuracks")
        self.ended(worker)

    def test_A20_large_objects_come_and_too_large_ones_cost_a_watch(self):
        server, worker = self.reading()
        big = api.node("big")
        big["metadata"]["annotations"] = {"other": "x" * 3 * MIB, ANNOTATION: "{}"}
        server.put("nodes", big)
        self.assertEqual(self.next_change(worker), ["big"])
        big["metadata"]["annotations"]["other"] = "x" * 5 * MIB
        server.put("nodes", big)
        ok, reason, _ = self.state(
            worker, lambda ok, reason, facts: "4194304" in reason)
        self.assertTrue(ok)  # it was complete once
        self.assertIn("nodes: ", reason)
        # A list goes round it, and the watch goes on from there.
        self.state(worker, lambda ok, reason, facts: not reason and facts["bad"] == 1)
        # Once it is small again, all is well.
        big["metadata"]["annotations"]["other"] = ""
        server.put("nodes", big)
        server.put("nodes", api.node("next"))
        names = set()
        while "next" not in names:
            names.update(self.next_change(worker))
        self.state(worker, lambda ok, reason, facts: not reason)
        self.ended(worker)

    def test_A21_noise_wakes_nobody(self):
        server, worker = self.reading("a", "b")
        for _ in range(200):
            for name in "ab":
                server.put("nodes", api.node(name))
        *_, facts = self.state(worker, lambda ok, reason, facts: facts["events"] == 400)
        self.assertEqual(facts["dropped"], 400)
        # No Node is sent, only now and then up to where they are known.
        self.assertLessEqual({f.name for f in worker.links["placer"].now()},
                             {"AS_OF", "BATCH_END"})
        self.ended(worker)

    def test_C01_objects_that_are_not_selected_are_never_kept(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                server = self.server(streaming=streaming)
                stranger = {"metadata": {"name": "stranger", "labels": {"a": "b"}}}
                server.put("nodes", stranger)
                server.put("nodes", api.node("ours"))
                worker = self.informer(server)
                self.assertEqual(self.synced(worker), ["ours"])
                self.watched(server)
                server.put("nodes", {"metadata": {"name": "another", "labels": {}}})
                leaves = server.get("nodes", "ours")
                server.put("nodes", {"metadata": {**leaves["metadata"], "labels": {}}})
                self.assertEqual(self.next_change(worker), ["ours"])
                count = 4 if streaming else 2
                *_, facts = self.state(
                    worker, lambda ok, r, facts, n=count: facts["events"] == n)
                self.assertEqual(facts["nodes"], 0)
                for request in server.asked(f"GET {NODES}"):
                    self.assertEqual(request.query["labelSelector"],
                                     "mokka.nvidia.com/sgpu-node=true")
                self.ended(worker)

    def test_events_twice_and_late_do_no_harm(self):
        server, worker = self.reading("a")
        for plural in ("nodes", "sgpuracks"):
            item = server.get(plural, "a")
            late = {**item, "metadata": {**item["metadata"], "uid": "of another life"}}
            for kind, what in (("ADDED", item), ("MODIFIED", item), ("DELETED", late)):
                server.say(plural, server.event(plural, kind, what))
        self.state(worker, lambda ok, reason, facts: facts["events"] == 6)
        self.assertNotIn("GONE", {f.name for f in worker.links["placer"].now()})
        self.ended(worker)

    def test_A10_A20_bytes_one_by_one_and_compressed(self):
        for streaming in (True, False):
            for name, reply in (("pieces", api.pieces(1)), ("gzip", api.compressed)):
                with self.subTest(streaming=streaming, reply=name):
                    server = self.server(streaming=streaming)
                    declare(server, 2)
                    server.put("sgpuracks", rack("r"))
                    server.answer("GET ", reply)
                    worker = self.informer(server)
                    self.assertEqual(self.synced(worker),
                                     ["nvl72", "demo", "r", "sim-000", "sim-001"])
                    server.put("nodes", api.node("later"))
                    self.assertEqual(self.next_change(worker), ["later"])
                    self.ended(worker)

    def test_A23_compression_is_not_asked_for(self):
        server, worker = self.reading("a", streaming=True)
        for request in server.requests:
            self.assertNotIn("accept-encoding", request.headers)
        self.ended(worker)

    def test_G08_selectors_are_escaped_whole(self):
        server, worker = self.reading()
        for request in server.asked(f"GET {NODES}"):
            self.assertIn("labelSelector=mokka.nvidia.com%2Fsgpu-node%3Dtrue",
                          request.target)
        self.ended(worker)


class Refusals(Reading):
    def test_B01_B03_a_server_that_shuts_down_is_left_and_its_wait_obeyed(self):
        body = json.dumps(api.failure(429, "TooManyRequests",
                                      "storage is (re)initializing")).encode()
        away = api.raw(b"HTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nConnection: close\r\n"
                       b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                       % (len(body), body))
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                server = self.server(streaming=streaming)
                declare(server, 1)
                server.answer(f"GET {NODES}", away, times=1)
                worker = self.informer(server)
                self.synced(worker)
                asked = server.asked(f"GET {NODES}")
                self.assertGreaterEqual(asked[1].time - asked[0].time, 2)
                self.assertIsNot(asked[0].connection, asked[1].connection)
                self.ended(worker)

    def test_B04_reset_between_request_and_answer(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                server = self.server(streaming=streaming)
                declare(server, 1)
                for path in (NODES, RACKS):
                    server.answer(f"GET {path}", api.reset, times=2)
                worker = self.informer(server)
                self.synced(worker)
                self.watched(server)
                server.answer(f"GET {NODES}", api.reset, times=1)
                server.cut_watches("nodes")
                server.put("nodes", api.node("later"))
                self.assertEqual(self.next_change(worker), ["later"])
                self.ended(worker)

    def test_whatever_a_streaming_list_is_answered_all_is_there_in_the_end(self):
        faults = {
            "429": api.status(429, retry_after=1), "500": api.status(500),
            "403": api.status(403), "404": api.status(404), "400": api.status(400),
            "406": api.status(406), "410": api.status(410, "Expired"),
            "no HTTP": api.raw(b"220 mail\r\n"), "closed": api.raw(b""),
            "cut in the header": api.cut(30), "reset": api.reset,
            "a Status": api.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                b"Content-Length: 2\r\n\r\n{}"),
            "noise": api.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: 3\r\n\r\n{]\n"),
        }
        workers = []
        for what, reply in faults.items():
            for path in (NODES, RACKS):
                server = self.server(streaming=True)
                declare(server, 2)
                server.answer(f"GET {path}", reply, times=1)
                workers.append((what, path, self.informer(server)))
        for what, path, worker in workers:
            with self.subTest(what=what, path=path):
                self.assertEqual(self.synced(worker),
                                 ["nvl72", "demo", "sim-000", "sim-001"])
                self.ended(worker)

    def test_what_a_watch_waits_for_is_said_after_the_first_list_too(self):
        server = self.server(streaming=True)
        declare(server, 1)
        worker = self.informer(server)
        self.synced(worker)
        self.watched(server)
        server.answer(f"GET {NODES}", api.status(403))
        server.cut_watches("nodes")
        ok, reason, _ = self.state(worker, lambda ok, reason, facts: "403" in reason)
        self.assertTrue(ok)  # what was synchronised once counts as that
        self.assertIn("grant watch on nodes", reason)
        self.assertIn("grant watch on nodes", worker.output())
        server.behave()
        self.state(worker, lambda ok, reason, facts: ok and not reason)
        self.assertIn("resource is back", worker.output())
        self.ended(worker)

    def test_10_3_what_is_not_allowed_is_named_at_the_start(self):
        server = self.server()
        declare(server, 1)
        server.denied = {"list nodes", "watch sgpuracks"}
        worker = self.informer(server)
        self.synced(worker)
        ok, reason, _ = self.state(worker, lambda ok, reason, facts: ok and reason)
        self.assertEqual(reason, "not allowed: watch on sgpuracks.mokka.nvidia.com; "
                                 "list on nodes; grant it to this identity")
        self.assertIn("access is missing", worker.output())
        self.assertEqual(set(server.asked_access), {
            f"{verb} {plural}" for verb in ("list", "watch") for plural in EVERY})
        server.denied = set()
        self.state(worker, lambda ok, reason, facts: ok and not reason)
        self.ended(worker)

    def test_10_3_each_process_asks_for_what_it_needs_itself(self):
        needs = {
            "elector": {"get leases", "update leases", "create leases"},
            "projector": {
                "get nodes", "patch nodes", "get sgpuinventories",
                "update sgpuinventories", "update sgpuinventories/status",
                "get sgpuracks", "list sgpuracks", "create sgpuracks",
                "update sgpuracks", "delete sgpuracks", "update sgpuracks/status"},
        }
        for name, needed in needs.items():
            with self.subTest(worker=name):
                server = self.server()
                missing = sorted(needed)[0]
                server.denied = {missing}
                worker = self.worker(name, server)
                _, reason, _ = self.state(
                    worker, lambda ok, reason, facts: "not allowed" in reason)
                verb, resource = missing.split()
                self.assertIn(f"{verb} on {resource}", reason)
                self.assertEqual(set(server.asked_access), needed)
                self.ended(worker)


if __name__ == "__main__":
    unittest.main(verbosity=2)
