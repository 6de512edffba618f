# SPDX-License-Identifier: Apache-2.0
"""An estate at work, wired by hand: informer, placer and projector as real
processes against an API server of our own, and every frame between them passes
through here and is noted."""

import pathlib
import select
import time

import driver
import api
import yaml

SAMPLES = driver.ROOT / "crds" / "samples"
PLURALS = {"SGPURackProfile": "sgpurackprofiles", "SGPUInventory": "sgpuinventories"}
ASSIGNMENT = "mokka.nvidia.com/sgpu-assignment"


def declare(server, nodes, *samples):
    """Nodes, and objects of the samples."""
    for number in range(nodes):
        server.put("nodes", api.node(f"sim-{number:03d}"))
    for sample in samples or ("profile-nvl72", "inventory-54"):
        item = yaml.safe_load((SAMPLES / f"{sample}.yaml").read_text())
        server.put(PLURALS[item["kind"]],
                   {"metadata": item["metadata"], "spec": item["spec"]})


def projected(server):
    with server.lock:
        return sum(ASSIGNMENT in n["metadata"].get("annotations", {})
                   for n in server.objects["nodes"].values())


def settled(server, nodes):
    """So many Nodes are projected, and every condition is True of the present
    generation."""
    with server.lock:
        items = [*server.objects["sgpuinventories"].values(),
                 *server.objects["sgpuracks"].values()]
        return bool(items) and projected(server) == nodes and all(
            (i.get("status") or {}).get("conditions") and all(
                c["status"] == "True"
                and c["observedGeneration"] == i["metadata"]["generation"]
                for c in i["status"]["conditions"]) for i in items)


class Estate:
    """Passes frames on between three workers, and keeps them."""

    def __init__(self, test, folder):
        self.api = api.Api()
        test.addCleanup(self.api.close)
        self.kubeconfig = self.api.kubeconfig(pathlib.Path(folder) / "config")
        self.workers = {name: test.start(name).wire(
            kubeconfig=self.kubeconfig, status_debounce="20ms")
            for name in ("informer", "placer", "projector")}
        self.ends = {}  # (worker, its peer): our end of that worker's link
        for a, b in driver.LINKS:
            self.ends[a, b] = self.workers[a].links[b]
            self.ends[b, a] = self.workers[b].links[a]
        self.frames = []  # (from, to, bytes), in the order they passed

    def lead(self, term=1):
        self.workers["projector"].page.publish(term, 600)
        for name in ("placer", "projector"):
            self.workers[name].control.send("TERM_BEGAN", term)
            self.frames.append(("supervisor", name, driver.frame("TERM_BEGAN", term)))

    def run(self, until, seconds=driver.LIMIT, quiet=0.4):
        """Passes frames on until that is true and nothing comes any more."""
        end = time.monotonic() + seconds
        last = time.monotonic()
        while not (until() and time.monotonic() - last > quiet):
            if time.monotonic() > end:
                raise AssertionError(f"the estate has not settled in {seconds} s")
            ready = select.select([e.socket for e in self.ends.values()], [], [], 0.05)[0]
            for (name, peer), link in self.ends.items():
                if link.socket in ready:
                    self.take(name, peer, link)
                    last = time.monotonic()

    def take(self, name, peer, link):
        """One frame at least, and whatever came with it."""
        found = link.receive()
        while found is not None:
            self.frames.append((name, peer, found.data))
            self.ends[peer, name].send_bytes(found.data)
            found = link.whole()

    def of(self, name, peer):
        """The frames that went from one to the other."""
        return [data for a, b, data in self.frames if (a, b) == (name, peer)]
