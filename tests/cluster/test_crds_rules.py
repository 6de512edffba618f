# SPDX-License-Identifier: Apache-2.0
"""What a real API server makes of crds/: the parts that several kinds share, the
rules in CEL, and how such schemas are read."""

import copy
import json
import unittest

import crds
import vectors
from crds import (BASES, FULL, INVENTORY, KINDS, PLURALS, POLICY, PROFILE, RACK,
                  fields_of)
from harness import GROUP

setUpModule = crds.start

RULES = {  # where, and what it has to say
    PROFILE: {"spec.node": "gpuSlots"},
    INVENTORY: {},
    RACK: {"spec.inventoryRef": "uid", "spec.profileRef": "uid",
           "spec.nodes[].nodeRef": "uid"},
    POLICY: {},
}

RUNTIMES = ((PROFILE, ["spec", "defaults", "runtime"]), (POLICY, ["spec", "runtime"]))
QUANTITIES = (["node", "gpus", "memory", "capacity"], ["node", "gpus", "memory", "reserved"],
              ["node", "gpus", "memory", "bar1Capacity"], ["node", "host", "memory", "capacity"])


class Parts(crds.Crds):
    """1.6 to 1.8: what several kinds are made of."""

    def test_1_6_runtime_state(self):
        choices = {
            ("deviceState",): ("Healthy", "Degraded", "Failed"),
            **{("modes", mode): ("Enabled", "Disabled")
               for mode in ("persistence", "mig", "ecc", "accounting")},
            ("modes", "compute"): ("Default", "Exclusive", "Prohibited"),
            ("telemetry", "utilization", "mode"): ("Pattern", "Fixed"),
            ("telemetry", "utilization", "pattern", "type"): ("Steady", "Bursty", "Wave"),
            ("telemetry", "power", "mode"): ("Fixed", "Pattern"),
            ("telemetry", "temperature", "mode"): ("Fixed", "Pattern"),
        }
        for kind, at in RUNTIMES:
            base = FULL[kind]
            for path, values in choices.items():
                self.tries(base, [*at, *path], [..., *values],
                           ["", "Other", values[0].lower(), values[0] + " "])
            telemetry = [*at, "telemetry"]
            self.tries(base, [*telemetry, "performanceState"], [..., "P0", "P15", "P007"],
                       ["", "P", "p0", "P-1", "P0 ", "xP0"])
            for part in "gpuPercent", "memoryPercent":
                pattern = [*telemetry, "utilization", "pattern", part]
                self.tries(base, pattern, [..., {"minimum": 9, "maximum": 3}])
                for bound in "minimum", "maximum":
                    self.tries(base, [*pattern, bound], [0, 100], [-1, 101, ...])
            self.tries(base, [*telemetry, "power", "drawMilliWatts"],
                       [..., 0, 1 << 40], [-1])
            for name in "gpuCelsius", "memoryCelsius":
                self.tries(base, [*telemetry, "temperature", name], [..., -273, 0])
            for name in "graphicsMHz", "smMHz", "memoryMHz", "videoMHz":
                self.tries(base, [*telemetry, "clocks", name], [..., 0], [-1])
            for path in (), ("modes",), ("telemetry",), ("telemetry", "utilization"), (
                    "telemetry", "utilization", "pattern"), ("telemetry", "power"), (
                    "telemetry", "temperature"), ("telemetry", "clocks"):
                self.tries(base, [*at, *path], [..., {}])

    def test_1_6_one_state_for_both_kinds(self):
        found = []
        for kind, at in RUNTIMES:
            schema = self.schema(kind)
            for step in at:
                schema = schema["properties"][step]
            found.append({field: {k: v for k, v in member.items() if k in (
                "type", "format", "enum", "pattern", "minimum", "maximum", "required")}
                for field, member in fields_of(schema)})
        self.assertEqual(*found)

    def test_1_7_condition(self):
        rows = {
            "type": (["Ready", "a", "a.b/C_d-e.F", "x" * 316],
                     ["", "-a", "a/", "/a", "A/b", "a/b/c", "a b", "x" * 317, ...]),
            "status": (["True", "False", "Unknown"], ["", "true", "Maybe", ...]),
            "reason": (["R", "a1:,_b", "x" * 1024],
                       ["", "1a", "a:", "a,", "a-b", "x" * 1025, ...]),
            "message": (["", "x" * 32768, "two\nlines"], ["x" * 32769, ...]),
            "lastTransitionTime": (
                ["2026-11-26T10:00:00Z", "2026-11-26T10:00:00.5+01:00"],
                ["", "2026-11-26", "2026-11-26T10:00:00", "now", ...]),
            "observedGeneration": ([..., 0, 1 << 60], [-1]),
        }
        for kind in INVENTORY, RACK:
            item, stored = self.stored(kind)
            for member, (accepted, refused) in rows.items():
                for value in (*accepted, *refused):
                    body = dict(stored, status=copy.deepcopy(item["status"]))
                    vectors.edit(body, ["status", "conditions", 0, member],
                                 *[] if value is ... else [value])
                    with self.subTest(kind, member=member, value=str(value)[:40]):
                        code, answer = self.server.ask(
                            "PUT", self.path(item, "/status?dryRun=All"), body)
                        self.assertEqual(code, 200 if value in accepted else 422,
                                         answer.get("message"))
                        if value in refused:
                            self.assertIsNone(vectors.wrong_refusal(
                                answer, [f"status.conditions[0].{member}"]))

    def test_1_8_quantity(self):
        for path in QUANTITIES:
            self.tries("profile", ["spec", *path],
                       [0, -5, 1 << 62, "0", "80Gi", "-1.5G", "+.5", "5.", "1e3", "1E-3",
                        "1e1.5", "100n", "5u", "7m", "2k", "9Ei"],
                       ["", "Gi", "1 Gi", "1gi", "1K", "1KI", "1e", "0x10", "1,5", "--1",
                        "1Gi\n", 1.5, True, [1]])
        self.tries("profile", ["spec", *QUANTITIES[0]], refused=[...])
        self.tries("profile", ["spec", *QUANTITIES[1]], [...])
        self.tries("profile", ["spec", *QUANTITIES[2]], [...])
        self.tries("profile", ["spec", *QUANTITIES[3]], refused=[...])

    def test_1_8_quantity_is_kept_as_written(self):
        item = self.named(BASES["profile"])
        for path, value in zip(QUANTITIES, ("81920Mi", 1000, "1.50Gi", "0e3"), strict=True):
            vectors.edit(item["spec"], path, value)
        self.assertEqual(self.create(item)["spec"], item["spec"])


