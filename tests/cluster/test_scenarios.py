# SPDX-License-Identifier: Apache-2.0
"""Scenarios on a real API server: what is asked of it, counted in its audit
log, and what stands in the end.  Each has objects of its own and leaves none."""

import collections
import copy
import hashlib
import re
import struct
import time
import unittest

import harness
from harness import GROUP, ControlPlane, wait_for

POOL = "mokka.nvidia.com/pool"
ELIGIBLE = "mokka.nvidia.com/sgpu-node"
KEEP = "example.com/keep"
NODES = "/api/v1/nodes"
PROFILES = f"{GROUP}/sgpurackprofiles"
INVENTORIES = f"{GROUP}/sgpuinventories"
RACKS = f"{GROUP}/sgpuracks"
SINGULAR = {"sgpuracks": "rack", "sgpuinventories": "inventory", "nodes": "node"}


def group(name, count, pool, profile="p"):
    """Of a profile and a pool of this test's."""
    return {"id": name, "count": count, "profileRef": {"name": profile},
            "placement": {"nodeSelector": {"matchLabels": {POOL: pool}}}}


def rack_name(inventory, name, index):
    """That of a rack, by the uid of its inventory."""
    text = b"".join(struct.pack(">I", len(part)) + part.encode()
                    for part in (inventory["metadata"]["uid"], name))
    suffix = hashlib.sha256(text + struct.pack(">I", index)).hexdigest()[:12]
    return f"{inventory['metadata']['name']}-{name}-{index}-{suffix}"


GPU = {"index": 0, "uuid": "GPU-00000000-0000-5000-8000-000000000000", "serial": "0",
       "minorNumber": 0, "pciAddress": "0000:01:00.0", "rootComplex": "pci0000:00",
       "numaNode": 0, "hostProcessorIndex": 0}


def rack_of(inventory, name, nodes):
    """A rack of an inventory that is not there."""
    owner = {"name": inventory, "uid": f"{inventory}-uid"}
    return {
        "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPURack",
        "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
            "controller": True, **owner}]},
        "spec": {"inventoryRef": owner, "nodes": nodes,
                 "profileRef": {"name": "p", "uid": "u", "generation": 1,
                                "revision": "0" * 64},
                 "identity": {"rackGroup": "a", "rackIndex": 0, "cliqueID": 0,
                              "fabricUUID": "00000000-0000-5000-8000-000000000000"}}}


