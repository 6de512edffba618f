# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzz programs begin with: inputs as they should be, made by
the scripted API server and from the samples.

usage: seeds.py FOLDER; FOLDER/frame, FOLDER/informer and FOLDER/text are made
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "process"))
import driver  # noqa: E402
import api  # noqa: E402
import yaml  # noqa: E402

SAMPLES = ROOT / "crds" / "samples"
PLURALS = ("sgpurackprofiles", "sgpuinventories", "sgpuracks", "nodes")  # by kind
LIST = 4  # of the first byte; without it, a watch
ASSIGNMENT = ('{"v":1,"inventory":{"name":"demo","uid":"7f0e6a52"},"rack":{"name":"r",'
              '"uid":"b775f553"},"slot":17}')
CONFIG = """apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: b, user: c}}]
clusters:
- name: b
  cluster: {server: "https://host:6443", certificate-authority-data: QQ==}
users:
- {name: c, user: {tokenFile: token}}
"""
TEXTS = ("1e3", "1E", "0.5", "100m", "1Ki", "9223372036854775807", "-1.5Gi", "1h2m3.5s",
         "2026-01-02T03:04:05.678901+02:30", "1970-01-01T00:00:00Z", ASSIGNMENT, CONFIG)


def item(plural):
    meta = {"name": "n", "uid": "u-1", "resourceVersion": "12", "generation": 2,
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"mokka.nvidia.com/sgpu-node": "true", "a": "b"},
            "annotations": {"mokka.nvidia.com/sgpu-assignment": ASSIGNMENT},
            "managedFields": [{
                "manager": api.MANAGER, "operation": "Apply", "apiVersion": "v1",
                "fieldsV1": {"f:metadata": {"f:labels": {
                    "f:mokka.nvidia.com/sgpu-assigned": {}}}}}]}
    if plural == "nodes":
        return {"metadata": meta}
    spec = {"inventoryRef": {"name": "i", "uid": "u"}, "profileRef": {
        "name": "p", "uid": "u", "generation": 1, "revision": "r"}, "identity": {
            "rackGroup": "g", "rackIndex": 3, "fabricUUID": "f", "cliqueID": 1},
            "nodes": [{"index": 0, "gpus": [{"index": 0, "uuid": "g"}],
                       "nodeRef": {"name": "n", "uid": "u"}}]}
    for path in SAMPLES.glob("*.yaml"):
        sample = yaml.safe_load(path.read_text())
        if api.KINDS[plural][1] == sample["kind"]:
            spec = sample["spec"]
    return {"apiVersion": api.GROUP, "kind": api.KINDS[plural][1], "metadata": {
        **meta, "finalizers": ["f"], "ownerReferences": [{
            "apiVersion": api.GROUP, "kind": "K", "name": "o", "uid": "u",
            "controller": True}]}, "spec": spec, "status": {
                "assignedNodes": 1, "conditions": [{
                    "type": "Ready", "status": "True", "reason": "R", "message": "m",
                    "observedGeneration": 2}]}}


def pages(server):
    for kind, plural in enumerate(PLURALS):
        one = item(plural)
        if plural == "nodes":
            listed = api.metadata_list([one, one], "40", "more")
        else:
            listed = json.dumps({"metadata": {"resourceVersion": "40", "continue": "more"},
                                 "items": [one, one]}).encode()
        end = {"k8s.io/initial-events-end": "true"}
        events = [("ADDED", one), ("MODIFIED", one), ("BOOKMARK", server.mark(plural)),
                  ("BOOKMARK", server.mark(plural, **end)), ("DELETED", one),
                  ("ERROR", api.failure(410, "Expired"))]
        watched = b"".join(server.event(plural, name, what) for name, what in events)
        yield bytes([kind | LIST, 99]) + listed
        yield bytes([kind, 99]) + watched


def bodies():
    meta = ["n", "u-1", "12", 1, 1767323045, False, {"a": "b"}]
    yield driver.pack(meta, ASSIGNMENT, 7, 0, "kubectl")
    yield driver.pack(meta, {"nodes": [1, 2.5, None, True]})
    yield driver.pack(1, "reason", {"a": 1})
    yield driver.frame("SUBSCRIBE", [0, 1, 2, 3], 0, 0)


def chunk(number, *fields, id=0):
    """A frame as fuzz_replay.c takes it: which of its list, length, body."""
    body = driver.pack(*fields)
    return bytes([number + 32 * id, len(body)]) + body


def feeds():
    """A placer that leads, with Nodes for the slots of a small inventory."""
    gpu = {"count": 1, "model": {}, "memory": {"capacity": "1Gi"}, "pci": {}}
    slot = {"index": 0, "pciAddress": "0000:01:00.0", "rootComplex": "pci0000:00"}
    groups = [{"id": "a", "count": 1, "profileRef": {"name": "p"}}]
    eligible = {"mokka.nvidia.com/sgpu-node": "true"}
    begin = chunk(10, 1) + chunk(12, 1) + chunk(15, 1, 1) + chunk(0)
    profile = chunk(3, ["p", "q", "1", 1, 1, False, {}], {
        "rack": {"nodesPerRack": 2},
        "node": {"gpus": gpu, "topology": {"gpuSlots": [slot]}}})
    inventory = chunk(4, ["i", "j", "2", 1, 1, False, {}],
                      ["mokka.nvidia.com/inventory-cleanup"], {"rackGroups": groups},
                      ["{}", []])
    nodes = b"".join(chunk(6, [name, uid, "3", 1, 1, False, eligible], "", 0, 0, "")
                     for name, uid in (("m", "u"), ("n", "v"), ("o", "v")))
    sync = begin + profile + inventory + nodes + chunk(8, 2, "9") + chunk(1)
    yield sync
    yield sync + chunk(11, 0, 0, "i-a-0", "r", "10", "", id=1) + chunk(2)
    yield sync + chunk(7, 3, "m", "u") + chunk(2) + bytes([31, 0]) + chunk(13, 1, "over")


def main():
    folder = pathlib.Path(sys.argv[1])
    server = api.Api()
    seeds = {"informer": list(pages(server)), "frame": list(bodies()),
             "replay": list(feeds()),
             "text": [t.encode() for t in TEXTS]
             + [p.read_bytes() for p in sorted(SAMPLES.glob("*.yaml"))]}
    server.close()
    for name, inputs in seeds.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (folder / name / f"seed-{number:02d}").write_bytes(data)


if __name__ == "__main__":
    main()
