# SPDX-License-Identifier: Apache-2.0
"""The objects of a converged cluster as the original control plane leaves them,
made out of the golden values in tests/vectors: rack-03 and its profile, with the
names and UUIDs that follow from the uids this API server gives (mokka-api 3;
check() holds the derivation to the vectors), and texts of another wording."""

import copy
import hashlib
import json
import struct
import uuid

import harness
from harness import ASSIGNED, ASSIGNMENT, CLIQUE, GROUP, ROOT

VECTORS = json.loads((ROOT / "tests" / "vectors" / "identity.json").read_text())
SPACE = uuid.UUID(VECTORS["identityNamespaceUUID"])
MANAGER = "fieldManager=mokka-controller"
API = "mokka.nvidia.com/v1alpha1"


def vector(name):
    return next(v for v in VECTORS["vectors"] if v["id"] == name)


def u32(number):
    return struct.pack(">I", number)


def prefixed(text):
    return u32(len(text.encode())) + text.encode()


def derived(kind, uid, group, *coordinates):
    name = b"mokka-identity-v1" + prefixed(kind) + prefixed(uid) + prefixed(group)
    name += b"".join(map(u32, coordinates))
    digest = bytearray(hashlib.sha1(SPACE.bytes + name).digest()[:16])
    digest[6] = digest[6] & 0x0f | 0x50
    digest[8] = digest[8] & 0x3f | 0x80
    return uuid.UUID(bytes=bytes(digest))


def serial(*place):
    return f"{int.from_bytes(derived('serial', *place).bytes[:8], 'big'):020d}"


def rack_name(inventory, uid, group, index):
    digest = hashlib.sha256(prefixed(uid) + prefixed(group) + u32(index)).hexdigest()
    return f"{inventory}-{group}-{index}-{digest[:12]}"


def check(test):
    """The derivation gives what rack-03 has."""
    given, wanted = vector("rack-03")["input"], vector("rack-03")["output"]
    test.assertEqual(render(given["inventoryName"], given["inventoryUID"],
                            given["profile"], given["rackIndex"]),
                     (wanted["name"], wanted["spec"]))


def render(inventory, uid, profile, index):
    """(name, spec) of a rack of group train."""
    spec = copy.deepcopy(vector("rack-03")["output"]["spec"])
    group = spec["identity"]["rackGroup"]
    spec["inventoryRef"] = {"name": inventory, "uid": uid}
    spec["profileRef"].update({k: profile[k] for k in ("name", "uid", "generation")})
    spec["identity"].update(rackIndex=index,
                            fabricUUID=str(derived("fabric", uid, group, index)))
    for node in spec["nodes"]:
        for gpu in node["gpus"]:
            place = (uid, group, index, node["index"], gpu["index"])
            gpu["uuid"] = f"GPU-{derived('gpu', *place)}"
            gpu["serial"] = serial(*place)
    return rack_name(inventory, uid, group, index), spec


