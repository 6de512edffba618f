# SPDX-License-Identifier: Apache-2.0
"""Estates of any size as objects for mokkactl: racks of 100 Nodes, one group."""

import json

PER_RACK = 100
ELIGIBLE = "mokka.nvidia.com/sgpu-node"


def declarations(nodes):
    """A profile of racks with 100 Nodes and one GPU each, and its inventory."""
    profile = {
        "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPURackProfile",
        "metadata": {"name": "large"},
        "spec": {
            "rack": {"nodesPerRack": PER_RACK},
            "node": {
                "gpus": {
                    "count": 1,
                    "model": {"vendor": "NVIDIA", "product": "H100",
                              "productName": "NVIDIA H100 80GB HBM3",
                              "architecture": "Hopper",
                              "computeCapability": {"major": 9, "minor": 0}},
                    "memory": {"capacity": "80Gi", "busWidthBits": 5120},
                    "pci": {"vendorID": "10de", "deviceID": "2330",
                            "maxLink": {"generation": 5, "width": 16}}},
                "topology": {"gpuSlots": [{
                    "index": 0, "pciAddress": "0000:1b:00.0",
                    "rootComplex": "pci0000:15", "numaNode": 0,
                    "hostProcessorIndex": 0}]}},
            "software": {"driverVersion": "570.124.06", "nvmlVersion": "12.570.124.06",
                         "cudaVersion": "12.8"}}}
    inventory = {
        "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
        "metadata": {"name": "large"},
        "spec": {"rackGroups": [{
            "id": "all", "count": nodes // PER_RACK, "profileRef": {"name": "large"},
            "placement": {"nodeSelector": {"matchLabels": {"pool": "large"}}}}]}}
    return [profile, inventory]


def node(i):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"sim-{i:06d}",
                         "labels": {ELIGIBLE: "true", "pool": "large",
                                    "kubernetes.io/hostname": f"sim-{i:06d}"}}}


def write(path, nodes):
    """One JSON object a line, declarations first."""
    with open(path, "w", encoding="utf-8") as out:
        for item in declarations(nodes):
            out.write(json.dumps(item) + "\n")
        for i in range(nodes):
            out.write(json.dumps(node(i)) + "\n")