class Rules(crds.Crds):
    """1.9: the rules in CEL."""

    def refused(self, base, path, value, field, word):
        item = self.named(BASES[base])
        vectors.edit(item, path, value)
        with self.subTest(field=field, value=str(value)[:60]):
            code, answer = self.server.ask(
                "POST", f"{GROUP}/{PLURALS[item['kind']]}?dryRun=All", item)
            self.assertEqual(code, 422, answer.get("message"))
            self.assertIsNone(vectors.wrong_refusal(answer, [field]))
            self.assertIn(word, answer["message"].lower())

    def uid_needed(self, base, path, field):
        for value in "x", " ", "\u00e9" * 300:
            self.tries(base, [*path, "uid"], [value])
        self.refused(base, [*path, "uid"], "", field, "uid")

    def test_1_9_only_these_rules(self):
        for kind in KINDS:
            found = {}
            for field, schema in fields_of(self.schema(kind)):
                for rule in schema.get("x-kubernetes-validations", []):
                    found[field] = rule
            self.assertEqual(set(found), set(RULES[kind]))
            for field, rule in found.items():
                with self.subTest(kind, field=field):
                    self.assertIn(RULES[kind][field].lower(), rule["message"].lower())
                    self.assertNotIn("oldSelf", rule["rule"])

    def test_1_9_C1_one_slot_for_each_GPU(self):
        slot = {"pciAddress": "0000:11:00.0", "rootComplex": "pci0000:10"}
        slots = ["spec", "node", "topology", "gpuSlots"]

        def indexes(*numbers):
            return [dict(slot, index=number) for number in numbers]

        self.tries("profile", slots, [indexes(0, 1), indexes(1, 0)])
        for wrong in indexes(0), indexes(0, 1, 2), indexes(0, 2), indexes(1, 63):
            self.refused("profile", slots, wrong, "spec.node", "slot")
        # A second one of an index is refused as such: the list is a map.
        self.tries("profile", slots, refused=[indexes(1, 1)],
                   field="spec.node.topology.gpuSlots[1]")
        self.tries("profile-64", slots, [indexes(*range(64))])
        self.refused("profile-64", slots, indexes(*range(63)), "spec.node", "slot")

    def test_1_9_C2_uid_of_the_inventory(self):
        self.uid_needed("rack", ["spec", "inventoryRef"], "spec.inventoryRef")

    def test_1_9_C3_uid_of_the_profile(self):
        self.uid_needed("rack", ["spec", "profileRef"], "spec.profileRef")

    def test_1_9_C4_uid_of_a_Node(self):
        self.uid_needed("rack", ["spec", "nodes", 0, "nodeRef"], "spec.nodes[0].nodeRef")


