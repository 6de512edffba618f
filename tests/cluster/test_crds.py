# SPDX-License-Identifier: Apache-2.0
"""What a real API server makes of crds/: each vector, and what all kinds have in
common; names, columns, fields, explanations, full objects."""

import concurrent.futures
import copy
import os
import subprocess
import unittest

import crds
import vectors
from crds import (BASES, CRDS, FIELDS, FULL, INVENTORY, KINDS, PLURALS, POLICY,
                  PROFILE, RACK, VECTORS, fields_of)
from harness import GROUP, wait_for
import yaml

setUpModule = crds.start
SHORT = {PROFILE: "srprof", INVENTORY: "sinv", RACK: "sgpur", POLICY: "srpol"}
SECTIONS = {PROFILE: "1_2", INVENTORY: "1_3", RACK: "1_4", POLICY: "1_5"}
CREATED = ".metadata.creationTimestamp"
CONDITION = '.status.conditions[?(@.type=="%s")].%s'

# name, type, priority, path in the object, and what a full object shows there.
COLUMNS = {
    PROFILE: [
        ("Nodes/Rack", "integer", 0, ".spec.rack.nodesPerRack", 4),
        ("GPUs/Node", "integer", 0, ".spec.node.gpus.count", 2),
        ("Age", "date", 0, CREATED, ...)],
    INVENTORY: [
        ("Groups", "string", 0, ".status.rackGroupsSummary", "train,rest"),
        ("Nodes", "integer", 0, ".status.capacity.nodes", 12),
        ("GPUs", "integer", 0, ".status.capacity.gpus", 24),
        ("Allocated", "integer", 0, ".status.usage.allocatedNodes", 4),
        ("Pending", "integer", 0, ".status.usage.pendingNodes", 1),
        ("Programmed", "string", 0, CONDITION % ("Programmed", "status"), "False"),
        ("Reason", "string", 1, CONDITION % ("Programmed", "reason"), "RacksPending"),
        ("Age", "date", 0, CREATED, ...)],
    RACK: [
        ("Inventory", "string", 0, ".spec.inventoryRef.name", "lab"),
        ("Rack Group", "string", 0, ".spec.identity.rackGroup", "train"),
        ("Rack", "integer", 0, ".spec.identity.rackIndex", 1),
        ("Profile", "string", 0, ".spec.profileRef.name", "lab-gpu"),
        ("Assigned", "integer", 0, ".status.assignedNodes", 1),
        ("Ready", "string", 0, CONDITION % ("Ready", "status"), "True"),
        ("Reason", "string", 1, CONDITION % ("Ready", "reason"), "Accepted"),
        ("Age", "date", 0, CREATED, ...)],
    POLICY: [
        ("Inventory", "string", 0, ".spec.targetRef.name", "lab"),
        ("RackGroups", "string", 0, ".status.rackGroupsSummary", "train"),
        ("Racks", "string", 0, ".status.rackIndexesSummary", "0,1"),
        ("Nodes", "string", 0, ".status.nodeIndexesSummary", "0"),
        ("GPUs", "string", 0, ".status.gpuIndexesSummary", "1"),
        ("Age", "date", 0, CREATED, ...)],
}

# The lists and maps that merge otherwise than by default.
MERGED = {
    PROFILE: {
        "spec.node.gpus.clocks.supported[].graphicsMHz": "set",
        "spec.node.gpus.capabilities.attributes.*.strings": "set",
        "spec.node.topology.gpuSlots": "map index"},
    INVENTORY: {
        "spec.rackGroups": "map id",
        "spec.rackGroups[].placement.nodeSelector": "atomic",
        "spec.rackGroups[].placement.nodeSelector.matchExpressions": "atomic",
        "spec.rackGroups[].placement.nodeSelector.matchExpressions[].values": "atomic",
        "status.rackGroups": "map id",
        "status.conditions": "map type"},
    RACK: {
        "spec.nodes": "map index",
        "spec.nodes[].gpus": "map index",
        "status.conditions": "map type"},
    POLICY: {f"spec.targetRef.{name}": "set" for name in (
        "rackGroups", "rackIndexes", "nodeIndexes", "gpuIndexes")},
}


def is_field(path):
    """Has it a name of its own, below spec or status?"""
    return not path.endswith(("[]", ".*")) and (
        vectors.inside(path, "spec") or vectors.inside(path, "status"))


def populated(value, schema):
    """The fields of a schema that a value has."""
    found = set()

    def walk(value, schema, path):
        if is_field(path):
            found.add(path)
        if isinstance(value, list):
            for item in value:
                walk(item, schema["items"], path + "[]")
        elif isinstance(value, dict):
            for key, member in value.items():
                if key in schema.get("properties", {}):
                    walk(member, schema["properties"][key],
                         f"{path}.{key}" if path else key)
                elif "additionalProperties" in schema:
                    walk(member, schema["additionalProperties"], path + ".*")

    walk(value, schema, "")
    return found


