# SPDX-License-Identifier: Apache-2.0
"""mokkactl plan, run as people run it: files in, tables, lists and exit
statuses out.

The build with sanitizers is run for what is small; the many schema vectors and
the large inputs go to the release build, within a limit of memory.  MOKKA_BUILD
names another folder of builds.
"""

import concurrent.futures
import copy
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append("/usr/lib/python3/dist-packages")
sys.path.append(str(ROOT / "tests" / "cluster"))
import vectors  # noqa: E402
import yaml  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MOKKA_BUILD", ROOT / "build"))
SAMPLES = ROOT / "crds" / "samples"
ELIGIBLE = "mokka.nvidia.com/sgpu-node"
ASSIGNED = "mokka.nvidia.com/sgpu-assigned"
CLIQUE = "nvidia.com/gpu.clique"
ASSIGNMENT = "mokka.nvidia.com/sgpu-assignment"
GROUP = "mokka.nvidia.com/v1alpha1"
LIMIT = 120  # seconds that a run may take on a busy machine


def run(arguments, text=None, build="debug", memory=None):
    """A run of mokkactl; memory limits its address space (bytes)."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [BUILD / build / "mokkactl", *arguments], input=text, text=not isinstance(text, bytes),
        capture_output=True, timeout=LIMIT, preexec_fn=limit if memory else None)


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {ELIGIBLE: "true", **labels}}}


def profile(name="p", nodes=4, gpus=2):
    slots = [{"index": i, "pciAddress": f"0000:{i + 1:02x}:00.0",
              "rootComplex": "pci0000:00"} for i in range(gpus)]
    return {"apiVersion": GROUP, "kind": "SGPURackProfile", "metadata": {"name": name},
            "spec": {"rack": {"nodesPerRack": nodes},
                     "node": {"gpus": {"count": gpus, "model": {}, "pci": {},
                                       "memory": {"capacity": "80Gi"}},
                              "topology": {"gpuSlots": slots}}}}


def inventory(name, **groups):
    """Groups as ID=(count, profile, labels)."""
    return {"apiVersion": GROUP, "kind": "SGPUInventory", "metadata": {"name": name},
            "spec": {"rackGroups": [
                {"id": group, "count": count, "profileRef": {"name": of},
                 "placement": {"nodeSelector": {"matchLabels": labels}}}
                for group, (count, of, labels) in groups.items()]}}


def lab():
    """Two racks for pool a, with six Nodes, and one for b, with five."""
    return [profile(),
            inventory("lab", train=(2, "p", {"pool": "a"}), rest=(1, "p", {"pool": "b"})),
            *[node(f"a{i}", pool="a") for i in range(6)],
            *[node(f"b{i}", pool="b") for i in range(5)]]


def find(objects, kind, name=None):
    return [o for o in objects if o["kind"] == kind and
            (name is None or o["metadata"]["name"] == name)]


def condition(of, kind):
    return next(c for c in of["status"]["conditions"] if c["type"] == kind)


class PlanTest(unittest.TestCase):
    def plan(self, objects, *arguments, status=0, said=None):
        """What a plan of the objects prints; stderr must match said."""
        done = run(["plan", "-f", "-", *arguments],
                   json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        self.assertEqual(done.returncode, status, done.stderr)
        if said is not None:
            self.assertRegex(done.stderr, said)
        return done.stdout

    def converged(self, objects):
        return json.loads(self.plan(objects, "-o", "json"))["items"]

    def diff(self, objects, change):
        """The difference that a change of the converged objects makes."""
        objects = copy.deepcopy(self.converged(objects))
        change(objects)
        text = self.plan(objects, "--diff", "--exit-code", status=2)
        # What comes out of it is converged.
        self.assertEqual(
            self.plan(self.converged(objects), "--diff", "--exit-code"), "")
        return text


class Converged(PlanTest):
    def test_racks_bindings_and_projection(self):
        objects = self.converged(lab())
        racks = find(objects, "SGPURack")
        self.assertEqual(len(racks), 3)
        bound = {}
        for rack in racks:
            self.assertEqual(condition(rack, "Ready")["status"], "True")
            for slot in rack["spec"]["nodes"]:
                if "nodeRef" in slot:
                    bound[slot["nodeRef"]["name"]] = (rack, slot)
        self.assertEqual(sorted(bound), [f"a{i}" for i in range(6)] + [f"b{i}" for i in range(4)])
        for name, (rack, slot) in bound.items():
            metadata = find(objects, "Node", name)[0]["metadata"]
            identity = rack["spec"]["identity"]
            self.assertEqual(metadata["uid"], slot["nodeRef"]["uid"])
            self.assertEqual(metadata["labels"][ASSIGNED], "true")
            self.assertEqual(metadata["labels"][CLIQUE], f"{identity['fabricUUID']}.0")
            self.assertEqual(
                json.loads(metadata["annotations"][ASSIGNMENT])["rack"],
                {"name": rack["metadata"]["name"], "uid": rack["metadata"]["uid"]})

    def test_the_status_of_the_inventory(self):
        status = find(self.converged(lab()), "SGPUInventory")[0]["status"]
        self.assertEqual(status["capacity"], {"racks": 3, "nodes": 12, "gpus": 24})
        self.assertEqual(status["usage"], {"requestedNodes": 11, "allocatedNodes": 10,
                                           "availableNodes": 2, "pendingNodes": 1})
        self.assertEqual([c["type"] for c in status["conditions"]],
                         ["Accepted", "Programmed", "RequestsSatisfied", "ResolvedRefs"])
        self.assertEqual([c["status"] for c in status["conditions"]],
                         ["True", "True", "False", "True"])

    def test_yaml_and_json_say_the_same_and_stand(self):
        text = self.plan(lab(), "-o", "json")
        other = self.plan(lab(), "-o", "yaml")
        self.assertEqual(json.loads(text), yaml.safe_load(other))
        for form in text, other:
            done = run(["plan", "-f", "-", "--diff", "--exit-code"], form)
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_twice_the_same_bytes(self):
        self.assertEqual(self.plan(lab(), "-o", "yaml"), self.plan(lab(), "-o", "yaml"))
        backwards = list(reversed(lab()))
        self.assertEqual(find(self.converged(lab()), "Node"), find(self.converged(backwards), "Node"))

    def test_a_node_keeps_what_else_it_has(self):
        given = node("a9", pool="a")
        given["spec"] = {"taints": [{"key": "x", "effect": "NoSchedule"}]}
        given["status"] = {"nodeInfo": {"osImage": "b: c"}}
        given["metadata"]["annotations"] = {"mine": "yes"}
        found = find(self.converged(lab() + [given]), "Node", "a9")[0]
        self.assertEqual(found["spec"], given["spec"])
        self.assertEqual(found["status"], given["status"])
        self.assertEqual(found["metadata"]["annotations"]["mine"], "yes")
        self.assertIn(ASSIGNMENT, found["metadata"]["annotations"])

    def test_defaults_as_documented(self):
        space = uuid.uuid5(uuid.NAMESPACE_DNS, "plan.mokka.nvidia.com")
        for found in self.converged(lab()):
            metadata = found["metadata"]
            self.assertEqual(metadata["uid"], str(uuid.uuid5(
                space, f"{found['kind']}/{metadata['name']}")))
            self.assertEqual(metadata["creationTimestamp"], "2100-01-01T00:00:00Z")
            self.assertEqual(metadata.get("generation"),
                             None if found["kind"] == "Node" else 1)

    def test_who_has_no_timestamp_comes_last(self):
        older = node("z", pool="a")
        older["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z"
        racks = find(self.converged(lab() + [older]), "SGPURack")
        train = next(r for r in racks if r["spec"]["identity"]["rackGroup"] == "train")
        self.assertEqual(train["spec"]["nodes"][0]["nodeRef"]["name"], "z")

    def test_managed_fields_are_shown_where_they_were_given(self):
        given = node("a9", pool="a")
        given["metadata"]["managedFields"] = [
            {"manager": "kubelet", "operation": "Update", "apiVersion": "v1",
             "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:pool": {}}}}}]
        objects = self.converged(lab() + [given])
        managers = [m["manager"] for m in
                    find(objects, "Node", "a9")[0]["metadata"]["managedFields"]]
        self.assertEqual(managers, ["kubelet", "mokka-controller"])
        self.assertNotIn("managedFields", find(objects, "Node", "a0")[0]["metadata"])
        self.assertNotIn("managedFields", find(objects, "SGPURack")[0]["metadata"])

    def test_samples(self):
        nodes = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            node(f"n{i:02}", **{"mokka.nvidia.com/pool": "demo"}) for i in range(54)]})
        done = run(["plan", "-f", SAMPLES / "profile-nvl72.yaml", "-f",
                    SAMPLES / "inventory-54.yaml", "-f", "-", "--timing"], nodes)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"demo +nvl72 +nvl72 +3/3 +54 +54 +54 +0 +0 +54 +0\n")
        self.assertIn("0-2   ++++++++++++++++++\n", done.stdout)
        self.assertRegex(done.stderr, r"(?s)parse .*plan .*print .*peak memory")

    def test_the_directory_of_samples(self):
        done = run(["plan", "-f", SAMPLES, "-o", "json"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        kinds = [o["kind"] for o in json.loads(done.stdout)["items"]]
        self.assertEqual(kinds.count("SGPURuntimePolicy"), 1)
        self.assertEqual(kinds.count("SGPURackProfile"), 2)


class Changes(PlanTest):
    """--diff, and the reasons of mokka-api 9.2 and 7.6."""

    def test_from_nothing(self):
        text = self.plan(lab(), "--diff", "--exit-code", status=2)
        self.assertRegex(text, r"(?m)^create SGPURack lab-train-0-\w+ \(lab/train, rack 0, 4 slots\)$")
        self.assertIn("  bind slot 0 Node a0\n", text)
        self.assertIn('  + metadata.finalizers: ["mokka.nvidia.com/inventory-cleanup"]\n', text)
        self.assertRegex(text, r"(?m)^update Node a0$")

    def test_selector_mismatch_and_a_free_slot_is_taken(self):
        def change(objects):
            find(objects, "Node", "a1")[0]["metadata"]["labels"]["pool"] = "c"
            objects.append(node("a9", pool="a"))
        text = self.diff(lab(), change)
        self.assertIn("  release slot 1 Node a1: SelectorMismatch\n", text)
        self.assertIn("  bind slot 2 Node a9\n", text)

    def test_nodes_that_leave(self):
        def change(objects):
            objects.remove(find(objects, "Node", "a1")[0])
            find(objects, "Node", "a2")[0]["metadata"]["labels"].pop(ELIGIBLE)
            find(objects, "Node", "a3")[0]["metadata"].update(
                deletionTimestamp="2026-01-02T03:04:05Z", finalizers=["x/y"])
        text = self.diff(lab(), change)
        self.assertIn("  release slot 1 Node a1: NodeGone\n", text)
        self.assertIn("  release slot 2 Node a2: NodeGone\n", text)
        self.assertIn("  release slot 3 Node a3: NodeIneligible\n", text)
        self.assertRegex(text, rf'update Node a2\n  - metadata.labels\[{ASSIGNED}\]: "true"\n')

    def test_fewer_racks(self):
        def change(objects):
            find(objects, "SGPUInventory")[0]["spec"]["rackGroups"][0]["count"] = 1
        text = self.diff(lab(), change)
        self.assertRegex(text, r"delete SGPURack lab-train-1-\w+ \(lab/train, rack 1, 4 slots\): "
                         r"CapacityShrink\n  release slot 0 Node a4: CapacityShrink\n")

    def test_smaller_racks(self):
        def change(objects):
            found = find(objects, "SGPURackProfile")[0]
            found["spec"]["rack"]["nodesPerRack"] = 3
            found["metadata"]["generation"] = 2
        text = self.diff(lab(), change)
        self.assertIn("  release slot 3 Node a3: CapacityShrink\n", text)
        self.assertIn("  bind slot 2 Node a3\n", text)
        self.assertIn("  ~ spec.profileRef.generation: 1 -> 2\n", text)

    def test_a_group_less(self):
        def change(objects):
            find(objects, "SGPUInventory")[0]["spec"]["rackGroups"].pop(0)
        text = self.diff(lab(), change)
        self.assertEqual(len(re.findall(r"(?m)^delete SGPURack .*: GroupRemoved$", text)), 2)

    def test_a_rack_that_is_being_deleted_comes_again(self):
        def change(objects):
            find(objects, "SGPURack")[0]["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
        text = self.diff(lab(), change)
        self.assertRegex(text, r"(?m)^delete SGPURack (lab-rest-0-\w+) .*: RackDeleting$")
        self.assertRegex(text, r"(?m)^create SGPURack lab-rest-0-")

    def test_an_inventory_that_is_being_deleted(self):
        def change(objects):
            find(objects, "SGPUInventory")[0]["metadata"]["deletionTimestamp"] = \
                "2026-01-02T03:04:05Z"
        text = self.diff(lab(), change)
        self.assertRegex(text, r"(?m)^delete SGPUInventory lab$")
        self.assertEqual(len(re.findall(r"(?m)^delete SGPURack .*: InventoryDeleting$", text)), 3)

    def test_an_inventory_that_is_displaced(self):
        objects = self.converged([profile(nodes=1000), inventory("young", a=(10, "p", {"x": "y"}))])
        first = inventory("old", a=(95, "p", {"x": "z"}))
        first["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z"
        text = self.plan(objects + [first], "--diff")
        self.assertEqual(len(re.findall(r"(?m)^delete SGPURack .*: CapacityRejected$", text)), 10)
        self.assertEqual(len(re.findall(r"(?m)^create SGPURack old-a-", text)), 95)

    def test_nothing_changes_without_a_profile(self):
        objects = [o for o in self.converged(lab()) if o["kind"] != "SGPURackProfile"]
        text = self.plan(objects, "--diff")
        self.assertNotIn("SGPURack ", text)
        self.assertIn('"ReferencesUnresolved"', text)

    def test_long_values_show_where_they_differ(self):
        def change(objects):
            find(objects, "SGPURackProfile")[0]["spec"]["software"] = {"cudaVersion": "13"}
            find(objects, "SGPURackProfile")[0]["metadata"]["generation"] = 2
        text = self.diff(lab(), change)
        line = re.search(rf"  ~ metadata.annotations\[{ASSIGNMENT}\]: (.*) -> (.*)\n", text)
        self.assertNotEqual(line[1], line[2])


class Tables(PlanTest):
    def test_groups_map_and_sum(self):
        text = self.plan(lab(), "--exit-code", status=2)
        self.assertRegex(text, r"(?m)^lab +train +p +2/2 +8 +6 +6 +0 +2 +6 +0$")
        self.assertRegex(text, r"(?m)^lab +rest +p +1/1 +4 +4 +4 +0 +0 +5 +1$")
        self.assertIn("lab/train\n              0   ++++\n              1   ++..\n", text)
        self.assertIn("Without a slot\n  b4  lab/rest\n", text)
        self.assertIn("11 Nodes, 11 of them eligible", text)
        self.assertIn("3 objects created, 11 updated, 0 deleted; 10 slots bound, 0 freed", text)
        self.assertNotIn("\x1b", text)

    def test_nothing_would_change(self):
        text = self.plan(self.converged(lab()), "--exit-code")
        self.assertIn("Nothing would change.\n", text)
        self.assertIn("   ####\n", text)

    def test_freed_slots_and_racks_that_go(self):
        objects = self.converged(lab())
        find(objects, "SGPUInventory")[0]["spec"]["rackGroups"][0]["count"] = 1
        objects.remove(find(objects, "Node", "a0")[0])
        objects.remove(find(objects, "Node", "a4")[0])
        text = self.plan(objects)
        self.assertIn("              0   +###\n              1 x --..\n", text)

    def test_conflicts(self):
        overlap = [profile(), inventory("x", g=(1, "p", {"pool": "a"}), h=(1, "p", {})),
                   node("n", pool="a")]
        self.assertIn("Conflicts\n  n  SelectorOverlap  x/g, x/h\n", self.plan(overlap))
        foreign = node("n", pool="a", **{CLIQUE: "other.0"})
        foreign["metadata"]["managedFields"] = [
            {"manager": "gfd", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:metadata": {"f:labels": {f"f:{CLIQUE}": {}}}}}]
        text = self.plan([profile(), inventory("x", g=(1, "p", {"pool": "a"})), foreign])
        self.assertIn(f"  n  NodeMetadataConflict  {CLIQUE} by gfd\n", text)
        self.assertIn("   !...\n", text)
        self.assertIn("x: Programmed (NodeMetadataConflict): ", text)
        twice = self.converged([profile(), inventory("x", g=(2, "p", {})), node("n")])
        racks = find(twice, "SGPURack")
        racks[1]["spec"]["nodes"][2]["nodeRef"] = racks[0]["spec"]["nodes"][0]["nodeRef"]
        self.assertRegex(self.plan(twice), r"  n  DuplicateBinding  x-g-\w+-\w+ slot \d, ")

    def test_nodes_that_no_group_selects(self):
        given = [profile(), inventory("x", g=(1, "p", {"pool": "a"})), node("n", pool="a")]
        self.assertNotIn("Selected by no group", self.plan(given))
        text = self.plan(given + [node(f"o{i:02}", pool="b") for i in range(25)])
        self.assertIn("Selected by no group that takes part\n  o00\n", text)
        self.assertIn("  o19\n  ... 5 more\n", text)
        # Without inventories that is no news, nor of a Node that is not eligible.
        self.assertNotIn("Selected by", self.plan([node("o")]))
        plain = node("plain")
        del plain["metadata"]["labels"]
        self.assertNotIn("Selected by", self.plan(given + [plain]))

    def test_refusals(self):
        bad = profile()
        bad["spec"]["node"]["topology"]["gpuSlots"][0]["numaNode"] = -1
        text = self.plan([bad, inventory("x", g=(1, "p", {}))])
        self.assertRegex(text, r"the API server would refuse rack x-g-0-\w+: "
                         r"spec.nodes\[0\].gpus\[0\].numaNode: must be 0 or more, but is -1\n")
        large = inventory("x", g=(100000, "p", {}), h=(1, "p", {}))
        self.assertIn("x: Accepted (CapacityExceeded): ", self.plan([profile(), large]))

    def test_wide_and_many_racks(self):
        text = self.plan([profile(nodes=200), inventory("x", g=(50, "p", {})),
                          *[node(f"n{i:03}") for i in range(210)]])
        plus = "+" * 64 + "\n" + " " * 18
        self.assertIn(f"              0   {plus}{plus}{plus}++++++++\n", text)
        self.assertIn("              1   ++++++++++" + "." * 54 + " +136 free\n", text)
        self.assertIn("           2-49   " + "." * 64 + " +136 free\n", text)
        nodes = [node(f"n{i:03}", rack=str(i % 50)) for i in range(0, 150, 3)]
        groups = [profile(nodes=2), inventory("x", g=(50, "p", {})), *nodes]
        objects = self.converged(groups)
        for i, found in enumerate(find(objects, "Node")):
            if i % 4 == 0:
                objects.remove(found)
        text = self.plan(objects)
        self.assertLess(len(text.splitlines()), 80)

    def test_racks_of_nobody(self):
        objects = [o for o in self.converged(lab()) if o["kind"] != "SGPUInventory"]
        text = self.plan(objects)
        self.assertIn("There is no inventory.\n", text)
        self.assertRegex(text, r"Racks of no declared group\n  lab-rest-0-\w+ +lab/rest +stays\n")


class CommandLine(unittest.TestCase):
    def test_help_teaches(self):
        done = run(["plan", "--help"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("-f FILE", "kubectl get", "Exit status:", "--exit-code"):
            self.assertIn(word, done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 81)
        self.assertIn("plan", run(["--help"]).stdout)

    def test_version(self):
        self.assertRegex(run(["--version"]).stdout, r"^mokkactl \d+\.\d+\.\d+ \(commit .+, build .+\)\n$")

    def test_mistakes(self):
        for arguments, said in (
                ([], "usage: mokkactl COMMAND"),
                (["plam"], "there is no command plam"),
                (["plan"], "no files: name them with -f"),
                (["plan", "x.yaml"], "what is x.yaml?"),
                (["plan", "-f", "x", "-o", "xml"], "-o must be yaml or json, but is xml"),
                (["plan", "-f", "x", "-o", "yaml", "--diff"], "only one of"),
                (["plan", "-f", "-", "-f", "-"], "stdin (-f -) can be read only once"),
                (["plan", "--what"], "see mokkactl plan --help")):
            done = run(arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""), arguments)
            self.assertIn(said, done.stderr)

    def test_an_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [BUILD / "debug" / "mokkactl", "plan", "-f", SAMPLES, "-o", "yaml"], stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout cannot be written", done.stderr)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
        return path

    def test_a_directory_in_the_order_of_names(self):
        for name in "b.yml", "a.yaml", "c.json":
            self.write(name, json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": name, "labels": {"Bad Key": "x"}}}))
        self.write("d.txt", "never: [read")
        (self.folder / "e.yaml").mkdir()
        done = run(["plan", "-f", self.folder])
        self.assertEqual(done.returncode, 1)
        order = [pathlib.Path(line.split(":")[0]).name for line in done.stderr.splitlines()]
        self.assertEqual(order, ["a.yaml", "b.yml", "c.json"])

    def test_an_empty_directory_and_no_file(self):
        done = run(["plan", "-f", self.folder, "-f", self.folder / "x"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("a directory without files named *.yaml, *.yml or *.json", done.stderr)
        self.assertIn("x: error: cannot be opened: No such file", done.stderr)

    def test_many_files_many_documents_and_lists(self):
        one = self.write("one.yaml", yaml.safe_dump_all([profile(), {
            "apiVersion": "v1", "kind": "List", "items": [
                inventory("x", g=(1, "p", {})),
                {"apiVersion": "v1", "kind": "NodeList", "items": [node("n1")]}]}]))
        raw = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [
            {"metadata": node(f"n{i}")["metadata"]} for i in (2, 3)]}
        two = self.write("two.json", json.dumps(raw) + "\n---\n" + json.dumps(node("n4")))
        done = run(["plan", "-f", one, "-f", two])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("   ++++\n", done.stdout)

    def test_files_of_others_take_a_line_each(self):
        self.write("a.yaml", "- 1\n" * 100 + "---\na: 1\n---\n2\n")
        self.write("b.json", json.dumps({"kind": "List", "apiVersion": "v1",
                                         "items": [{"x": i} for i in range(300)]}))
        self.write("c.yaml", "{{- if .Values.a }}\n" * 50)
        done = run(["plan", "-f", self.folder])
        self.assertEqual(done.stderr.replace(f"{self.folder}/", "").splitlines(), [
            "a.yaml:1: error: document 1: no object of Kubernetes: it has neither kind nor "
            "apiVersion (nor have 2 more in this file)",
            "b.json:1: error: document 1, item 1: no object of Kubernetes: it has neither kind nor "
            "apiVersion (nor have 299 more in this file)",
            "c.yaml:1: error: document 1: not JSON: string or '}' expected near '{'"])
        self.assertEqual(done.returncode, 1)

    def test_a_folder_full_of_files_of_others(self):
        for i in range(50):
            self.write(f"{i:02}.yaml", "a: 1\n")
        self.write("node.yaml", yaml.safe_dump(node("n1")))
        done = run(["plan", "-f", self.folder])
        self.assertEqual(done.returncode, 1)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 21)
        self.assertEqual(lines[-1], "error: 30 more files hold what is no object of Kubernetes")

    def test_the_same_object_twice(self):
        one = self.write("one.yaml", "# here\n" + yaml.safe_dump(profile()))
        two = self.write("two.yaml", "---\n" + yaml.safe_dump(profile()))
        done = run(["plan", "-f", one, "-f", two])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr, f"{two}:2: error: document 1, SGPURackProfile p: the same object was given "
            f"already: SGPURackProfile p in {one}:2; take one of them out\n")
        done = run(["plan", "-f", self.folder])
        self.assertIn(f"{two}:2: error: document 1, SGPURackProfile p: the same object was given "
                      f"already: SGPURackProfile p in {one}:2; take one of them out\n", done.stderr)


class BadInput(Files):
    """One line for each problem, with file, line, document and field."""

    def check(self, name, content, *said, build="debug", status=1):
        path = self.write(name, content)
        done = run(["plan", "-f", path], build=build)
        self.assertEqual(done.returncode, status, done.stderr)
        if status:
            self.assertEqual(done.stdout, "")
        lines = done.stderr.replace(f"{self.folder}/", "").splitlines()
        for line in said:
            self.assertIn(line, lines)
        for line in lines:
            self.assertNotRegex(line, r"Sanitizer|runtime error")
        return lines

    def test_aliases(self):
        bomb = "a: &a [x]\n" + "".join(
            f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]\n"
            for a, b in zip("abcdefgh", "bcdefghi"))
        lines = self.check("bomb.yaml", bomb, "bomb.yaml:2: error: document 1: the alias *a is not "
                           "accepted here: write the value out")
        self.assertEqual(len(lines), 64)

    def test_merge_keys(self):
        self.check("x.yaml", "a: &a {b: 1}\nc:\n  <<: {b: 1}\n", "x.yaml:3: error: document 1: "
                   "merging (<<) is not accepted here: write the members out")

    def test_duplicate_keys(self):
        self.check("x.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  name: b\nkind: c\n",
                   'x.yaml:5: error: document 1: the key "name" comes twice',
                   'x.yaml:6: error: document 1: the key "kind" comes twice')
        self.check("x.json", '{"apiVersion": "v1",\n"kind": "Node",\n"kind": "Pod"}',
                   "x.json:3: error: document 1: not JSON: duplicate object key near '\"kind\"'")

    def test_tabs(self):
        self.check("x.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n\tname: a\n",
                   "x.yaml:4: error: document 1: not YAML: while scanning for the next token: found "
                   "character that cannot start any token")
        self.check("x.json", '{\t"apiVersion":\t"v1", "kind": "Node", "metadata": {"name": "n"}}',
                   status=0)

    def test_other_encodings(self):
        self.check("x.yaml", b"apiVersion: v1\nkind: N\xf6de\n",
                   "x.yaml:2: error: not YAML in UTF-8: invalid trailing UTF-8 octet "
                   "(0x64 at byte 23)")
        self.check("x.json", b'{"kind": "N\xf6de"}',
                   "x.json:1: error: document 1: not JSON: unable to decode byte 0xf6 near '\"N'")
        self.check("y.yaml", "kind: x".encode("utf-16"))

    def test_binary(self):
        lines = self.check("x.yaml", bytes(range(256)) * 100)
        self.assertRegex(lines[0], "x.yaml:1: error: not YAML in UTF-8: control characters")
        self.check("y.yaml", b"\x00" * 100)
        self.check("z.json", b"{" + bytes(range(256)) * 100)

    def test_empty(self):
        nothing = ("error: nothing to plan with: there is no SGPURackProfile, SGPUInventory, "
                   "SGPURack or Node in the input")
        self.check("x.yaml", "", "x.yaml: warning: there is no object in it", nothing)
        self.check("x.yaml", "# only words\n---\n---\n", nothing)
        self.check("x.json", '{"apiVersion": "v1", "kind": "List", "items": []}', nothing)

    def test_deep(self):
        self.check("x.yaml", "a: " + "[" * 5_000_000, "x.yaml:1: error: document 1: an object nested "
                   "deeper than 100 levels; nothing behind it is read")
        deep = '{"a":' * 101 + "1" + "}" * 101
        self.check("x.json", deep + json.dumps(node("n")),
                   "x.json:1: error: document 1: an object nested deeper than 100 levels")
        self.check("y.json", '{"a":' * 1_000_000)

    def test_many_values(self):
        head = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: ["
        self.check("x.yaml", head + "1," * 300_000 + "]\n",
                   "x.yaml:4: error: document 1: an object of more than 262144 values")
        self.check("x.json", '{"a": [' + "1," * 300_000 + "1]}",
                   "x.json:1: error: document 1: an object of more than 262144 values")

    def test_unknown_kinds_are_passed_over(self):
        self.check("x.yaml", yaml.safe_dump_all([
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
            {"apiVersion": "x/v1", "kind": "Node", "anything": 1},
            {"apiVersion": "v1", "kind": "Pod"}, node("n1")]),
            "x.yaml:1: warning: kind Pod (v1) has no part in a plan: 2 passed over",
            "x.yaml:6: warning: kind Node (x/v1) has no part in a plan: 1 passed over", status=0)

    def test_a_kind_that_our_group_does_not_have(self):
        self.check("x.yaml", yaml.safe_dump({
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventry",
            "metadata": {"name": "x"}}),
            "x.yaml:1: error: document 1, SGPUInventry x: kind: there is no kind SGPUInventry "
            "in mokka.nvidia.com")

    def test_a_version_that_is_not_known(self):
        self.check("x.yaml", "kind: SGPURack\nmetadata: {name: r}\napiVersion: mokka.nvidia.com/v1\n",
                   "x.yaml:1: error: document 1, SGPURack r: apiVersion: must be "
                   "mokka.nvidia.com/v1alpha1, but is mokka.nvidia.com/v1")

    def test_no_kind(self):
        self.check("x.yaml", "a: 1\n---\n- 1\n---\nkind: [x]\napiVersion: v1\n---\nkind: Node\n",
                   "x.yaml:1: error: document 1: no object of Kubernetes: it has neither kind nor "
                   "apiVersion (nor have 1 more in this file)",
                   "x.yaml:5: error: document 3: kind is missing, or is no text",
                   "x.yaml:8: error: document 4: apiVersion is missing, or is no text")
        self.check("x.json", '{"items": [1], "kind": "x", "apiVersion": "v1"}',
                   "x.json:1: error: document 1: kind: must be List (or end so) where there are items")

    def test_all_problems_of_all_files_in_one_run(self):
        two = self.write("two.yaml", yaml.safe_dump(inventory("other", g=(0, "p", {}))))
        one = self.write("one.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            node("n"), {**node("m"), "metadata": {"name": "M"}},
            inventory("x", g=("7", "", {}))]}, indent=1))
        done = run(["plan", "-f", one, "-f", two, "-f", self.folder / "gone"])
        lines = done.stderr.replace(f"{self.folder}/", "").splitlines()
        self.assertEqual(done.returncode, 1)
        text = one.read_text().splitlines()
        for line, wanted in zip(lines, (
                ("one.json", '"M"', "document 1, item 2, Node M: metadata.name: must be a DNS name"),
                ("one.json", '"count"', "document 1, item 3, SGPUInventory x: "
                 "spec.rackGroups[0].count: must be a whole number, but is a text"),
                ("one.json", '"name": ""', "spec.rackGroups[0].profileRef.name: must have 1 or more"),
                ("two.yaml", None, "document 1, SGPUInventory other: spec.rackGroups[0].count: must be 1 "
                 "to 100000, but is 0"),
                ("gone", None, "cannot be opened"))):
            self.assertTrue(line.startswith(wanted[0] + ":"), line)
            self.assertIn(wanted[2], line)
            if wanted[1]:
                self.assertIn(wanted[1], text[int(line.split(":")[1]) - 1])

    def test_unknown_fields_are_told_and_ignored(self):
        given = inventory("x", g=(1, "p", {}))
        given["spec"]["rackGroups"][0]["placement"]["nodeSelektor"] = {}
        given["metadata"]["extra"] = 1
        self.check("x.json", json.dumps(given),
                   "x.json:1: warning: document 1, SGPUInventory x: metadata.extra: there is no such "
                   "field; it is ignored",
                   "x.json:1: warning: document 1, SGPUInventory x: "
                   "spec.rackGroups[0].placement.nodeSelektor: there is no such field; it is ignored",
                   status=0)

    def test_a_flood_of_problems_is_cut(self):
        lines = self.check("x.json", "".join(
            json.dumps({**node("n"), "metadata": {"name": f"N{i}"}}) for i in range(250)),
            "x.json: error: 150 more like these are not shown")
        self.assertEqual(len(lines), 101)

    def test_control_characters_do_not_reach_the_terminal(self):
        for line in self.check("x.json", json.dumps({**node("n"), "kind": "No\u001b[31mde\n"})):
            self.assertNotRegex(line, r"[\x00-\x1f\x7f]")


class Large(Files):
    """Memory goes with the largest object, not with the file."""

    def stream(self, pieces, *arguments, memory):
        process = subprocess.Popen(
            [BUILD / "release" / "mokkactl", "plan", "-f", "-", *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)))
        try:
            for piece in pieces:
                process.stdin.write(piece)
        except BrokenPipeError:
            pass
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out.decode(), err.decode()

    def test_a_number_of_a_gigabyte(self):
        digits = [b"9" * (1 << 20)] * 1024
        for head in (b"apiVersion: v1\nkind: Node\nmetadata:\n  generation: ",
                     b'{"apiVersion": "v1", "kind": "Node",\n"metadata": {"generation": '):
            status, _, err = self.stream([head, *digits, b"}}\n"], memory=256 << 20)
            self.assertEqual(status, 1)
            self.assertRegex(err, "more than 16777216 bytes in one value|an object larger than 16 MiB")

    def test_a_list_of_400_megabytes(self):
        pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p" * 200}}).encode()
        items = (b",".join([pod] * 4000) + b",\n") * 1
        count = (400 << 20) // len(items)
        pieces = [b'{"apiVersion": "v1", "items": [', *[items] * count,
                  json.dumps(node("n")).encode(), b'], "kind": "List"}']
        status, out, err = self.stream(pieces, memory=192 << 20)
        self.assertEqual(status, 0, err)
        self.assertIn(f"kind Pod (v1) has no part in a plan: {4000 * count} passed over", err)
        self.assertIn("1 Nodes, 1 of them eligible", out)

    def test_a_yaml_list_of_20000_nodes(self):
        text = ["apiVersion: v1\nitems:\n"]
        text += [f"- apiVersion: v1\n  kind: Node\n  metadata:\n    labels:\n      {ELIGIBLE}: \"true\"\n"
                 f"    name: n-{i}\n" for i in range(20000)]
        text += ["kind: List\n"]
        text += ["---\n", yaml.safe_dump(profile(nodes=100)),
                 "---\n", yaml.safe_dump(inventory("x", g=(200, "p", {})))]
        status, out, err = self.stream([t.encode() for t in text], memory=1 << 30)
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"x +g +p +200/200 +20000 +20000 +20000 ")


class Document(unittest.TestCase):
    """What docs/plan.md shows is what happens."""

    def test_the_commands_of_the_manual(self):
        text = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
        blocks = re.findall(r"(?ms)^```console\n(.*?)^```$", text)
        self.assertGreater(len(blocks), 3)
        path = f"{BUILD / 'debug'}:{os.environ['PATH']}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for block in blocks:
            commands = re.split(r"(?m)^\$ ", block)[1:]
            for command in commands:
                line, _, shown = command.partition("\n")
                if "<<'EOF'" in line:
                    body, _, shown = shown.partition("EOF\n")
                    line += "\n" + body + "EOF"
                done = subprocess.run(
                    ["sh", "-c", line.replace("/tmp/plan", f"{folder.name}/plan")], cwd=ROOT, env={**os.environ, "PATH": path},
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
                    check=False)
                self.assertEqual(done.stdout, shown, line)


class SchemaVectors(unittest.TestCase):
    """Every vector of mokka-api 1: what the API server refuses is refused with the
    field named, what it allows is allowed, in the form in which it is stored."""

    @staticmethod
    def named(text):
        fields = re.findall(r"(?m) error: .*?: ((?:metadata|spec|status|kind)[^ ]*): ", text)
        return {vectors.plain(field) for field in fields}

    def refused(self, output, done):
        if output["code"] == 400:  # fieldValidation=Strict: told, but taken
            return None if "warning" in done.stderr or done.returncode == 1 else "nothing said"
        if done.returncode != 1:
            return f"exit status {done.returncode}"
        named = self.named(done.stderr)
        wanted = [vectors.plain(field) for field in output["fields"]]
        missing = [field for field in wanted if field not in named]
        stray = [name for name in named if not any(
            vectors.inside(name, field) or vectors.inside(field, name) for field in wanted)]
        return f"not named {missing}, named {stray}: {done.stderr}" if missing or stray else None

    @staticmethod
    def allowed(given, output, done):
        if done.returncode != 0:
            return f"exit status {done.returncode}: {done.stderr}"
        found = json.loads(done.stdout)["items"][0]
        if given.get("op") == "status":  # a file has spec and status in one
            return None
        for path, *value in output.get("object", []):
            there, what = vectors.lookup(found, path)
            if path[0] == "status":  # nor is it dropped on the way
                continue
            if there != bool(value) or (value and json.dumps(what, sort_keys=True) != json.dumps(
                    vectors.expand(value[0]), sort_keys=True)):
                return f"{path} is {what}"
        return None

    def check(self, vector):
        given, output = vector["input"], vector["output"]
        base = self.bases[given["base"]]
        done = run(["plan", "-f", "-", "-o", "json"], vectors.body_of(given, base, base), "release")
        wrong = self.refused(output, done) if output["result"] == "deny" else \
            self.allowed(given, output, done)
        return wrong and f"{vector['id']} ({vector['note']}): {wrong}"

    def test_schema_vectors(self):
        self.bases, _, every = vectors.load()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [what for what in pool.map(self.check, every) if what]
        results = [vector["output"]["result"] for vector in every]
        print(f"{results.count('deny')} refusals and {results.count('allow')} allowances, "
              f"{len(wrong)} wrong")
        self.assertGreater(len(every), 800)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