class Protection(crds.Crds):
    """1.10: nothing is immutable."""

    def test_1_10_every_spec_may_be_edited(self):
        edits = {
            PROFILE: (["rack", "nodesPerRack"], ["node", "gpus", "model", "product"]),
            INVENTORY: (["rackGroups", 0, "id"], ["rackGroups", 0, "count"]),
            RACK: (["inventoryRef", "uid"], ["identity", "rackIndex"],
                   ["nodes", 0, "gpus", 0, "serial"], ["profileRef", "generation"]),
            POLICY: (["targetRef", "name"], ["runtime", "deviceState"]),
        }
        for kind, paths in edits.items():
            item, stored = self.stored(kind)
            for path in paths:
                with self.subTest(kind, path=path):
                    old = vectors.lookup(item["spec"], path)[1]
                    new = old + 1 if isinstance(old, int) else (
                        "Failed" if path[-1] == "deviceState" else "0other")
                    vectors.edit(stored["spec"], path, new)
                    stored = self.put(stored)
                    self.assertEqual(vectors.lookup(stored["spec"], path), (True, new))
            with self.subTest(kind, path="everything at once"):
                stored["spec"] = item["spec"]
                self.assertEqual(self.put(stored)["spec"], item["spec"])

    def test_1_10_made_again_it_is_another_instance(self):
        for kind in KINDS:
            with self.subTest(kind):
                item, stored = self.stored(kind)
                self.ask(200, "DELETE", self.path(item))
                again = self.create(item)
                self.assertNotEqual(again["metadata"]["uid"], stored["metadata"]["uid"])
                self.assertEqual(again["metadata"]["generation"], 1)
                self.assertNotIn("status", again)