class Original:
    """An inventory of racks with every slot bound, projected and reported."""

    RACKS = 3

    def __init__(self, cluster):
        self.declare(cluster)
        for index in range(self.RACKS):
            self.rack(index)
        self.report(f"{GROUP}/sgpuinventories/{self.given['inventoryName']}",
                    self.inventory_status())

    def declare(self, cluster):
        self.api = cluster.api
        self.given = vector("rack-03")["input"]
        self.profile = self.create("sgpurackprofiles", "SGPURackProfile", {
            "name": self.given["profile"]["name"]}, self.given["profileSpec"])
        self.per_rack = self.profile["spec"]["rack"]["nodesPerRack"]
        self.inventory = self.create("sgpuinventories", "SGPUInventory", {
            "name": self.given["inventoryName"],
            "finalizers": ["mokka.nvidia.com/inventory-cleanup"]},
            {"rackGroups": [{
                "id": self.given["rackGroup"], "count": self.RACKS,
                "profileRef": {"name": self.given["profile"]["name"]},
                "placement": {"nodeSelector": {"matchLabels": {"pool": "train"}}}}]})

    def create(self, plural, kind, metadata, spec, query=""):
        return self.api.create(f"{GROUP}/{plural}{query}", {
            "apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec})

    def report(self, path, status):
        item = self.api.get(path)
        item["status"] = status
        self.api.ask("PUT", f"{path}/status", item)

    def rack(self, index):
        meta = self.inventory["metadata"]
        profile = self.profile["metadata"]
        name, spec = render(meta["name"], meta["uid"], profile, index)
        nodes = [self.node(f"worker-{index}-{slot['index']}") for slot in spec["nodes"]]
        for slot, node in zip(spec["nodes"], nodes):
            slot["nodeRef"] = {k: node["metadata"][k] for k in ("name", "uid")}
        rack = self.create("sgpuracks", "SGPURack", {
            "name": name, **self.rack_metadata(index)}, spec, f"?{MANAGER}")
        for slot in spec["nodes"]:
            self.project(rack, slot)
        self.report(f"{GROUP}/sgpuracks/{name}", {
            "observedGeneration": rack["metadata"]["generation"],
            "assignedNodes": len(nodes),
            "conditions": self.conditions(rack, ("Ready", "Ready"))})

    def rack_metadata(self, index):
        meta = self.inventory["metadata"]
        return {
            "finalizers": ["mokka.nvidia.com/rack-cleanup"],
            "labels": {"mokka.nvidia.com/inventory": meta["name"],
                       "mokka.nvidia.com/rack-group": self.given["rackGroup"],
                       "mokka.nvidia.com/rack-index": str(index)},
            "annotations": {"mokka.nvidia.com/inventory-uid": meta["uid"]},
            "ownerReferences": [{
                "apiVersion": API, "kind": "SGPUInventory", "name": meta["name"],
                "uid": meta["uid"], "controller": True, "blockOwnerDeletion": False}]}

    def node(self, name):
        return self.api.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
                "mokka.nvidia.com/sgpu-node": "true", "pool": "train"}}})

    @staticmethod
    def projection(rack, slot):
        """Labels and annotations of the Node."""
        spec, node = rack["spec"], slot["nodeRef"]
        value = {"v": 1, "inventory": spec["inventoryRef"],
                 "rack": {k: rack["metadata"][k] for k in ("name", "uid")},
                 "profile": {k: spec["profileRef"][k] for k in ("name", "uid", "revision")},
                 "rackGroup": spec["identity"]["rackGroup"],
                 "rackIndex": spec["identity"]["rackIndex"],
                 "nodeIndex": slot["index"], "nodeUID": node["uid"]}
        return {"labels": {ASSIGNED: "true",
                           CLIQUE: f"{spec['identity']['fabricUUID']}.0"},
                "annotations": {ASSIGNMENT: json.dumps(value, separators=(",", ":"))}}

    def project(self, rack, slot):
        node = slot["nodeRef"]
        self.api.ask("PATCH", f"/api/v1/nodes/{node['name']}?{MANAGER}&force=false", {
            "apiVersion": "v1", "kind": "Node", "metadata": {
                "name": node["name"], "uid": node["uid"],
                **self.projection(rack, slot)}},
            "application/apply-patch+yaml")

    @staticmethod
    def conditions(item, *rows):
        return [{"type": kind, "status": "True", "reason": reason,
                 "message": "in the words of somebody else",
                 "observedGeneration": item["metadata"]["generation"],
                 "lastTransitionTime": "2026-01-02T03:04:05Z"} for kind, reason in rows]

    def inventory_status(self):
        nodes = self.RACKS * self.per_rack
        gpus = nodes * self.profile["spec"]["node"]["gpus"]["count"]
        capacity = {"racks": self.RACKS, "nodes": nodes, "gpus": gpus}
        usage = {"requestedNodes": nodes, "allocatedNodes": nodes, "availableNodes": 0,
                 "pendingNodes": 0}
        return {
            "observedGeneration": self.inventory["metadata"]["generation"],
            "capacity": capacity, "usage": usage,
            "rackGroups": [{"id": self.given["rackGroup"],
                            "profileName": self.given["profile"]["name"],
                            "capacity": capacity, "usage": usage}],
            "rackGroupsSummary": self.given["rackGroup"],
            "conditions": self.conditions(
                self.inventory, ("Accepted", "Accepted"), ("Programmed", "Programmed"),
                ("RequestsSatisfied", "RequestsSatisfied"),
                ("ResolvedRefs", "ProfilesResolved"))}


class Declared(Original):
    """The same before the original has done anything: profile, inventory and
    Nodes."""

    def __init__(self, cluster):
        self.declare(cluster)
        self.api.merge(f"{GROUP}/sgpuinventories/{self.given['inventoryName']}", {
            "metadata": {"finalizers": None}})
        for index in range(self.RACKS):
            for slot in range(self.per_rack):
                self.node(f"worker-{index}-{slot}")


def snapshot(cluster):
    """Every object of ours and every Node, with its version."""
    return {(plural, item["metadata"]["name"]): item["metadata"]["resourceVersion"]
            for plural, path in (
                ("nodes", "/api/v1/nodes"),
                *((p, f"{harness.GROUP}/{p}") for p in (
                    "sgpurackprofiles", "sgpuinventories", "sgpuracks")))
            for item in cluster.api.items(path)}