class Vectors(crds.Crds):
    """A test for each vector, made below."""

    bases = {}

    def over(self, name):
        """The stored base that updates go over."""
        if name not in self.bases:
            item = self.named(BASES[name], f"stored-{name}")
            self.bases[name] = self.ask(
                201, "POST", f"{GROUP}/{PLURALS[item['kind']]}", item)["metadata"]
        return self.bases[name]

    def send(self, vector):
        given = vector["input"]
        base = BASES[given["base"]]
        target = copy.deepcopy(base)
        operation = given.get("op", "create")
        if operation == "create":
            method, path = "POST", f"{GROUP}/{PLURALS[base['kind']]}"
        else:
            meta = self.over(given["base"])
            target["metadata"].update(name=meta["name"],
                                      resourceVersion=meta["resourceVersion"])
            method, path = "PUT", self.path(target)
            if operation == "status":
                path += "/status"
        path += "?dryRun=All" + ("&fieldValidation=Strict" if given.get("strict") else "")
        code, answer = self.server.ask(method, path, vectors.body_of(given, base, target))
        wrong = vectors.wrong_answer(vector["output"], code, answer)
        self.assertIsNone(wrong, f"{vector['id']} ({vector['note']}): {wrong}")


def add_vectors():
    for vector in VECTORS:
        kind = BASES[vector["input"]["base"]]["kind"]
        name = f"test_{SECTIONS[kind]}_{vector['id'].replace('-', '_')}"

        def test(self, vector=vector):
            self.send(vector)

        test.__name__ = name
        setattr(Vectors, name, test)


add_vectors()


