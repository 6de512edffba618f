# SPDX-License-Identifier: Apache-2.0
"""What the projector writes, and what it makes of each answer: the scenarios
and pitfalls of writing, against an API server that misbehaves on purpose.

The projector is alone here; the test is its placer and its lease page.
"""

import json
import pathlib
import tempfile
import socket
import struct
import threading
import time
import unittest

import driver
import api
from driver import frame, wait_for
from estate import declare

NODES = "/api/v1/nodes"
OURS = f"/apis/{api.GROUP}"
RACKS = f"{OURS}/sgpuracks"
INVENTORY = f"{OURS}/sgpuinventories/demo"
ASSIGNED = "mokka.nvidia.com/sgpu-assigned"
CLIQUE = "nvidia.com/gpu.clique"
ASSIGNMENT = "mokka.nvidia.com/sgpu-assignment"
RACK, NODE, FINALIZER, INVENTORY_STATUS, RACK_STATUS = range(5)
DONE, STALE, GONE, INVALID, CONFLICT, KEPT = range(6)
CLEANUP = "mokka.nvidia.com/inventory-cleanup"


def binding(node, slot=0, revision="new", rack="r"):
    """The annotation of a binding."""
    return json.dumps({
        "v": 1, "inventory": {"name": "demo", "uid": "i"},
        "rack": {"name": "demo-0", "uid": rack},
        "profile": {"name": "p", "uid": "p", "revision": revision},
        "rackGroup": "a", "rackIndex": 0, "nodeIndex": slot,
        "nodeUID": node["metadata"]["uid"]}, separators=(",", ":"))


def slow(seconds):
    """Carried out, after a while."""
    def reply(exchange):
        time.sleep(seconds)
        exchange.serve()
    return reply