class Scenarios(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()
        cls.api = cls.cluster.api
        cls.plane = ControlPlane(cls.cluster, "--status-debounce", "20ms",
                                 "--status-progress-interval", "100ms",
                                 "--log-level", "debug")
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.wait_ready()

    def setUp(self):
        # test_M01_M02_racks: everything of it is called m01-...
        self.key = self.id().split(".test_")[1].split("_")[0].lower()
        self.addCleanup(self.clear)
        self.mark = self.cluster.mark()

    # Objects

    def name(self, short):
        return f"{self.key}-{short}"

    def clear(self):
        """Removes what is left, the inventories first."""
        kinds = INVENTORIES, RACKS, NODES, PROFILES
        for path in kinds:
            for item in self.api.items(path):
                self.strip(path, item)
        for path in kinds:
            for item in self.api.items(path):
                try:
                    self.api.delete(f"{path}/{item['metadata']['name']}")
                except harness.Refused:
                    pass  # gone meanwhile
            try:
                wait_for(f"the end of {path}", 10, lambda p=path: not self.api.items(p))
            except AssertionError:
                self.cluster.reset()  # for the tests that follow
                raise

    def strip(self, path, item):
        """Takes our own finalizer off, the one that no control plane does."""
        if KEEP in item["metadata"].get("finalizers", []):
            self.keep(f"{path}/{item['metadata']['name']}", False)

    def keep(self, path, yes):
        """Puts a finalizer of ours on an object, or takes it off."""
        while True:
            item = self.api.get(path)
            finalizers = [f for f in item["metadata"].get("finalizers", []) if f != KEEP]
            item["metadata"]["finalizers"] = finalizers + [KEEP] * yes
            try:
                return self.api.ask("PUT", path, item)
            except harness.Refused as refused:
                if refused.status != 409:
                    raise

    def profile(self, short="p", nodes=2, **gpus):
        return self.api.create(PROFILES, {
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPURackProfile",
            "metadata": {"name": self.name(short)},
            "spec": {"rack": {"nodesPerRack": nodes}, "node": {
                "gpus": {"count": 1, "model": {}, "memory": {"capacity": "1Gi"},
                         "pci": {}, **gpus},
                "topology": {"gpuSlots": [{"index": 0, "pciAddress": "0000:01:00.0",
                                           "rootComplex": "pci0000:00"}]}}}})

    def inventory(self, short, *groups, **meta):
        return self.api.create(INVENTORIES, {
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
            "metadata": {"name": self.name(short), **meta},
            "spec": {"rackGroups": self.own(groups)}})

    def own(self, groups):
        groups = copy.deepcopy(list(groups))
        for item in groups:
            item["profileRef"]["name"] = self.name(item["profileRef"]["name"])
        return groups

    def edit(self, short, change):
        """Changes the spec of an inventory; whoever else writes goes first."""
        path = f"{INVENTORIES}/{self.name(short)}"
        while True:
            item = self.api.get(path)
            change(item["spec"])
            try:
                return self.api.ask("PUT", path, item)
            except harness.Refused as refused:
                if refused.status != 409:
                    raise

    def count(self, short, racks):
        self.edit(short, lambda spec: spec["rackGroups"][0].update(count=racks))

    def nodes(self, pool, *shorts):
        for short in shorts:
            self.api.create(NODES, {
                "apiVersion": "v1", "kind": "Node", "metadata": {
                    "name": self.name(short),
                    "labels": {ELIGIBLE: "true", POOL: pool}}})

    def label(self, short, **labels):
        self.api.merge(f"{NODES}/{self.name(short)}", {"metadata": {
            "labels": {{"pool": POOL, "eligible": ELIGIBLE,
                        "assigned": harness.ASSIGNED}[k]: v for k, v in labels.items()}}})

    def racks(self, short="lab"):
        """{(group, index): rack} of an inventory."""
        return {(r["spec"]["identity"]["rackGroup"], r["spec"]["identity"]["rackIndex"]): r
                for r in self.api.items(RACKS)
                if r["spec"]["inventoryRef"]["name"] == self.name(short)}

    def bound(self, short="lab"):
        """{"a/0": "n1 -"}"""
        cut = len(self.key) + 1
        return {f"{name}/{index}": " ".join(
            slot["nodeRef"]["name"][cut:] if "nodeRef" in slot else "-"
            for slot in rack["spec"]["nodes"])
            for (name, index), rack in self.racks(short).items()}

    def stands(self, short="lab"):
        """{condition: "True Reason"}, of the present generation."""
        item = self.api.get(f"{INVENTORIES}/{self.name(short)}")
        return {c["type"]: f"{c['status']} {c['reason']}"
                for c in item.get("status", {}).get("conditions", [])
                if c["observedGeneration"] == item["metadata"]["generation"]}

    def ready(self, rack):
        condition, = rack["status"]["conditions"]
        return f"{condition['status']} {condition['reason']}"

    def usage(self, short="lab"):
        """requested, allocated, available, pending"""
        usage = self.api.get(f"{INVENTORIES}/{self.name(short)}")["status"]["usage"]
        return tuple(usage[f"{word}Nodes"]
                     for word in ("requested", "allocated", "available", "pending"))

    # The witness

    def asked(self, *verbs):
        """The requests since the mark, but watches and those of the Lease."""
        return [e for e in self.cluster.audit(self.mark)
                if e["objectRef"]["resource"] != "leases" and e["verb"] != "watch"
                and e["objectRef"]["resource"] != "events"
                and (not verbs or e["verb"] in verbs)]

    def settle(self, quiet=0.3):
        """Until nothing is asked for a while."""
        wait_for("quiet", 20, lambda: self.is_quiet(quiet))

    def is_quiet(self, seconds):
        before = len(self.asked())
        time.sleep(seconds)
        return len(self.asked()) == before

    def told(self):
        """What was written since the mark, statuses apart: {"patch node n1": 1}."""
        found = collections.Counter()
        for event in self.asked(*harness.WRITES):
            target = event["objectRef"]
            if "subresource" in target or event["responseStatus"]["code"] >= 300:
                continue
            name = target.get("name") or harness.name_in_uri(event)
            name = re.sub("-[0-9a-f]{12}$", "", name).removeprefix(f"{self.key}-")
            found[f"{event['verb']} {SINGULAR[target['resource']]} {name}"] += 1
        return dict(found)

    def expect(self, wanted, question):
        """Asks until the answer is that."""
        try:
            wait_for(wanted, 10, lambda: question() == wanted)
        except AssertionError:
            self.assertEqual(question(), wanted, self.plane.tail(8))

    def assert_told(self, *lines):
        """Just this was written, each line so often, and then it is quiet; anew."""
        wanted = dict(collections.Counter(lines))
        self.expect(wanted, self.told)
        self.settle()
        self.assertEqual(self.told(), wanted, self.plane.tail(8))
        self.mark = self.cluster.mark()

    def assert_stands(self, short="lab", **wanted):
        """Conditions, in time."""
        self.expect(wanted, lambda: {
            kind: text for kind, text in self.stands(short).items() if kind in wanted})

    def is_fine(self, short):
        item = self.api.get(f"{INVENTORIES}/{self.name(short)}")
        return harness.all_true(item, 4) and all(
            harness.all_true(rack, 1) for rack in self.racks(short).values())

    def converge(self, *shorts):
        """Until all is as it should be, and it is quiet; anew."""
        for short in shorts or ("lab",):
            self.expect(True, lambda s=short: self.is_fine(s))
        self.settle()
        self.mark = self.cluster.mark()

    def begin(self, *nodes, racks=2):
        """Racks of two for a pool of this test's."""
        self.profile()
        self.nodes(self.key, *nodes)
        self.inventory("lab", group("a", racks, self.key))
        self.converge()

    # Materialising racks

    def test_M01_racks_are_made_and_filled(self):
        self.profile()
        self.nodes(self.key, "n1", "n2", "n3")
        lab = self.inventory("lab", group("a", 2, self.key))
        self.assert_told("update inventory lab", "create rack lab-a-0", "create rack lab-a-1",
                         "patch node n1", "patch node n2", "patch node n3")
        self.expect({"a/0": "n1 n2", "a/1": "n3 -"}, self.bound)
        for (name, index), rack in self.racks().items():
            meta = rack["metadata"]
            self.assertEqual(meta["name"], rack_name(lab, name, index))
            self.assertEqual(meta["finalizers"], ["mokka.nvidia.com/rack-cleanup"])
            self.assertEqual(meta["labels"], {
                "mokka.nvidia.com/inventory": lab["metadata"]["name"],
                "mokka.nvidia.com/rack-group": "a",
                "mokka.nvidia.com/rack-index": str(index)})
            self.assertEqual(meta["annotations"], {
                "mokka.nvidia.com/inventory-uid": lab["metadata"]["uid"]})
            self.assertEqual(meta["ownerReferences"], [{
                "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
                "name": lab["metadata"]["name"], "uid": lab["metadata"]["uid"],
                "controller": True, "blockOwnerDeletion": False}])

    def test_M02_E02_what_leads_to_nothing(self):
        self.begin("n1", "n2", "n3")
        for number in range(2):
            mark = {"metadata": {"annotations": {"example.com/mark": str(number)}}}
            for rack in self.racks().values():
                self.api.merge(f"{RACKS}/{rack['metadata']['name']}", mark)
            self.api.merge(f"{INVENTORIES}/{self.name('lab')}", mark)
            self.api.merge(f"{PROFILES}/{self.name('p')}", mark)
            self.api.merge(f"{NODES}/{self.name('n1')}", {"spec": {"taints": [
                {"key": "example.com/mark", "value": str(number), "effect": "NoSchedule"}]}})
            self.api.merge(f"{NODES}/{self.name('n2')}/status", {"status": {"conditions": [
                {"type": "Mark", "status": "True", "reason": f"R{number}"}]}})
        for rack in self.racks().values():
            self.keep(f"{RACKS}/{rack['metadata']['name']}", True)
        self.settle()
        self.assertEqual(self.asked(), [])
        generation, _ = self.plane.kill("placer")
        self.plane.wait_back("placer", generation)
        self.settle()
        self.assertEqual(self.asked(), [])

    def test_M03_a_newcomer_moves_nobody(self):
        self.begin("n1", "n2", "n3")
        self.nodes(self.key, "n0")
        self.assert_told("update rack lab-a-1", "patch node n0")
        self.expect({"a/0": "n1 n2", "a/1": "n3 n0"}, self.bound)
        self.nodes(self.key, "n00")
        self.assert_told()
        self.expect((5, 4, 0, 1), self.usage)
        self.assert_stands(RequestsSatisfied="False PendingNodes")

    def test_M04_one_request_for_each_missing_rack(self):
        self.profile()
        self.inventory("lab", group("a", 8, self.key),
                       finalizers=["mokka.nvidia.com/inventory-cleanup"])
        self.settle()
        creates = self.asked("create")
        self.assertTrue(all("fieldManager=mokka-controller" in e["requestURI"]
                            for e in creates))
        # What is read belongs to a status.
        statuses = [e for e in self.asked("update") if "subresource" in e["objectRef"]]
        self.assertLessEqual(len(self.asked("get")), len(statuses) + 1)
        self.assert_told(*(f"create rack lab-a-{i}" for i in range(8)))
        for rack in self.racks().values():
            owner, = rack["metadata"]["ownerReferences"]
            self.assertIs(owner["blockOwnerDeletion"], False)

    def test_M05_a_name_that_is_no_label_value(self):
        self.profile()
        short = "x" * 64
        lab = self.inventory(short, group("a", 1, self.key))
        self.converge(short)
        rack, = self.racks(short).values()
        self.assertEqual(rack["metadata"]["labels"], {
            "mokka.nvidia.com/rack-group": "a", "mokka.nvidia.com/rack-index": "0"})
        self.assertEqual(rack["metadata"]["annotations"], {
            "mokka.nvidia.com/inventory-uid": lab["metadata"]["uid"]})

    def test_M06_one_revision_for_each_profile(self):
        first = self.profile()
        other = self.profile("q", nodes=1)
        self.inventory("lab", group("a", 1, "x"), group("b", 1, "y"), group("c", 1, "z", "q"))
        self.converge()
        refs = {key[0]: rack["spec"]["profileRef"] for key, rack in self.racks().items()}
        self.assertEqual(refs["a"], refs["b"])
        self.assertNotEqual(refs["a"]["revision"], refs["c"]["revision"])
        self.assertEqual((refs["a"]["uid"], refs["c"]["uid"]),
                         (first["metadata"]["uid"], other["metadata"]["uid"]))

    def test_M07_a_missing_profile_stops_its_group_only(self):
        self.profile()
        self.inventory("lab", group("a", 3, "x", "none"), group("b", 2, "y"))
        self.assert_told("update inventory lab", "create rack lab-b-0", "create rack lab-b-1")
        self.assert_stands(ResolvedRefs="False ProfileNotFound")

    def test_M11_selectors_on_projected_labels(self):
        self.begin("n1", "n2")
        for key in harness.ASSIGNED, harness.CLIQUE:
            self.edit("lab", lambda spec, k=key: spec["rackGroups"][0]["placement"].update(
                nodeSelector={"matchExpressions": [{"key": k, "operator": "Exists"}]}))
            self.assert_told()
            self.assert_stands(Accepted="False InvalidInventory")
            message = self.cluster.condition(self.name("lab"), "Accepted")["message"]
            self.assertIn(key, message)
            self.assertIn("group a", message)
        self.expect({"a/0": "n1 n2", "a/1": "- -"}, self.bound)
        self.assertEqual(len(self.cluster.projected()), 2)

    def test_M12_a_profile_that_is_made_anew(self):
        self.begin("n1", "n2", "n3")
        before = self.bound()
        self.api.delete(f"{PROFILES}/{self.name('p')}")
        self.assert_told()
        self.assert_stands(ResolvedRefs="False ProfileNotFound")
        anew = self.profile(memory={"capacity": "2Gi"})
        self.assert_told("update rack lab-a-0", "update rack lab-a-1",
                         "patch node n1", "patch node n2", "patch node n3")
        self.assertEqual(self.bound(), before)
        self.assertEqual({r["spec"]["profileRef"]["uid"] for r in self.racks().values()},
                         {anew["metadata"]["uid"]})

    def test_M13_a_profile_edit_updates_every_rack(self):
        self.begin("n1", "n2", "n3")
        before = self.racks()
        self.api.merge(f"{PROFILES}/{self.name('p')}", {"spec": {"node": {"gpus": {
            "model": {"product": "new"}}}}})
        self.assert_told("update rack lab-a-0", "update rack lab-a-1",
                         "patch node n1", "patch node n2", "patch node n3")
        for key, rack in self.racks().items():
            self.assertEqual(rack["metadata"]["uid"], before[key]["metadata"]["uid"])
            self.assertEqual(rack["spec"]["nodes"], before[key]["spec"]["nodes"])
            self.assertEqual(rack["spec"]["profileRef"]["generation"], 2)

    def test_M24_a_deleted_rack_is_made_again(self):
        self.begin("n1", "n2")
        rack = self.racks()["a", 0]
        self.api.delete(f"{RACKS}/{rack['metadata']['name']}")
        self.settle()
        told = self.told()
        # Drained and bound anew: two changes of each Node.
        self.assertEqual((told["patch node n1"], told["patch node n2"],
                          told["create rack lab-a-0"]), (2, 2, 1),
                         told)
        self.expect({"a/0": "n1 n2", "a/1": "- -"}, self.bound)
        again = self.racks()["a", 0]
        self.assertNotEqual(again["metadata"]["uid"], rack["metadata"]["uid"])
        self.assertEqual(again["metadata"]["name"], rack["metadata"]["name"])
        self.assertEqual(again["spec"]["identity"], rack["spec"]["identity"])

    # Capacity admission

    def test_A02_A03_more_than_the_envelope(self):
        self.profile(nodes=11)
        self.inventory("racks", group("a", 100000, "x"), group("b", 1, "y"))
        self.inventory("nodes", group("a", 9091, "x"))
        self.inventory("none", group("a", 100000, "x", "none"), group("b", 1, "y"))
        self.assert_told()
        for short in "racks", "nodes", "none":
            self.assert_stands(short, Accepted="False CapacityExceeded")
            status = self.api.get(f"{INVENTORIES}/{self.name(short)}")["status"]
            self.assertEqual(status["capacity"], {"racks": 0, "nodes": 0, "gpus": 0})

    def test_A07_sixty_four_groups(self):
        self.inventory("old", *(group(f"g{i}", 1, "x", "none") for i in range(64)))
        time.sleep(1.1)  # ages are of whole seconds
        self.inventory("new", group("a", 1, "x", "none"))
        self.settle()
        self.assert_stands("old", Accepted="True Accepted")
        self.assert_stands("new", Accepted="False CapacityExceeded")
        self.api.delete(f"{INVENTORIES}/{self.name('old')}")
        self.settle()
        self.assert_stands("new", Accepted="True Accepted")

    def test_A08_A09_equal_ages(self):
        """Of two of one second the name decides, and the other one's rack drains."""
        groups = [group(f"g{i}", 1, "x", "none") for i in range(39)]
        while True:
            self.profile()
            self.nodes(self.key, "n1")
            time.sleep(1 - time.time() % 1)  # a whole second for both
            self.mark = self.cluster.mark()
            second = self.inventory("b", group("a", 1, self.key), *groups)
            wait_for("its rack", 10, lambda: self.racks("b"))
            first = self.inventory("a", *groups)
            if len({i["metadata"]["creationTimestamp"] for i in (first, second)}) == 1:
                break
            self.clear()
        self.assert_stands("a", Accepted="True Accepted")
        self.assert_stands("b", Accepted="False CapacityExceeded")
        self.settle()
        self.assertEqual(self.racks("b"), {})
        self.assertEqual(self.cluster.projected(), [])
        self.assertEqual(self.told()["delete rack b-a-0"], 1)

    # Retirement, finalizers, deletion

    def test_D02_a_bound_slot_outlives_its_profile(self):
        self.begin("n1", "n2", racks=1)
        self.api.merge(f"{PROFILES}/{self.name('p')}", {"spec": {"rack": {"nodesPerRack": 1}}})
        self.settle()
        self.expect({"a/0": "n1"}, self.bound)
        told = self.told()
        self.assertEqual(told["patch node n2"], 1)
        cleaned, = [e for e in self.asked("patch")
                    if e["objectRef"]["name"] == self.name("n2")]
        last = [e for e in self.asked("update") if e["objectRef"]["resource"] == "sgpuracks"
                and "subresource" not in e["objectRef"]][-1]
        self.assertLess(cleaned["stageTimestamp"], last["requestReceivedTimestamp"])
        self.expect((2, 1, 0, 1), self.usage)

    def test_D03_a_group_that_is_removed(self):
        self.profile()
        self.nodes(self.key, "n1", "n2", "n3")
        self.inventory("lab", group("a", 2, self.key), group("b", 1, "y"))
        self.converge()
        self.edit("lab", lambda spec: spec["rackGroups"].pop(0))
        self.assert_told("patch node n1", "patch node n2", "patch node n3",
                         "update rack lab-a-0", "update rack lab-a-1",
                         "delete rack lab-a-0", "delete rack lab-a-1")
        self.expect({"b/0": "- -"}, self.bound)

    def test_D04_a_rack_out_of_place(self):
        self.begin(racks=1)
        odd = copy.deepcopy(self.racks()["a", 0])
        odd["metadata"] = {"name": self.name("odd"), **{
            key: odd["metadata"][key] for key in (
                "labels", "annotations", "ownerReferences", "finalizers")}}
        self.api.create(RACKS, odd)
        self.assert_told("update rack odd", "delete rack odd")
        self.assertEqual(list(self.racks()), [("a", 0)])

    def test_D05_an_inventory_is_deleted(self):
        self.begin("n1", "n2", "n3")
        self.api.delete(f"{INVENTORIES}/{self.name('lab')}")
        self.assert_told("patch node n1", "patch node n2", "patch node n3",
                         "update rack lab-a-0", "update rack lab-a-1",
                         "delete rack lab-a-0", "delete rack lab-a-1", "update inventory lab")
        self.assertEqual(self.api.items(INVENTORIES), [])
        self.assertEqual(self.cluster.projected(), [])

    def test_D07_racks_that_others_keep(self):
        self.begin("n1", racks=1)
        path = f"{RACKS}/{self.racks()['a', 0]['metadata']['name']}"
        self.keep(path, True)
        self.mark = self.cluster.mark()
        self.api.delete(f"{INVENTORIES}/{self.name('lab')}")
        self.assert_told("patch node n1", "update rack lab-a-0", "delete rack lab-a-0")
        self.assertEqual(len(self.api.items(INVENTORIES)), 1)
        self.assertEqual(self.api.get(path)["metadata"]["finalizers"], [KEEP])
        self.keep(path, False)
        self.assert_told("update inventory lab")
        self.assertEqual(self.api.items(INVENTORIES), [])

    def test_D11_another_node_of_the_same_name(self):
        self.begin("n1", "n2", racks=1)
        self.api.delete(f"{NODES}/{self.name('n2')}")
        self.nodes(self.key, "n2")
        self.settle()
        told = self.told()
        self.assertEqual(told["patch node n2"], 1)  # projected, never cleaned
        self.assertNotIn("patch node n1", told)
        node = self.api.get(f"{NODES}/{self.name('n2')}")["metadata"]
        slot = self.racks()["a", 0]["spec"]["nodes"][1]
        self.assertEqual(slot["nodeRef"], {"name": node["name"], "uid": node["uid"]})

    def test_D13_an_invalid_inventory_is_deleted(self):
        self.begin("n1")
        self.edit("lab", lambda spec: spec["rackGroups"][0]["placement"].update(
            nodeSelector={"matchLabels": {harness.ASSIGNED: "true"}}))
        self.assert_told()
        self.assert_stands(Accepted="False InvalidInventory")
        self.api.delete(f"{INVENTORIES}/{self.name('lab')}")
        self.settle()
        self.assertEqual(self.api.items(INVENTORIES), [])
        self.assertEqual(self.api.items(RACKS), [])
        self.assertEqual(self.cluster.projected(), [])

    # Ownership conflicts

    def taken(self):
        """An inventory of two racks, the first of whose names is taken."""
        lab = self.inventory("lab", group("a", 2, self.key))
        foreign = self.api.create(RACKS, rack_of("other", rack_name(lab, "a", 0), [
            {"index": 0, "gpus": [GPU]}]))
        self.settle()
        self.mark = self.cluster.mark()
        self.profile()
        return f"{RACKS}/{foreign['metadata']['name']}"

    def test_O01_O02_O03_somebody_elses_rack(self):
        path = self.taken()
        before = self.api.get(path)
        self.assert_told("create rack lab-a-1")
        self.assert_stands(Programmed="False RackOwnershipConflict")
        self.assertTrue(self.is_quiet(0.5))
        self.assertEqual(self.asked(), [])
        self.assertEqual(self.api.get(path), before)
        self.api.delete(path)
        self.assert_told("create rack lab-a-0")
        self.assert_stands(Programmed="True Programmed")

    def test_O09_claims_of_the_past(self):
        path = self.taken()
        self.settle()
        self.edit("lab", lambda spec: spec["rackGroups"][0].update(id="b"))
        self.settle()
        self.mark = self.cluster.mark()
        self.api.delete(path)
        self.assert_told()
        self.assertEqual(list(self.racks()), [("b", 0), ("b", 1)])

    # Status

    def test_I01_I03_the_numbers(self):
        self.profile()
        self.nodes("x", "n1", "n2", "n3")
        self.nodes("y", "n4")
        self.inventory("lab", group("a", 1, "x"), group("b", 2, "y"),
                       group("c", 5, "z", "none"))
        self.nodes("z", "n5")
        self.settle()
        status = self.api.get(f"{INVENTORIES}/{self.name('lab')}")["status"]
        self.assertEqual(status["capacity"], {"racks": 3, "nodes": 6, "gpus": 6})
        self.assertEqual(status["rackGroupsSummary"], "a,b,c")
        self.expect((5, 3, 3, 1), self.usage)
        self.assert_stands(RequestsSatisfied="False PendingNodes")
        # A fourth group selects the one that waits: it does not wait any more.
        self.edit("lab", lambda spec: spec["rackGroups"].append(*self.own([group("d", 1, "x")])))
        self.settle()
        self.expect((5, 3, 5, 0), self.usage)
        self.assert_stands(RequestsSatisfied="False PlacementConflicts")
        self.assertIn("1", self.cluster.condition(self.name("lab"), "RequestsSatisfied")["message"])

    def test_I07_profiles_missing_or_invalid(self):
        self.profile()
        bad = self.profile("bad")
        bad["spec"]["node"]["gpus"]["count"] = 2
        slots = bad["spec"]["node"]["topology"]["gpuSlots"]
        slots.append(dict(slots[0], index=1))  # two in one place
        self.api.ask("PUT", f"{PROFILES}/{bad['metadata']['name']}", bad)
        rows = ((("p", "none"), "False ProfileNotFound"), (("p", "bad"), "False InvalidProfile"),
                (("none", "bad"), "False InvalidProfile"), (("p", "p"), "True ProfilesResolved"))
        self.inventory("lab", group("a", 1, "x"), group("b", 1, "y"))
        for profiles, wanted in rows:
            groups = self.own(group(name, 1, name, profile)
                              for name, profile in zip("ab", profiles))
            self.edit("lab", lambda spec, g=groups: spec.update(rackGroups=g))
            self.settle()
            self.assert_stands(ResolvedRefs=wanted)
            self.assert_stands(Programmed="True Programmed" if wanted.startswith("True")
                               else "False ReferencesUnresolved")

    def test_I08_I10_racks_that_do_not_stand(self):
        self.begin()
        path = f"{RACKS}/{self.racks()['a', 0]['metadata']['name']}"
        self.keep(path, True)
        self.api.delete(path)
        self.settle()
        self.assert_stands(Programmed="False RacksPending")
        self.keep(path, False)
        self.settle()
        item = self.api.get(f"{INVENTORIES}/{self.name('lab')}")
        self.assertEqual([c["type"] for c in item["status"]["conditions"]], [
            "Accepted", "Programmed", "RequestsSatisfied", "ResolvedRefs"])
        self.assertTrue(harness.all_true(item, 4))

    def test_I09_nodes_that_do_not_carry_it(self):
        self.profile()
        self.nodes(self.key, "n1", "n2")
        self.label("n2", assigned="false")
        self.inventory("lab", group("a", 1, self.key))
        self.assert_told("update inventory lab", "create rack lab-a-0", "patch node n1")
        self.assert_stands(Programmed="False NodeMetadataConflict")
        self.expect("False NodeMetadataConflict", lambda: self.ready(self.racks()["a", 0]))
        self.label("n2", assigned=None)
        self.assert_told("patch node n2")
        self.assert_stands(Programmed="True Programmed")

    def test_R03_a_node_in_two_racks(self):
        self.begin("n1")
        racks = self.racks()
        racks["a", 1]["spec"]["nodes"][0]["nodeRef"] = \
            racks["a", 0]["spec"]["nodes"][0]["nodeRef"]
        self.api.ask("PUT", f"{RACKS}/{racks['a', 1]['metadata']['name']}", racks["a", 1])
        self.assert_told()
        self.expect({"False DuplicateBindings"}, lambda: {
            self.ready(rack) for rack in self.racks().values()})

    def test_R06_a_rack_without_bindings(self):
        self.begin(racks=1)
        rack = self.racks()["a", 0]
        self.assertEqual(self.ready(rack), "True Ready")
        self.assertEqual(rack["status"]["assignedNodes"], 0)
        self.assertEqual(rack["status"]["observedGeneration"], 1)

    # Allocation

    def test_C05_what_moves_the_allocation(self):
        self.begin("n1", "n2", racks=1)
        self.api.merge(f"{NODES}/{self.name('n1')}", {"spec": {"unschedulable": True}})
        self.assert_told()
        self.label("n1", pool="other")
        self.assert_told("patch node n1", "update rack lab-a-0")
        self.label("n1", pool=self.key)
        self.assert_told("patch node n1", "update rack lab-a-0")
        self.keep(f"{NODES}/{self.name('n2')}", True)
        self.api.delete(f"{NODES}/{self.name('n2')}")  # terminating
        self.assert_told("patch node n2", "update rack lab-a-0")
        self.expect({"a/0": "n1 -"}, self.bound)


if __name__ == "__main__":
    unittest.main(verbosity=2)