class Kinds(crds.Crds):
    """1.1: what all kinds have in common."""

    def test_1_1_names_scope_and_version(self):
        for kind in KINDS:
            with self.subTest(kind):
                crd = self.crd(kind)
                spec, plural = crd["spec"], PLURALS[kind]
                self.assertEqual(crd["metadata"]["annotations"]
                                 ["helm.sh/resource-policy"], "keep")
                self.assertEqual(spec["group"], "mokka.nvidia.com")
                self.assertEqual(spec["scope"], "Cluster")
                self.assertEqual(spec["names"], {
                    "kind": kind, "listKind": f"{kind}List", "plural": plural,
                    "singular": kind.lower(), "shortNames": [SHORT[kind]],
                    "categories": ["mokka"]})
                self.assertEqual(crd["status"]["acceptedNames"], spec["names"])
                self.assertEqual(spec["conversion"], {"strategy": "None"})
                version, = spec["versions"]
                self.assertEqual((version["name"], version["served"], version["storage"]),
                                 ("v1alpha1", True, True))
                self.assertNotIn("selectableFields", version)
                wanted = {} if kind == PROFILE else {"status": {}}
                self.assertEqual(version.get("subresources", {}), wanted)

    def test_1_1_every_way_to_ask_for_a_kind(self):
        for kind in KINDS:
            item, _ = self.stored(kind)
            name = f"{kind.lower()}.mokka.nvidia.com/{item['metadata']['name']}"
            for word in (PLURALS[kind], kind.lower(), SHORT[kind], kind,
                         f"{PLURALS[kind]}.v1alpha1.mokka.nvidia.com", "mokka"):
                with self.subTest(word):
                    # A category is known once discovery has been read anew.
                    wait_for(f"kubectl get {word}", 10, lambda w=word: name in
                             self.cluster.kubectl("get", w, "-o", "name").split())

    def test_1_1_printer_columns(self):
        for kind, wanted in COLUMNS.items():
            with self.subTest(kind):
                found = self.crd(kind)["spec"]["versions"][0]["additionalPrinterColumns"]
                self.assertEqual(
                    [(c["name"], c["type"], c.get("priority", 0), c["jsonPath"])
                     for c in found], [column[:4] for column in wanted])

    def test_1_1_printer_columns_as_a_table(self):
        for kind, wanted in COLUMNS.items():
            with self.subTest(kind):
                item, _ = self.stored(kind)
                table = self.ask(200, "GET", self.path(item), accept=
                                 "application/json;as=Table;v=v1;g=meta.k8s.io")
                self.assertEqual(
                    [(c["name"], c["type"], c["priority"])
                     for c in table["columnDefinitions"]],
                    [("Name", "string", 0), *(column[:3] for column in wanted)])
                row, = table["rows"]
                name, *cells = row["cells"]
                self.assertEqual(name, item["metadata"]["name"])
                self.assertEqual(
                    [cell for cell, column in zip(cells, wanted, strict=True)
                     if column[4] is not ...],
                    [column[4] for column in wanted if column[4] is not ...])

    def test_1_1_printer_columns_of_kubectl_get(self):
        for kind, wanted in COLUMNS.items():
            self.stored(kind)
            for wide in (False, True):
                with self.subTest(kind, wide=wide):
                    first = self.cluster.kubectl(
                        "get", SHORT[kind], *(["-o", "wide"] if wide else [])).splitlines()[0]
                    # Columns are two blanks apart, or more; names hold one at most.
                    self.assertEqual(
                        [word.strip() for word in first.split("  ") if word],
                        ["NAME", *(c[0].upper() for c in wanted if wide or c[2] == 0)])

    def test_1_1_root_of_the_schema(self):
        for kind in KINDS:
            with self.subTest(kind):
                root = self.schema(kind)
                self.assertEqual(root["type"], "object")
                self.assertEqual(root["required"], ["spec"])
                self.assertEqual(
                    {name: root["properties"][name]["type"]
                     for name in ("apiVersion", "kind", "metadata")},
                    {"apiVersion": "string", "kind": "string", "metadata": "object"})
                self.assertEqual("status" in root["properties"], kind != PROFILE)
                self.tries(FULL[kind], ["spec"], refused=[...])

    def test_1_1_no_defaults_nothing_kept_unpruned(self):
        for kind in KINDS:
            for field, schema in fields_of(self.schema(kind)):
                with self.subTest(kind, field=field):
                    self.assertNotIn("default", schema)
                    self.assertNotIn("x-kubernetes-preserve-unknown-fields", schema)
                    self.assertNotIn("x-kubernetes-embedded-resource", schema)
            smallest = next(b for n, b in BASES.items()
                            if b["kind"] == kind and (n.endswith("-min") or kind == RACK))
            made = self.create(self.named(smallest))
            self.assertEqual(made["spec"], smallest["spec"])

    def test_1_1_list_and_map_types(self):
        for kind in KINDS:
            with self.subTest(kind):
                found = {}
                for field, schema in fields_of(self.schema(kind)):
                    how = (schema.get("x-kubernetes-list-type") or
                           schema.get("x-kubernetes-map-type"))
                    if how:
                        found[field] = " ".join(
                            [how, *schema.get("x-kubernetes-list-map-keys", [])])
                self.assertEqual(found, MERGED[kind])

    def test_1_1_fields_and_no_others(self):
        for kind in KINDS:
            with self.subTest(kind):
                found = {f for f, _ in fields_of(self.schema(kind)) if is_field(f)}
                self.assertEqual(found, set(FIELDS[kind]))

    def test_1_1_unknown_members_are_pruned(self):
        for kind in KINDS:
            item = self.named(FULL[kind])
            item["spec"]["stranger"] = item["stranger"] = {"a": 1}
            rest = f"{GROUP}/{PLURALS[kind]}?dryRun=All"
            with self.subTest(kind):
                made = self.ask(201, "POST", rest, item)
                self.assertEqual(made["spec"], FULL[kind]["spec"])
                self.assertNotIn("stranger", made)
                self.ask(400, "POST", f"{rest}&fieldValidation=Strict", item)

    def test_1_1_kubectl_explains_every_field(self):
        asked = {}
        for kind in KINDS:
            schema = self.schema(kind)
            asked[PLURALS[kind]] = schema
            for field, member in fields_of(schema):
                if is_field(field):
                    path = field.replace("[]", "").replace(".*", "")
                    asked[f"{PLURALS[kind]}.{path}"] = member
        self.assertGreater(len(asked), 250)

        def explain(path):
            return self.cluster.kubectl("explain", path)

        wait_for("kubectl explain", 20, lambda: "DESCRIPTION" in explain("sgpuinventories.spec"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = dict(zip(asked, pool.map(explain, asked), strict=True))
        for path, member in asked.items():
            with self.subTest(path):
                text = answers[path].partition("DESCRIPTION:")[2]
                text = " ".join(text.partition("\nFIELDS:")[0].split())
                # An enum's values stand in between, in newer versions.
                words = " ".join(member.get("description", "").split())
                self.assertGreater(len(words), 5)
                self.assertIn(words, text)


class Objects(crds.Crds):
    """1.2 to 1.5: a full object of each kind comes back as it was sent."""

    def round_trip(self, kind):
        schema = self.schema(kind)
        item, stored = self.stored(kind)
        self.assertEqual(populated(item, schema), set(FIELDS[kind]))
        read = self.ask(200, "GET", self.path(item))
        for answer in stored, read:
            for part in "spec", "status":
                self.assertEqual(answer.get(part), item.get(part))
        # Sent back as it was read, it is no change; nor through YAML.
        self.assertEqual(self.put(read)["metadata"]["resourceVersion"],
                         read["metadata"]["resourceVersion"])
        text = self.cluster.kubectl("get", PLURALS[kind], item["metadata"]["name"], "-o", "yaml")
        parsed = yaml.safe_load(text)
        self.assertEqual(parsed["spec"], item["spec"])
        self.cluster.kubectl("replace", "-f", "-", input=text)
        self.assertEqual(self.ask(200, "GET", self.path(item))["metadata"]["resourceVersion"],
                         read["metadata"]["resourceVersion"])
        listed = self.ask(200, "GET", f"{GROUP}/{PLURALS[kind]}")
        self.assertEqual(listed["kind"], f"{kind}List")

    def test_1_2_full_profile(self):
        self.round_trip(PROFILE)

    def test_1_3_full_inventory(self):
        self.round_trip(INVENTORY)

    def test_1_4_full_rack(self):
        self.round_trip(RACK)

    def test_1_5_full_policy(self):
        self.round_trip(POLICY)

    def test_1_2_profile_has_no_status(self):
        item, stored = self.stored(PROFILE)
        item["status"] = {"any": 1}
        self.assertNotIn("status", self.put(dict(stored, status={"any": 1})))
        self.assertEqual(self.server.ask("PUT", self.path(item, "/status"), stored)[0], 404)

    def test_1_3_capacity_and_usage_whole_or_not_at_all(self):
        item, stored = self.stored(INVENTORY)
        for part, members in (("capacity", ("racks", "nodes", "gpus")),
                              ("usage", ("requestedNodes", "allocatedNodes",
                                         "availableNodes", "pendingNodes"))):
            for member in members:
                with self.subTest(member):
                    status = copy.deepcopy(item["status"])
                    del status[part][member]
                    code, answer = self.server.ask("PUT", self.path(item, "/status?dryRun=All"),
                                              dict(stored, status=status))
                    self.assertEqual(code, 422)
                    self.assertIsNone(vectors.wrong_refusal(
                        answer, [f"status.{part}.{member}"]))
            status = copy.deepcopy(item["status"])
            del status[part]
            self.ask(200, "PUT", self.path(item, "/status?dryRun=All"),
                     dict(stored, status=status))

    def test_1_4_rack_group_is_no_checked_label(self):
        """Its length is checked, its form is the control plane's affair."""
        self.tries("rack", ["spec", "identity", "rackGroup"],
                   accepted=["A_b.c", "x" * 63, "\u00e4" * 63], refused=["", "x" * 64])

    def test_1_5_policy_refers_to_inventories_only(self):
        self.tries("policy", ["spec", "targetRef", "group"], ["mokka.nvidia.com"],
                   ["", "nvidia.com", "Mokka.nvidia.com", ...])
        self.tries("policy", ["spec", "targetRef", "kind"], [INVENTORY],
                   ["", RACK, INVENTORY.lower(), ...])
        for name, item in (("rackGroups", "g"), ("rackIndexes", 0), ("nodeIndexes", 0),
                           ("gpuIndexes", 0)):
            many = [f"g{i}" if item == "g" else i for i in range(65)]
            self.tries("policy", ["spec", "targetRef", name], [..., many[:64]], [[], many])
            self.tries("policy", ["spec", "targetRef", name], refused=[[item, item]],
                       field=f"spec.targetRef.{name}[1]")


class Samples(crds.Crds):
    """2: examples."""

    def test_2_samples_are_accepted(self):
        names = sorted((CRDS / "samples").glob("*.yaml"))
        self.assertGreaterEqual(len(names), 5)
        kinds = set()
        for name in names:
            with self.subTest(name.name):
                # kubectl lets no unknown member pass.
                self.cluster.kubectl("apply", "--dry-run=server", "-f", name)
                kinds |= {item["kind"] for item in yaml.safe_load_all(name.read_text())}
        self.assertEqual(kinds, set(KINDS) - {RACK})

    def test_2_crds_hold_nothing_that_the_server_warns_of(self):
        """The server answers unknown formats and the like with a warning."""
        environment = dict(os.environ, KUBECONFIG=self.cluster.kubeconfig)
        for name in sorted(CRDS.glob("*.yaml")):
            with self.subTest(name.name):
                run = subprocess.run(
                    [f"{self.cluster.bin}/kubectl", "replace", "--dry-run=server",
                     "--validate=strict", "-f", name],
                    env=environment, text=True, capture_output=True)
                self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