class Writing(driver.WorkerTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.api = api.Api()
        self.addCleanup(self.api.close)
        self.ids = 0

    def projector(self, nodes=1, **options):
        """A projector in its term, with an empty plan."""
        declare(self.api, nodes)
        config = self.api.kubeconfig(self.folder / "config")
        self.worker = self.start("projector").wire(
            kubeconfig=config, **{"status_debounce": "0s", **options})
        self.worker.page.publish(1, 600)
        self.worker.control.send("TERM_BEGAN", 1)
        self.link = self.worker.links["placer"]
        self.link.wait("WRITTEN_END")
        self.link.send("PLAN_BEGIN", 1)
        self.link.send("PLAN_END")

    def node(self, number=0):
        return self.api.get("nodes", f"sim-{number:03d}")

    def send(self, kind, *fields):
        self.ids += 1
        self.link.send(kind, *fields, id=self.ids)
        return self.ids

    def apply(self, node, text=None, release=False, keep=False, stray=False,
              seen=True, clique="c.0"):
        meta = node["metadata"]
        return self.send(
            "NODE_APPLY", [meta["name"], meta["uid"],
                           meta["resourceVersion"] if seen else ""],
            clique, binding(node) if text is None else text, release, keep, stray)

    def release(self, node, **options):
        return self.apply(node, release=True, **options)

    def status(self, item, action, fields, *conditions):
        meta = item["metadata"]
        return self.send("STATUS_WRITE",
                         [meta["name"], meta["uid"], meta["resourceVersion"]],
                         action, json.dumps(fields), list(conditions))

    def result(self, id=None, seconds=driver.LIMIT):
        """(outcome, version, reason) of the next result, which must be that
        one's."""
        found = self.link.wait("RESULT", seconds)
        if id is not None:
            self.assertEqual(found.id, id)
        _, outcome, _, _, version, reason = found.fields
        return outcome, version, reason

    def projected(self, number=0):
        """That Node, once it carries its binding."""
        self.assertEqual(self.result(self.apply(self.node(number)))[0], DONE)
        self.api.requests.clear()
        return self.node(number)

    def rack(self, spec=None, **more):
        """A rack of ours, stored."""
        owner = {"apiVersion": api.GROUP, "kind": "SGPUInventory", "name": "demo",
                 "uid": "i", "controller": True, "blockOwnerDeletion": False}
        return self.api.put("sgpuracks", {
            "metadata": {"name": "demo-0", "ownerReferences": [owner],
                         "finalizers": ["mokka.nvidia.com/rack-cleanup"],
                         "managedFields": [{
                             "manager": "mokka-controller", "operation": "Update",
                             "apiVersion": api.GROUP, "fieldsType": "FieldsV1",
                             "fieldsV1": {"f:spec": {}}}], **more},
            "spec": spec or {"a": 0}})

    def write_rack(self, rack, spec, labels=None):
        meta = rack["metadata"]
        return self.send(
            "RACK_WRITE", [meta["name"], meta["uid"], meta["resourceVersion"]],
            meta["generation"], labels or {}, {}, ["mokka.nvidia.com/rack-cleanup"],
            [[api.GROUP, "SGPUInventory", "demo", "i", 1, 0]], json.dumps(spec))

    def create_rack(self, name="demo-1"):
        return self.send(
            "RACK_WRITE", [name, "", ""], 0, {}, {}, ["mokka.nvidia.com/rack-cleanup"],
            [[api.GROUP, "SGPUInventory", "demo", "i", 1, 0]], '{"a":1}')

    def patches(self):
        return self.api.asked("PATCH")

    def lines(self, **wanted):
        """Log lines whose fields equal those given."""
        found = []
        for raw in self.worker.output().splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if all(line.get(key) == value for key, value in wanted.items()):
                found.append(line)
        return found

    def stop(self):
        self.assertEqual(self.worker.stop(), (True, 0))


class Apply(Writing):
    def test_P01_one_PATCH_with_nothing_but_our_keys(self):
        self.projector()
        node = self.node()
        self.assertEqual(self.result(self.apply(node))[0], DONE)
        asked, = self.api.requests
        self.assertEqual(asked.method, "PATCH")
        self.assertEqual(asked.target, f"{NODES}/sim-000?fieldManager=mokka-controller"
                                       "&force=false")
        self.assertEqual(asked.headers["content-type"], "application/apply-patch+yaml")
        self.assertEqual(asked.body.decode(), json.dumps({
            "apiVersion": "v1", "kind": "Node", "metadata": {
                "name": "sim-000", "uid": node["metadata"]["uid"],
                "labels": {ASSIGNED: "true", CLIQUE: "c.0"},
                "annotations": {ASSIGNMENT: binding(node)}}}, separators=(",", ":")))
        self.stop()

    def test_E06_E09_the_body_is_made_from_scratch_and_nothing_is_read(self):
        self.projector(20)
        for number in range(20):
            self.apply(self.node(number))
        for _ in range(20):
            self.assertEqual(self.result()[0], DONE)
        self.assertEqual({(r.method, r.path) for r in self.api.requests},
                         {("PATCH", f"{NODES}/sim-{n:03d}") for n in range(20)})
        self.assertEqual(len(self.api.requests), 20)
        for asked in self.api.requests:
            self.assertEqual(sorted(asked.json()["metadata"]),
                             ["annotations", "labels", "name", "uid"])
        self.stop()

    def test_P09_a_co_owner_in_the_answer_is_a_conflict(self):
        self.projector()
        self.api.edit("sim-000", "gpu-operator", labels={CLIQUE: "c.0"})
        outcome, version, reason = self.result(self.apply(self.node()))
        self.assertEqual((outcome, version),
                         (CONFLICT, self.node()["metadata"]["resourceVersion"]))
        self.assertEqual(reason, f"also owned: {CLIQUE} by gpu-operator")
        time.sleep(0.3)
        self.assertEqual(len(self.patches()), 1)
        said, = self.lines(msg="metadata conflict blocks projection")
        self.assertEqual(
            (said["level"], said["rack"], said["fields"], said["managers"]),
            ("warn", "demo-0", CLIQUE, f"{CLIQUE} by gpu-operator"))
        self.stop()

    def test_P10_an_answer_about_something_else_is_an_error(self):
        self.projector()
        node = self.node()
        uid = node["metadata"]["uid"].encode()
        wrong = [api.changed(lambda body: body.replace(b"sim-000", b"sam-000")),
                 api.changed(lambda body: body.replace(uid, uid[::-1])),
                 api.changed(lambda body: b"")]
        for reply in reversed(wrong):
            self.api.answer("PATCH", reply, times=1)
        self.assertEqual(self.result(self.apply(node))[0], DONE)
        self.assertEqual(len(self.patches()), 4)
        self.assertEqual(len(self.lines(msg="reconciliation failed", level="error")), 3)
        self.stop()

    def test_P12_E01_a_successor_or_nobody_is_never_written(self):
        self.projector(2)
        old, gone = self.node(0), self.node(1)
        self.api.remove("nodes", "sim-000")
        self.api.put("nodes", api.node("sim-000"))
        self.api.remove("nodes", "sim-001")
        self.assertEqual(self.result(self.apply(old))[0], GONE)
        self.assertEqual(self.result(self.apply(gone))[0], GONE)
        self.assertNotIn("managedFields", self.node(0)["metadata"])
        self.assertIsNone(self.node(1))
        self.stop()

    def test_Q05_E03_a_conflict_ends_an_apply_and_nothing_is_forced(self):
        self.projector()
        node = self.node()
        self.api.edit("sim-000", "helm", labels={ASSIGNED: "false"})
        self.api.edit("sim-000", "gpu-operator", labels={CLIQUE: "x"})
        outcome, _, reason = self.result(self.apply(node))
        self.assertEqual(outcome, CONFLICT)
        self.assertEqual(reason, f"owned: {ASSIGNED} by helm; {CLIQUE} by gpu-operator")
        asked = len(self.patches())
        self.assertEqual(asked, 5)  # 4.1 step 9: with back-off
        self.assertTrue(all("force=false" in r.target for r in self.patches()))
        time.sleep(0.5)
        self.assertEqual(len(self.patches()), asked)
        self.assertEqual(self.node()["metadata"]["labels"][ASSIGNED], "false")
        self.stop()

    def test_12_the_clique_label_is_left_alone_and_released(self):
        self.projector(project_clique_label="false")
        self.projected()
        self.assertEqual(self.result(self.apply(self.node(), clique=""))[0], DONE)
        self.assertNotIn("labels" in self.patches()[0].json()["metadata"]
                         and CLIQUE, self.patches()[0].json()["metadata"]["labels"])
        self.assertNotIn(CLIQUE, self.node()["metadata"]["labels"])
        self.api.edit("sim-000", "gpu-operator", labels={CLIQUE: "theirs"})
        self.assertEqual(self.result(self.release(self.node(), clique=""))[0], DONE)
        self.assertEqual(self.node()["metadata"]["labels"][CLIQUE], "theirs")
        self.stop()

    def test_E05_one_constant_field_manager(self):
        self.projector(2)
        self.rack()
        self.apply(self.node())
        self.release(self.node(1))
        self.write_rack(self.api.get("sgpuracks", "demo-0"), {"a": 1})
        self.create_rack()
        for _ in range(4):
            self.assertEqual(self.result()[0], DONE)
        self.assertEqual({r.query.get("fieldManager") for r in self.api.requests
                          if r.method != "GET"}, {"mokka-controller"})
        self.stop()

    def test_Q04_however_often_it_is_wanted_it_runs_once_more(self):
        self.projector()
        self.api.answer("PATCH", slow(0.5), times=1)
        node = self.node()
        self.apply(node)
        wait_for("the first", 5, self.patches)
        for slot in range(1, 200):
            last = self.apply(node, binding(node, slot))
        self.assertEqual(self.result(last)[0], DONE)
        self.assertEqual([json.loads(r.json()["metadata"]["annotations"][ASSIGNMENT])
                          ["nodeIndex"] for r in self.patches()], [0, 199])
        self.stop()

    def test_G04_B05_a_Node_that_cannot_take_it_does_not_hold_up_others(self):
        self.projector(60)
        self.api.answer(f"PATCH {NODES}/sim-000", api.status(
            422, "Invalid", "metadata.annotations: Too long: may not be more than 262144 "
            "bytes", details={"causes": [{"field": "metadata.annotations"}]}))
        self.api.answer(f"PATCH {NODES}/sim-001", api.status(
            403, "Forbidden", 'admission webhook "no.example.com" denied the request'))
        for number in range(60):
            self.apply(self.node(number))
        for _ in range(58):
            self.assertEqual(self.result()[0], DONE)
        time.sleep(1)
        for name in ("sim-000", "sim-001"):
            asked = [r.time for r in self.api.asked(f"PATCH {NODES}/{name}")]
            pauses = [b - a for a, b in zip(asked, asked[1:])]
            # 5 ms, twice as long each time: 8 tries in the first second.  The first
            # pauses are shorter than a busy machine is late.
            self.assertIn(len(asked), range(5, 12))
            self.assertTrue(all(b > 1.5 * a for a, b in zip(pauses[4:], pauses[5:])),
                            pauses)
        failed = self.lines(msg="reconciliation failed")
        self.assertEqual({line["key"].split()[1] for line in failed}, {"sim-000", "sim-001"})
        # Nobody's ClusterRole is to blame.
        self.assertFalse([f for f in self.worker.control.now()
                          if f.name == "STATE" and not f.fields[0]])
        self.stop()


class Cleanup(Writing):
    def carried(self, **options):
        """A Node that carries its binding and is out of the feed."""
        self.projector(1, **options)
        return self.projected()

    def clean(self, number=0):
        meta = self.node(number)["metadata"]
        return (ASSIGNED not in meta["labels"] and CLIQUE not in meta["labels"]
                and ASSIGNMENT not in meta.get("annotations", {})
                and not [m for m in meta.get("managedFields", [])
                         if m["manager"] == "mokka-controller"])

    def test_E04_a_release_takes_off_what_is_ours_and_nothing_else(self):
        node = self.carried()
        self.api.edit("sim-000", "kubectl", labels={"a": "b"}, annotations={"c": "d"})
        self.assertEqual(self.result(self.release(node))[0], DONE)
        self.assertEqual(self.patches()[0].json()["metadata"],
                         {"name": "sim-000", "uid": node["metadata"]["uid"]})
        self.assertTrue(self.clean())
        meta = self.node()["metadata"]
        self.assertEqual((meta["labels"]["a"], meta["annotations"]["c"]), ("b", "d"))
        self.stop()

    def test_F02_gone_or_replaced_is_clean(self):
        self.projector(4)
        nodes = [self.projected(number) for number in range(4)]
        for number in range(4):
            self.api.remove("nodes", f"sim-{number:03d}")
        for number in (2, 3):
            self.api.put("nodes", api.node(f"sim-{number:03d}"))
        for node, seen in zip(nodes, (True, False, True, False)):
            self.assertEqual(self.result(self.release(node, seen=seen))[0], GONE)
        for number in (2, 3):
            self.assertNotIn("managedFields", self.node(number)["metadata"])
        self.stop()

    def test_K03_a_foreign_value_stays_and_so_does_our_evidence(self):
        node = self.carried()
        self.api.edit("sim-000", "gpu-operator", labels={CLIQUE: "x"})
        id = self.release(self.node(), seen=False)
        wait_for("the release", 5, lambda: ASSIGNED not in self.node()["metadata"]["labels"])
        meta = self.node()["metadata"]
        self.assertEqual(meta["labels"][CLIQUE], "x")
        self.assertEqual(meta["annotations"][ASSIGNMENT], binding(node))
        said, = wait_for("the warning", 5, lambda: self.lines(
            msg="metadata conflict blocks cleanup", level="warn"))
        self.assertEqual((said["rack"], said["managers"]),
                         ("demo-0", f"{CLIQUE} by gpu-operator"))
        time.sleep(0.5)
        self.assertEqual(len(self.patches()), 1)
        self.api.edit("sim-000", "gpu-operator", labels={CLIQUE: None})
        self.assertEqual(self.result(id)[0], DONE)
        self.assertTrue(self.clean())
        self.stop()

    def test_K04_K05_what_others_keep_costs_one_PATCH_and_is_awaited(self):
        self.carried()
        self.api.share("sim-000", "other", ("annotations", ASSIGNMENT))
        id = self.release(self.node(), seen=False)
        wait_for("the release", 5, self.patches)
        time.sleep(1)
        self.assertEqual(len(self.patches()), 1)
        looks = [r.time for r in self.api.asked(f"GET {NODES}/sim-000")]
        self.assertGreaterEqual(len(looks), 4)  # back-off, not a hot loop
        self.assertLessEqual(len(looks), 12)
        self.assertEqual(len(self.lines(msg="metadata conflict blocks cleanup",
                                        level="warn")), 1)
        self.api.edit("sim-000", "other", annotations={ASSIGNMENT: None})
        self.assertEqual(self.result(id)[0], DONE)
        self.assertEqual(len(self.patches()), 1)
        self.assertTrue(self.clean())
        self.stop()

    def test_4_4_9_labels_that_others_keep_are_awaited_too(self):
        self.carried()
        self.api.share("sim-000", "other", ("labels", CLIQUE))
        id = self.release(self.node(), seen=False)
        wait_for("the release", 5, self.patches)
        time.sleep(0.3)
        self.assertNotIn(ASSIGNMENT, self.node()["metadata"]["annotations"])
        self.assertEqual(len(self.patches()), 1)
        self.api.edit("sim-000", "other", labels={CLIQUE: None})
        self.assertEqual(self.result(id)[0], DONE)
        self.stop()

    def test_K06_what_the_feed_shows_is_told_when_others_keep_it(self):
        self.carried()
        self.api.share("sim-000", "other", ("annotations", ASSIGNMENT))
        outcome, version, reason = self.result(self.release(self.node()))
        self.assertEqual((outcome, reason), (KEPT, f"kept on the Node: {ASSIGNMENT} by other"))
        self.assertEqual(version, self.node()["metadata"]["resourceVersion"])
        self.stop()

    def test_K07_a_stop_ends_a_live_read_for_good(self):
        node = self.carried(live_node_get_timeout="1s")
        self.api.answer(f"GET {NODES}", api.stall)
        self.release(node, seen=False)
        wait_for("the read", 5, lambda: self.api.asked("GET"))
        self.stop()
        self.assertEqual(len(self.api.asked("GET")), 1)
        self.assertEqual(self.patches(), [])

    def test_K08_a_live_read_that_never_ends_is_made_again(self):
        node = self.carried(live_node_get_timeout="300ms")
        self.api.answer(f"GET {NODES}", api.stall, times=2)
        self.assertEqual(self.result(self.release(node, seen=False))[0], DONE)
        first, second, third = [r.time for r in self.api.asked("GET")]
        self.assertGreater(second - first, 0.29)
        self.assertGreater(third - second, 0.29)
        self.assertTrue(self.clean())
        self.stop()

    def test_4_4_4_another_bindings_projection_is_left_alone(self):
        node = self.carried()
        outcome, _, _ = self.result(self.release(node, text=binding(node, rack="s"), seen=False))
        self.assertEqual(outcome, DONE)
        self.assertEqual(self.patches(), [])
        self.assertFalse(self.clean())
        self.stop()

    def test_4_1_6_a_left_over_is_cleaned_unless_its_rack_is_there(self):
        node = self.carried()
        rack = self.rack({"nodes": [{"index": 0, "nodeRef": {
            "name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}}]})
        text = json.loads(binding(node))
        text["rack"]["uid"] = rack["metadata"]["uid"]
        self.assertEqual(self.result(self.release(
            node, text=json.dumps(text), stray=True))[0], CONFLICT)
        self.assertEqual(self.patches(), [])
        self.api.remove("sgpuracks", "demo-0")
        self.assertEqual(self.result(self.release(
            node, text=json.dumps(text), stray=True))[0], DONE)
        self.assertTrue(self.clean())
        self.stop()


class Racks(Writing):
    def test_M18_a_conflict_over_something_else_is_overcome(self):
        self.projector()
        seen = self.rack()
        self.rack(labels={"theirs": "new"})  # no new generation
        id = self.write_rack(seen, {"a": 1}, {"mokka.nvidia.com/rack-index": "0"})
        self.assertEqual(self.result(id)[0], DONE)
        rack = self.api.get("sgpuracks", "demo-0")
        self.assertEqual(rack["spec"], {"a": 1})
        self.assertEqual(rack["metadata"]["labels"], {
            "theirs": "new", "mokka.nvidia.com/rack-index": "0"})
        self.assertEqual([r.method for r in self.api.requests], ["PUT", "GET", "PUT"])
        self.stop()

    def test_5_3_another_spec_is_left_to_the_next_plan(self):
        self.projector()
        seen = self.rack()
        moved = self.api.put("sgpuracks", {"metadata": seen["metadata"], "spec": {"a": 7}})
        outcome, version, _ = self.result(self.write_rack(seen, {"a": 1}))
        self.assertEqual((outcome, version), (STALE, moved["metadata"]["resourceVersion"]))
        self.assertEqual(self.api.get("sgpuracks", "demo-0")["spec"], {"a": 7})
        self.stop()

    def test_B04_what_came_of_a_lost_answer_is_looked_at(self):
        """A create is not sent blindly again, an update neither."""
        self.projector()
        seen = self.rack()
        self.api.answer("POST", api.cut(0), times=1)
        self.api.answer("PUT", api.cut(0), times=1)
        created, written = self.create_rack(), self.write_rack(seen, {"a": 1})
        outcomes = {}
        while len(outcomes) < 2:
            found = self.link.wait("RESULT")
            outcomes[found.id] = found.fields
        for id, name in ((created, "demo-1"), (written, "demo-0")):
            meta = self.api.get("sgpuracks", name)["metadata"]
            self.assertEqual(outcomes[id][1:5],
                             [DONE, name, meta["uid"], meta["resourceVersion"]])
        # Two racks: which of them is first is nobody's promise.
        self.assertEqual(sorted(kind for _, kind, i in self.api.history["sgpuracks"]),
                         ["ADDED", "ADDED", "MODIFIED"])
        self.stop()

    def test_a_request_without_an_answer_ends_in_time_and_is_resolved(self):
        """Section 8: after lease duration less renew deadline."""
        self.projector(leader_election_lease_duration="11s",
                       leader_election_renew_deadline="10s")
        def late(exchange):
            self.api.route(exchange)  # carried out
            exchange.wait_closed()    # and never told
        seen = self.rack()
        self.api.answer("PUT", lambda exchange: (
            setattr(exchange, "send", lambda *a, **k: None), late(exchange)), times=1)
        began = time.monotonic()
        outcome, version, _ = self.result(self.write_rack(seen, {"a": 1}))
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assertEqual((outcome, version), (
            DONE, self.api.get("sgpuracks", "demo-0")["metadata"]["resourceVersion"]))
        self.assertEqual([r.method for r in self.api.requests], ["PUT", "PUT", "GET"])
        self.stop()

    def test_F03_a_delete_names_the_very_object(self):
        self.projector()
        rack = self.rack()
        meta = rack["metadata"]
        id = self.send("RACK_DELETE", ["demo-0", meta["uid"], meta["resourceVersion"]])
        self.assertEqual(self.result(id)[0], DONE)
        deleted, = self.api.asked("DELETE")
        version, = [v for v, kind, i in self.api.history["sgpuracks"] if kind == "MODIFIED"]
        self.assertEqual(deleted.json()["preconditions"],
                         {"uid": meta["uid"], "resourceVersion": str(version)})
        self.assertIsNone(self.api.get("sgpuracks", "demo-0"))
        self.link.send("WITHDRAW", RACK, "demo-0")
        again = self.rack()
        self.assertEqual(self.result(self.send(
            "RACK_DELETE", ["demo-0", meta["uid"], meta["resourceVersion"]]))[0], GONE)
        self.assertEqual(self.api.get("sgpuracks", "demo-0"), again)
        self.stop()

    def test_F04_E11_finalizers_of_others_stay(self):
        self.projector()
        item = self.api.get("sgpuinventories", "demo")
        self.api.put("sgpuinventories", {**item, "metadata": {
            **item["metadata"], "finalizers": ["a/b", CLEANUP, "foregroundDeletion"],
            "deletionTimestamp": "2026-01-01T00:00:00Z"}})
        meta = self.api.get("sgpuinventories", "demo")["metadata"]
        target = ["demo", meta["uid"], meta["resourceVersion"]]
        # One that somebody takes off between our read and our write.
        def meanwhile(exchange):
            self.api.put("sgpuinventories", {**self.api.get("sgpuinventories", "demo"),
                         "metadata": {**self.api.get("sgpuinventories", "demo")["metadata"],
                                      "finalizers": [CLEANUP, "foregroundDeletion"]}})
            exchange.serve()
        self.api.answer(f"PUT {INVENTORY}", meanwhile, times=1)
        self.assertEqual(self.result(self.send("FINALIZER", target, CLEANUP, False))[0], DONE)
        meta = self.api.get("sgpuinventories", "demo")["metadata"]
        self.assertEqual(meta["finalizers"], ["foregroundDeletion"])
        # Nothing new goes onto an object that is being deleted.
        self.assertEqual(self.result(self.send("FINALIZER", target, CLEANUP, True))[0], STALE)
        puts = self.api.asked("PUT")
        self.assertEqual([r.status for r in puts], [409, 200])
        self.assertTrue(all(r.json()["metadata"]["resourceVersion"] for r in puts))  # E10
        self.assertTrue(all(r.query == {} for r in puts))
        self.stop()

    def test_D06_a_live_rack_keeps_the_finalizer(self):
        self.projector()
        item = self.api.get("sgpuinventories", "demo")
        self.api.put("sgpuinventories", {**item, "metadata": {
            **item["metadata"], "finalizers": [CLEANUP],
            "deletionTimestamp": "2026-01-01T00:00:00Z"}})
        meta = self.api.get("sgpuinventories", "demo")["metadata"]
        owner = {"apiVersion": api.GROUP, "kind": "SGPUInventory", "name": "demo",
                 "uid": meta["uid"], "controller": True}
        self.rack(ownerReferences=[owner])
        id = self.send("FINALIZER", ["demo", meta["uid"], meta["resourceVersion"]],
                       CLEANUP, False)
        wait_for("looks", 5, lambda: len(self.api.asked(f"GET {RACKS}?labelSelector=")) >= 3)
        self.assertEqual(self.api.asked("PUT"), [])
        self.assertEqual(self.lines(level="error"), [])
        # Who waits for long says so, once.
        said, = wait_for("a line", 15, lambda: self.lines(level="warn"))
        self.assertEqual(said["msg"], "inventory waits for its racks to go")
        self.assertIn("demo-0", said["reason"])
        self.api.remove("sgpuracks", "demo-0")
        self.assertEqual(self.result(id)[0], DONE)
        self.assertEqual(len(self.lines(level="warn")), 1)
        self.assertIsNone(self.api.get("sgpuinventories", "demo"))
        self.stop()


class Status(Writing):
    def inventory(self, **status):
        item = self.api.get("sgpuinventories", "demo")
        return self.api.put("sgpuinventories", {**item, "status": status})

    @staticmethod
    def condition(status, reason, message, at="2026-01-01T00:00:00Z"):
        return {"type": "Ready", "status": status, "reason": reason, "message": message,
                "observedGeneration": 1, "lastTransitionTime": at}

    def test_I11_G01_the_time_of_a_condition_moves_with_status_and_reason_only(self):
        self.projector()
        item = self.inventory(conditions=[self.condition("False", "A", "old")])
        for reason, message, moves in (("A", "new", False), ("A", "newer", False),
                                       ("B", "newer", True)):
            id = self.status(item, INVENTORY_STATUS, {"n": 1},
                             ["Ready", "False", reason, message, 1])
            self.assertEqual(self.result(id)[0], DONE)
            item = self.api.get("sgpuinventories", "demo")
            said, = item["status"]["conditions"]
            self.assertEqual((said["reason"], said["message"]), (reason, message))
            self.assertEqual(said["lastTransitionTime"] != "2026-01-01T00:00:00Z", moves)
        # G07: whole seconds, Z, now.
        time.strptime(said["lastTransitionTime"], "%Y-%m-%dT%H:%M:%SZ")
        self.stop()

    def test_E08_a_status_goes_to_the_status(self):
        self.projector()
        rack = self.rack()
        self.assertEqual(self.result(self.status(rack, RACK_STATUS, {"n": 1}))[0], DONE)
        put, = self.api.asked("PUT")
        self.assertEqual(put.target, f"{RACKS}/demo-0/status")
        self.assertEqual(self.api.get("sgpuracks", "demo-0")["status"], {"n": 1})
        self.result(self.write_rack(self.api.get("sgpuracks", "demo-0"), {"a": 1}))
        self.assertNotIn("status", self.api.asked("PUT")[1].json())
        self.stop()

    def test_W01_any_number_of_changes_within_the_quiet_time_is_one_write(self):
        self.projector(status_debounce="1s", status_progress_interval="30s")
        item = self.inventory()
        meta = item["metadata"]
        target = [meta["name"], meta["uid"], meta["resourceVersion"]]
        data = b"".join(frame("STATUS_WRITE", target, INVENTORY_STATUS,
                              json.dumps({"n": number}), [], id=number)
                        for number in range(100000))
        self.link.send_bytes(data)
        self.assertEqual(self.result(99999)[0], DONE)
        self.assertEqual(len(self.api.asked("PUT")), 1)
        self.assertEqual(self.api.get("sgpuinventories", "demo")["status"], {"n": 99999})
        self.stop()

    def test_W02_an_endless_stream_is_written_now_and_then_and_the_last_always(self):
        self.projector(status_debounce="200ms", status_progress_interval="500ms")
        item = self.inventory()
        end = time.monotonic() + 2.2
        count = 0
        while time.monotonic() < end:
            count += 1
            last = self.status(item, INVENTORY_STATUS, {"n": count})
            time.sleep(0.02)
        while self.link.wait("RESULT").id != last:
            pass
        puts = self.api.asked("PUT")
        self.assertGreaterEqual(len(puts), 4)
        self.assertLessEqual(len(puts), 7)
        self.assertEqual(self.api.get("sgpuinventories", "demo")["status"], {"n": count})
        self.stop()

    def test_W04_without_a_quiet_time_it_is_written_at_once(self):
        self.projector(status_debounce="0s")
        item = self.inventory()
        for number in range(5):
            self.assertEqual(self.result(self.status(
                item, INVENTORY_STATUS, {"n": number}))[0], DONE)
        self.assertEqual(len(self.api.asked("PUT")), 5)
        self.stop()

    def test_W08_what_stands_is_read_and_not_written(self):
        self.projector()
        rack = self.rack()
        self.api.put("sgpuracks", {**rack, "status": {"n": 1}})
        self.assertEqual(self.result(self.status(rack, RACK_STATUS, {"n": 1}))[0], DONE)
        self.assertEqual([r.method for r in self.api.requests], ["GET"])
        self.stop()

    def test_W10_a_conflict_has_the_live_status_looked_at_first(self):
        self.projector()
        item = self.inventory(conditions=[])

        def meanwhile(exchange):
            self.inventory(n=0, conditions=[self.condition("True", "A", "theirs")])
            exchange.serve()
        self.api.answer("PUT", meanwhile, times=1)
        id = self.status(item, INVENTORY_STATUS, {"n": 1}, ["Ready", "True", "A", "ours", 1])
        self.assertEqual(self.result(id)[0], DONE)
        said, = self.api.get("sgpuinventories", "demo")["status"]["conditions"]
        self.assertEqual((said["message"], said["lastTransitionTime"]),
                         ("theirs", "2026-01-01T00:00:00Z"))
        self.assertEqual([r.method for r in self.api.requests], ["GET", "PUT", "GET", "PUT"])
        self.stop()

    def test_W11_a_rack_that_went_or_came_anew_is_no_failure(self):
        self.projector()
        old = self.rack()
        self.api.remove("sgpuracks", "demo-0")
        self.assertEqual(self.result(self.status(old, RACK_STATUS, {"n": 1}))[0], GONE)
        self.rack()
        self.assertEqual(self.result(self.status(old, RACK_STATUS, {"n": 2}))[0], GONE)
        self.assertEqual(self.api.asked("PUT"), [])
        self.assertEqual(self.lines(level="error") + self.lines(level="warn"), [])
        self.stop()

    def test_Q06_a_status_that_failed_keeps_its_back_off_and_later_changes(self):
        self.projector()
        item = self.inventory()
        self.api.answer("PUT", api.status(500), times=5)
        first = self.status(item, INVENTORY_STATUS, {"n": 1})
        wait_for("two tries", 5, lambda: len(self.api.asked("PUT")) >= 2)
        last = self.status(item, INVENTORY_STATUS, {"n": 2})
        self.assertNotEqual(first, last)
        self.assertEqual(self.result(last)[0], DONE)
        times = [r.time for r in self.api.asked("PUT")]
        self.assertEqual(len(times), 6)
        self.assertGreater(times[5] - times[4], 0.075)  # 5 ms, doubled four times
        self.assertEqual(self.api.get("sgpuinventories", "demo")["status"], {"n": 2})
        self.stop()

    def test_G07_a_failure_is_one_line_with_error_and_key(self):
        self.projector()
        rack = self.rack()
        self.api.answer("PUT", api.status(500, "InternalError", "disk\nfull"), times=1)
        self.assertEqual(self.result(self.write_rack(rack, {"a": 1}))[0], DONE)
        said, = self.lines(msg="reconciliation failed")
        self.assertEqual(said["level"], "error")
        self.assertEqual(said["key"], f"rack demo-0 ({rack['metadata']['uid']})")
        for word in ("PUT", f"{RACKS}/demo-0", "500", "disk"):
            self.assertIn(word, said["error"])
        self.assertNotIn("\n", said["error"])
        self.stop()


class Pace(Writing):
    def test_Q03_what_waits_is_not_sent_once_the_term_is_over(self):
        self.projector(100)
        self.api.answer("PATCH", slow(0.3))
        for number in range(100):
            self.apply(self.node(number))
        wait_for("the first", 5, self.patches)
        self.worker.control.send("TERM_ENDED", 1, "why")
        self.worker.control.wait_read()
        time.sleep(0.1)
        asked = len(self.patches())
        self.assertLess(asked, 70)
        time.sleep(1)
        self.assertEqual(len(self.patches()), asked)
        self.stop()

    def test_Q07_the_end_waits_for_writes_under_way(self):
        self.projector(8)
        self.api.answer("PATCH", slow(0.7))
        for number in range(8):
            self.apply(self.node(number))
        wait_for("the writes", 5, lambda: len(self.patches()) == 8)
        self.worker.control.send("STOP")
        time.sleep(0.3)
        self.assertNotIn("BYE", [f.name for f in self.worker.control.now()])
        self.worker.control.wait("BYE")
        self.assertTrue(all(r.status == 200 for r in self.patches()))
        self.assertEqual(self.worker.wait(), 0)

    def test_one_request_in_flight_for_each_object(self):
        self.projector()
        busy, most = [0], [0]
        lock = threading.Lock()

        def counted(exchange):
            with lock:
                busy[0] += 1
                most[0] = max(most[0], busy[0])
            time.sleep(0.05)
            exchange.serve()
            with lock:
                busy[0] -= 1
        for method in ("GET", "PUT"):
            self.api.answer(f"{method} {RACKS}", counted)
        rack = self.rack()
        for number in range(10):
            self.write_rack(rack, {"a": number})
            self.status(rack, RACK_STATUS, {"n": number})
        wait_for("the last", 10, lambda: self.api.get("sgpuracks", "demo-0").get(
            "status") == {"n": 9})
        self.assertEqual(most[0], 1)
        self.stop()

    def test_8_a_rate_that_is_given_is_kept(self):
        self.projector(60, kube_api_qps="40", kube_api_burst="10")
        for number in range(60):
            self.apply(self.node(number))
        for _ in range(60):
            self.assertEqual(self.result()[0], DONE)
        times = [r.time for r in self.patches()]
        self.assertGreater(times[-1] - times[0], 50 / 40 * 0.95)
        self.stop()

    def test_B01_a_429_waits_as_long_as_it_says(self):
        self.projector(20)
        self.api.answer("PATCH", api.status(429, "TooManyRequests", retry_after=1), times=1)
        for number in range(20):
            self.apply(self.node(number))
        for _ in range(20):
            self.assertEqual(self.result()[0], DONE)
        times = sorted(r.time for r in self.patches())
        refused, = [r.time for r in self.patches() if r.status == 429]
        # Nobody goes on meanwhile, but what was under way.
        self.assertEqual([t for t in times if refused + 0.2 < t < refused + 1], [])
        self.assertGreater(times[-1] - refused, 1)
        self.stop()

    def test_B03_a_server_that_goes_is_left_for_another_connection(self):
        self.projector(3)
        ports = []

        def going(exchange):
            ports.append(exchange.connection.getpeername()[1])
            exchange.send(429, json.dumps(api.failure(429, "TooManyRequests")),
                          headers={"Retry-After": "0", "Connection": "close"})
            exchange.close()

        def stays(exchange):
            ports.append(exchange.connection.getpeername()[1])
            exchange.serve()
        self.api.answer("PATCH", stays)
        self.api.answer("PATCH", going, times=1)
        self.assertEqual(self.result(self.apply(self.node()))[0], DONE)
        self.assertEqual(len(ports), 2)
        self.assertNotEqual(ports[0], ports[1])
        self.stop()

    def test_a_kept_connection_that_was_closed_is_nobodys_failure(self):
        """The server closes idle connections, with and without a word: no line
        above debug, one request in the end."""
        self.projector(40)

        seen = set()

        def closing(exchange):
            exchange.serve()
            exchange.close()  # without Connection: close

        def resetting(exchange):
            # What comes second on a connection is read, and the end of it.
            if exchange.connection in seen:
                exchange.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                exchange.close()
                return
            seen.add(exchange.connection)
            exchange.serve()
        for number in range(40):
            if number % 20 == 0:
                self.api.answer("PATCH", closing if number == 0 else resetting)
            self.apply(self.node(number))
            if number % 4 == 3:
                time.sleep(0.05)
        for _ in range(40):
            self.assertEqual(self.result()[0], DONE)
        self.assertEqual(self.lines(level="error") + self.lines(level="warn"), [])
        changes = [i["metadata"]["name"] for _, kind, i in self.api.history["nodes"]
                   if kind == "MODIFIED"]
        self.assertEqual(len(changes), 40)
        self.assertGreater(len(self.patches()), 40)
        self.stop()

    def test_8_one_lost_answer_is_no_error_and_two_are(self):
        self.projector(2)
        self.api.answer(f"PATCH {NODES}/sim-000", api.raw(b""), times=1)
        self.assertEqual(self.result(self.apply(self.node(0)))[0], DONE)
        self.assertEqual(self.lines(level="error"), [])
        # A kept connection takes one without a word, a lost answer another.
        self.api.answer(f"PATCH {NODES}/sim-001", api.raw(b""), times=3)
        self.assertEqual(self.result(self.apply(self.node(1)))[0], DONE)
        said, = self.lines(level="error")
        self.assertIn("closed before the answer", said["error"])
        self.stop()

    def test_A18_what_stands_already_is_not_sent_again(self):
        """An intent decided before its echo is answered from memory."""
        self.projector()
        rack = self.rack()
        first = self.result(self.write_rack(rack, {"a": 1}))
        self.assertEqual(self.result(self.write_rack(rack, {"a": 1})), first)
        self.assertEqual(len(self.api.asked("PUT")), 1)
        self.stop()

    def test_H03_what_is_no_UTF_8_is_not_sent(self):
        self.projector()
        item = self.api.get("sgpuinventories", "demo")
        self.status(item, INVENTORY_STATUS, {"n": 1},
                    ["Ready", "True", "A", b"\xff".decode(errors="surrogateescape"), 1])
        wait_for("an answer", 5, lambda: self.link.now()
                 or not self.worker.alive() or self.api.asked("PUT"))
        self.assertTrue(self.worker.alive())
        for put in self.api.asked("PUT"):
            put.body.decode()

    def test_I08_a_projector_with_nothing_to_do_sleeps(self):
        self.projector()
        self.assertEqual(self.result(self.apply(self.node()))[0], DONE)
        time.sleep(0.7)

        def cpu():
            fields = pathlib.Path(f"/proc/{self.worker.pid}/stat").read_text().split()
            return int(fields[13]) + int(fields[14])
        before = cpu()
        time.sleep(1)
        self.assertLessEqual(cpu() - before, 2)  # of 100 ticks
        self.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
