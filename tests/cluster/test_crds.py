# SPDX-License-Identifier: Apache-2.0
"""What a real API server makes of crds/: each vector, and each statement of the
API's description that a vector cannot make."""

import concurrent.futures
import copy
import json
import os
import unittest

import harness
import vectors
from harness import GROUP, ROOT, wait_for
import yaml

CRDS = ROOT / "crds"
PROFILE, INVENTORY, RACK, POLICY = KINDS = (
    "SGPURackProfile", "SGPUInventory", "SGPURack", "SGPURuntimePolicy")
PLURALS = {PROFILE: "sgpurackprofiles", INVENTORY: "sgpuinventories",
           RACK: "sgpuracks", POLICY: "sgpuruntimepolicies"}
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
BASES, FIELDS, VECTORS = vectors.load()
FULL = {base["kind"]: base for name, base in BASES.items()
        if name in ("profile", "inventory", "rack", "policy")}


def fields_of(schema, path=""):
    """(field, its schema) of all that lies below."""
    for name, member in schema.get("properties", {}).items():
        field = f"{path}.{name}" if path else name
        yield field, member
        yield from fields_of(member, field)
    for below, suffix in ("items", "[]"), ("additionalProperties", ".*"):
        if below in schema:
            yield path + suffix, schema[below]
            yield from fields_of(schema[below], path + suffix)


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


class Server:
    """One kept connection, as the administrator."""

    def __init__(self, api):
        self.connection = api.connect()

    def ask(self, method, path, body=None, kind="application/json",
            accept="application/json"):
        """Status code and decoded answer; body is JSON, or text that is."""
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        self.connection.request(method, path, body and body.encode(),
                                {"Content-Type": kind, "Accept": accept})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


cluster = server = None


def setUpModule():
    global cluster, server
    cluster = harness.Cluster(audit="None")
    unittest.addModuleCleanup(cluster.down)
    cluster.install()
    server = Server(cluster.api)
    for plural in PLURALS.values():
        wait_for(f"{plural} to be served", 20,
                 lambda p=plural: server.ask("GET", f"{GROUP}/{p}")[0] == 200)


class Crds(unittest.TestCase):
    def crd(self, kind):
        code, crd = server.ask(
            "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
            f"{PLURALS[kind]}.mokka.nvidia.com")
        self.assertEqual(code, 200)
        return crd

    def schema(self, kind):
        return self.crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    @staticmethod
    def path(item, rest=""):
        return f"{GROUP}/{PLURALS[item['kind']]}/{item['metadata']['name']}{rest}"

    def named(self, item, name=None):
        """A copy with a name of this test's."""
        item = copy.deepcopy(item)
        item["metadata"]["name"] = name or self.id().rsplit(".", 1)[1].lower().replace("_", "-")
        return item

    def create(self, item):
        code, answer = server.ask(
            "POST", f"{GROUP}/{PLURALS[item['kind']]}?fieldValidation=Strict", item)
        self.assertEqual(code, 201, answer.get("message"))
        self.addCleanup(server.ask, "DELETE", self.path(item))
        return answer

    def ask(self, wanted, *request, **options):
        code, answer = server.ask(*request, **options)
        self.assertEqual(code, wanted, answer.get("message"))
        return answer

    def put(self, item, rest=""):
        return self.ask(200, "PUT", self.path(item, rest), item)

    def merge(self, item, patch, rest=""):
        return self.ask(200, "PATCH", self.path(item, rest), patch,
                        kind="application/merge-patch+json")

    def stored(self, kind):
        """A full object, its status written too; as it was sent and as it is."""
        item = self.named(FULL[kind])
        if kind == INVENTORY:
            item["status"]["conditions"][0].update(
                type="Programmed", status="False", reason="RacksPending")
        stored = self.create(item)
        if "status" in item:
            self.assertNotIn("status", stored)
            stored = self.put(dict(stored, status=item["status"]), "/status")
        return item, stored

    def tries(self, base, path, accepted=(), refused=(), field=None):
        """Puts each value at path of the base (... removes what is there), in dry
        runs. field: where the error must be, by default at path."""
        base = BASES[base] if isinstance(base, str) else base
        where = field or "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
        for good, values in (True, accepted), (False, refused):
            for value in values:
                item = self.named(base)
                vectors.edit(item, path, *[] if value is ... else [value])
                rest = "?dryRun=All"
                with self.subTest(field=where, value=str(value)[:80]):
                    code, answer = server.ask(
                        "POST", f"{GROUP}/{PLURALS[item['kind']]}{rest}", item)
                    self.assertEqual(code, 201 if good else 422, answer.get("message"))
                    if not good:
                        self.assertIsNone(vectors.wrong_refusal(answer, [where]))


