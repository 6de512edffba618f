# SPDX-License-Identifier: Apache-2.0
"""What one control plane needs of memory for estates of several sizes: the most
while an estate of new Nodes converges, and what stays.  docs/operating.md and
the chart's memory limit rest on it.

usage:   tests/bench/memory.py [NODES...]   (1000 5000 20000)
needs:   build/release (make build); 20,000 Nodes take some minutes
output:  a line for each size, MiB: the sum over all processes of proportional
         set sizes, sampled twice a second, and each worker's at the end
"""

import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import figures  # noqa: E402
import harness  # noqa: E402
import replicas  # noqa: E402
from harness import ControlPlane, wait_for  # noqa: E402


class Sampler(threading.Thread):
    """The most that all processes together had."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids = pids
        self.most = 0.0
        self.enough = threading.Event()
        self.start()

    def now(self):
        return {name: figures.proportional_kb(pid) / 1024
                for name, pid in self.pids.items()}

    def run(self):
        while not self.enough.wait(0.5):
            self.most = max(self.most, sum(self.now().values()))


def measure(nodes):
    cluster = harness.Cluster(audit="None")
    try:
        cluster.install()
        replicas.create_nodes(cluster, nodes)
        plane = ControlPlane(cluster, "--record", "")
        try:
            plane.wait_ready(120)
            sampler = Sampler(figures.processes(plane))
            replicas.declare(cluster, nodes)
            wait_for("convergence", 3600, lambda: plane.metrics().get(
                "mokka_nodes_projected") == nodes and plane.metrics()["mokka_converged"] == 1)
            sampler.enough.set()
            last = sampler.now()
            print(f"{nodes} Nodes: at most {sampler.most:.0f}, then {sum(last.values()):.0f} ("
                  + ", ".join(f"{n} {m:.1f}" for n, m in last.items()) + ")", flush=True)
        finally:
            plane.stop(60)
    finally:
        cluster.down()


if __name__ == "__main__":
    for size in [int(n) for n in sys.argv[1:]] or [1000, 5000, 20000]:
        measure(size)