class Reading(crds.Crds):
    """1.11: how the server reads such schemas."""

    def text(self, base, old, new, code=201, strict=False):
        """Sends the base with a piece of its JSON text replaced."""
        item = self.named(BASES[base])
        text = json.dumps(item, separators=(",", ":"))
        self.assertIn(old, text)
        rest = "?dryRun=All" + ("&fieldValidation=Strict" if strict else "")
        return self.ask(code, "POST", f"{GROUP}/{PLURALS[item['kind']]}{rest}",
                        text.replace(old, new, 1))

    def test_1_11_lengths_are_of_characters(self):
        self.tries("inventory", ["spec", "rackGroups", 0, "id"],
                   ["\u00fc" * 63, "\U0001f600" * 63], ["\u00fc" * 64, ""])

    def test_1_11_patterns_end_at_the_end(self):
        slot = ["spec", "node", "topology", "gpuSlots", 0]
        self.tries("profile", [*slot, "pciAddress"], ["0000:11:00.7"],
                   ["0000:11:00.0\n", "\n0000:11:00.0", "0000:11:00.8", "0000:AA:00.0"])
        self.tries("profile", [*slot, "rootComplex"], ["pci00ff:1f"],
                   ["pci0000:10\n", "pci0000:1", "PCI0000:10"])
        self.tries("rack", ["spec", "profileRef", "revision"], ["0" * 64],
                   ["0" * 64 + "\n", "0" * 63, "A" * 64])

    def test_1_11_ranges_of_int32_and_int64(self):
        thermal = ["spec", "node", "gpus", "thermal", "targetCelsius"]
        self.tries("profile", thermal, [-1 << 31, (1 << 31) - 1], [(-1 << 31) - 1, 1 << 31])
        limits = ["spec", "node", "gpus", "power", "limitsMilliWatts", "default"]
        self.tries("profile", limits, [-1 << 63, (1 << 63) - 1], [1 << 63])

    def test_1_11_numbers_written_as_floats(self):
        for written, value in ("4.0", 4), ("1e2", 100), ("10e1", 100), ("0.4e1", 4):
            with self.subTest(written):
                made = self.text("profile", '"nodesPerRack":4', f'"nodesPerRack":{written}')
                self.assertEqual(json.dumps(made["spec"]["rack"]["nodesPerRack"]), str(value))
        # Where the rule of the slots reads it, it is refused.
        self.text("profile", '"count":2', '"count":2.0', code=422)
        self.text("profile", '"gpuSlots":[{"index":0', '"gpuSlots":[{"index":0.0', code=422)

    def test_1_11_fractions_and_quoted_numbers(self):
        self.tries("profile", ["spec", "rack", "nodesPerRack"], refused=[4.5, "4", True])
        self.tries("rack", ["spec", "profileRef", "generation"], refused=[1.5, "1"])

    def test_1_11_null(self):
        # Optional: dropped.  Required: missing.  Map value: dropped.  Item: refused.
        item = self.named(BASES["profile"])
        item["spec"]["software"] = None
        item["spec"]["node"]["gpus"]["capabilities"]["attributes"]["x"] = None
        made = self.ask(201, "POST", f"{GROUP}/sgpurackprofiles?dryRun=All", item)
        self.assertNotIn("software", made["spec"])
        self.assertNotIn("x", made["spec"]["node"]["gpus"]["capabilities"]["attributes"])
        self.tries("profile", ["spec", "node"], refused=[None])
        self.tries("policy", ["spec", "targetRef", "rackIndexes", 0], refused=[None])
        self.tries("inventory", ["spec", "rackGroups", 0, "profileRef", "name"], refused=[None])

    def test_1_11_a_member_twice(self):
        made = self.text("inventory", '"count":3', '"count":7,"count":3')
        self.assertEqual(made["spec"]["rackGroups"][0]["count"], 3)
        self.text("inventory", '"count":3', '"count":7,"count":3', code=400, strict=True)

    def test_1_11_status_goes_by_its_own_way(self):
        for kind in INVENTORY, RACK, POLICY:
            with self.subTest(kind):
                item, stored = self.stored(kind)  # in a create it was dropped
                other = copy.deepcopy(stored)
                other["status"] = {}
                self.assertEqual(self.put(other)["status"], item["status"])
                self.assertEqual(self.merge(item, {"status": None})["status"],
                                 item["status"])
                # By the other way, spec and labels stay as they are.
                other = self.ask(200, "GET", self.path(item))
                other["metadata"]["labels"] = {"a": "b"}
                other["spec"] = {}
                other["status"] = {}
                made = self.put(other, "/status")
                self.assertEqual(made["spec"], item["spec"])
                self.assertNotIn("labels", made["metadata"])
                self.assertEqual(made["status"], {})

    def test_1_11_generation(self):
        changes = {
            PROFILE: {"rack": {"nodesPerRack": 5}},
            INVENTORY: {"rackGroups": [{"id": "a", "count": 1, "profileRef": {"name": "p"}}]},
            RACK: {"identity": {"rackIndex": 2}},
            POLICY: {"targetRef": {"name": "other"}},
        }
        for kind, change in changes.items():
            with self.subTest(kind):
                item, stored = self.stored(kind)
                self.assertEqual(stored["metadata"]["generation"], 1)
                for patch in ({"metadata": {"labels": {"a": "b"}}},
                              {"metadata": {"annotations": {"a": "b"}}},
                              {"metadata": {"finalizers": ["lab.example/stay"]}},
                              {"metadata": {"finalizers": None}}):
                    changed = self.merge(item, patch)["metadata"]
                    self.assertEqual(changed["generation"], 1)
                if kind != PROFILE:
                    made = self.merge(item, {"status": {"rackGroupsSummary": "x",
                                                        "observedGeneration": 7}}, "/status")
                    self.assertNotEqual(made["status"], stored["status"])
                    self.assertEqual(made["metadata"]["generation"], 1)
                for generation in 2, 2:  # the second time it is no edit
                    made = self.merge(item, {"spec": change})
                    self.assertEqual(made["metadata"]["generation"], generation)

    def apply(self, item, manager, spec, wanted=200):
        body = {"apiVersion": item["apiVersion"], "kind": item["kind"],
                "metadata": {"name": item["metadata"]["name"]}, "spec": spec}
        code, answer = self.server.ask("PATCH", self.path(item, f"?fieldManager={manager}"), body,
                                  kind="application/apply-patch+yaml")
        self.assertIn(code, (wanted, 201 if wanted == 200 else wanted), answer.get("message"))
        return answer.get("spec")

    def test_1_11_apply_merges_maps_by_key_and_sets_by_item(self):
        def group(name, count=1, **labels):
            found = {"id": name, "count": count, "profileRef": {"name": "p"}}
            if labels:
                found["placement"] = {"nodeSelector": {"matchLabels": labels}}
            return found

        item = self.named(BASES["inventory"])
        self.addCleanup(self.server.ask, "DELETE", self.path(item))
        self.apply(item, "one", {"rackGroups": [group("a", pool="x")]})
        spec = self.apply(item, "two", {"rackGroups": [group("b")]})
        self.assertEqual([g["id"] for g in spec["rackGroups"]], ["a", "b"])
        self.apply(item, "two", {"rackGroups": [group("a", 2)]}, wanted=409)
        # A selector belongs to one manager as a whole, another key of it too.
        self.apply(item, "two", {"rackGroups": [group("b"), group("a", zone="y")]}, wanted=409)
        spec = self.apply(item, "one", {"rackGroups": [group("a", zone="y")]})
        self.assertEqual(spec["rackGroups"][0]["placement"]["nodeSelector"]["matchLabels"],
                         {"zone": "y"})
        policy = self.named(BASES["policy-min"])
        self.addCleanup(self.server.ask, "DELETE", self.path(policy))
        target = policy["spec"]["targetRef"]
        self.apply(policy, "one", {"targetRef": dict(target, rackIndexes=[0, 1])})
        spec = self.apply(policy, "two", {"targetRef": dict(target, rackIndexes=[1, 2])})
        self.assertEqual(spec["targetRef"]["rackIndexes"], [0, 1, 2])

    def test_1_11_apply_takes_other_lists_as_a_whole(self):
        item = self.named(BASES["profile"])
        self.addCleanup(self.server.ask, "DELETE", self.path(item))
        self.apply(item, "one", item["spec"])
        clocks = copy.deepcopy(item["spec"])
        clocks["node"]["gpus"]["clocks"]["supported"] = [{"memoryMHz": 1, "graphicsMHz": [1]}]
        self.apply(item, "two", clocks, wanted=409)
        self.assertEqual(self.apply(item, "one", clocks), clocks)

    def test_1_11_totals_are_not_checked(self):
        groups = [{"id": f"g{i}", "count": 100000, "profileRef": {"name": "p"}}
                  for i in range(65)]
        self.tries("inventory", ["spec", "rackGroups"], [groups[:64]], [[], groups])
        self.tries("inventory", ["spec", "rackGroups", 0, "count"], [1, 100000],
                   [0, -1, 100001])

    def test_1_11_a_large_object_loses_its_managers(self):
        small = self.create(self.named(BASES["rack"]))
        self.assertTrue(small["metadata"]["managedFields"])
        large = self.create(self.named(BASES["rack-1024x4"], "large"))
        self.assertNotIn("managedFields", large["metadata"])
        read = self.ask(200, "GET", self.path(large))
        self.assertNotIn("managedFields", read["metadata"])
        self.assertEqual(read["spec"], BASES["rack-1024x4"]["spec"])


if __name__ == "__main__":
    unittest.main()