class Vectors(Crds):
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
        code, answer = server.ask(method, path, vectors.body_of(given, base, target))
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


class Kinds(Crds):
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
                             cluster.kubectl("get", w, "-o", "name").split())

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
                    first = cluster.kubectl(
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
            return cluster.kubectl("explain", path)

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


class Objects(Crds):
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
        text = cluster.kubectl("get", PLURALS[kind], item["metadata"]["name"], "-o", "yaml")
        parsed = yaml.safe_load(text)
        self.assertEqual(parsed["spec"], item["spec"])
        cluster.kubectl("replace", "-f", "-", input=text)
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
        self.assertEqual(server.ask("PUT", self.path(item, "/status"), stored)[0], 404)

    def test_1_3_capacity_and_usage_whole_or_not_at_all(self):
        item, stored = self.stored(INVENTORY)
        for part, members in (("capacity", ("racks", "nodes", "gpus")),
                              ("usage", ("requestedNodes", "allocatedNodes",
                                         "availableNodes", "pendingNodes"))):
            for member in members:
                with self.subTest(member):
                    status = copy.deepcopy(item["status"])
                    del status[part][member]
                    code, answer = server.ask("PUT", self.path(item, "/status?dryRun=All"),
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
                        code, answer = server.ask(
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


class Rules(Crds):
    """1.9: the rules in CEL."""

    def refused(self, base, path, value, field, word):
        item = self.named(BASES[base])
        vectors.edit(item, path, value)
        with self.subTest(field=field, value=str(value)[:60]):
            code, answer = server.ask(
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


class Protection(Crds):
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


class Reading(Crds):
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
        code, answer = server.ask("PATCH", self.path(item, f"?fieldManager={manager}"), body,
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
        self.addCleanup(server.ask, "DELETE", self.path(item))
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
        self.addCleanup(server.ask, "DELETE", self.path(policy))
        target = policy["spec"]["targetRef"]
        self.apply(policy, "one", {"targetRef": dict(target, rackIndexes=[0, 1])})
        spec = self.apply(policy, "two", {"targetRef": dict(target, rackIndexes=[1, 2])})
        self.assertEqual(spec["targetRef"]["rackIndexes"], [0, 1, 2])

    def test_1_11_apply_takes_other_lists_as_a_whole(self):
        item = self.named(BASES["profile"])
        self.addCleanup(server.ask, "DELETE", self.path(item))
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


class Samples(Crds):
    """2: examples."""

    def test_2_samples_are_accepted(self):
        names = sorted((CRDS / "samples").glob("*.yaml"))
        self.assertGreaterEqual(len(names), 5)
        kinds = set()
        for name in names:
            with self.subTest(name.name):
                # kubectl lets no unknown member pass.
                cluster.kubectl("apply", "--dry-run=server", "-f", name)
                kinds |= {item["kind"] for item in yaml.safe_load_all(name.read_text())}
        self.assertEqual(kinds, set(KINDS) - {RACK})

    def test_2_crds_hold_nothing_that_the_server_warns_of(self):
        """The server answers unknown formats and the like with a warning."""
        environment = dict(os.environ, KUBECONFIG=cluster.kubeconfig)
        for name in sorted(CRDS.glob("*.yaml")):
            with self.subTest(name.name):
                run = harness.subprocess.run(
                    [f"{cluster.bin}/kubectl", "replace", "--dry-run=server",
                     "--validate=strict", "-f", name],
                    env=environment, text=True, capture_output=True)
                self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
