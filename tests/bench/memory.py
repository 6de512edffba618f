# SPDX-License-Identifier: Apache-2.0
"""What one control plane needs of memory for estates of several sizes, within the
limit that the chart gives it: the most while an estate of new Nodes converges, and
what stays.  docs/operating.md and the chart's memory limit rest on it.

usage:   tests/bench/memory.py [NODES...]   (1000 5000 20000)
needs:   build/release (make build); root and cgroup v1, for the limit; 20,000
         Nodes take some minutes
output:  for each size, MiB: the sum over all processes of proportional set sizes,
         sampled twice a second, and each worker's at the end; the most data that
         each worker had, of its own limit
exit:    1 if a worker died
"""

import os
import pathlib
import re
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import figures  # noqa: E402
import harness  # noqa: E402
import replicas  # noqa: E402
from harness import PROGRAM, ControlPlane, wait_for  # noqa: E402

CHART = harness.ROOT / "deploy" / "helm" / "mokka"
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
ENTER = 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"'


class Group:
    """A control group with the memory limit of the chart."""

    def __init__(self, nodes):
        own, = re.findall(r"^\d+:memory:(.*)$", pathlib.Path("/proc/self/cgroup").read_text(),
                          re.MULTILINE)
        self.folder = pathlib.Path(f"{GROUPS}{own}", f"mokka-{os.getpid()}")
        tools = subprocess.run([harness.LOCAL / "helm"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.strip()
        chart = subprocess.run(
            [f"{tools}/helm", "template", "mokka", CHART, "--show-only",
             "templates/deployment.yaml", "--set", f"controlPlane.estateNodes={nodes}"],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        self.mebibytes = int(re.search(r"limits:\s+memory: (\d+)Mi", chart)[1])
        self.folder.mkdir()
        (self.folder / "memory.limit_in_bytes").write_text(str(self.mebibytes << 20))
        self.program = ("sh", "-c", ENTER, "sh", self.folder, PROGRAM)

    def remove(self):
        self.folder.rmdir()


def data(pid):
    """(what it has, what it may have) of data, MiB."""
    has, = re.findall(r"^VmData:\s+(\d+) kB", pathlib.Path(
        f"/proc/{pid}/status").read_text(), re.MULTILINE)
    may, = re.findall(r"^Max data size\s+(\w+)", pathlib.Path(
        f"/proc/{pid}/limits").read_text(), re.MULTILINE)
    return int(has) / 1024, None if may == "unlimited" else int(may) >> 20


class Sampler(threading.Thread):
    """The most that all processes together had."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids = pids
        self.most = 0.0
        self.data = {}
        self.enough = threading.Event()
        self.start()

    def now(self):
        return {name: figures.proportional_kb(pid) / 1024
                for name, pid in self.pids.items()}

    def run(self):
        while not self.enough.wait(0.5):
            self.most = max(self.most, sum(self.now().values()))
            for name, pid in self.pids.items():
                has, may = data(pid)
                self.data[name] = max(self.data.get(name, (0, 0)), (has, may))


def measure(nodes):
    cluster = harness.Cluster(audit="None")
    group = Group(nodes)
    try:
        cluster.install()
        replicas.create_nodes(cluster, nodes)
        plane = ControlPlane(cluster, program=group.program, record=False)
        try:
            plane.wait_ready(120)
            sampler = Sampler(figures.processes(plane))
            replicas.declare(cluster, nodes)
            wait_for("convergence", 3600, lambda: plane.metrics().get(
                "mokka_nodes_projected") == nodes and plane.metrics()["mokka_converged"] == 1)
            sampler.enough.set()
            last = sampler.now()
            print(f"{nodes} Nodes: at most {sampler.most:.0f}, then {sum(last.values()):.0f} ("
                  + ", ".join(f"{n} {m:.1f}" for n, m in last.items())
                  + f") of {group.mebibytes}; data "
                  + ", ".join(f"{n} {has:.0f} of {may}" for n, (has, may)
                              in sampler.data.items() if may), flush=True)
            return not plane.lines(msg="worker died")
        finally:
            plane.stop(60)
    finally:
        group.remove()
        cluster.down()


if __name__ == "__main__":
    sizes = [int(n) for n in sys.argv[1:]] or [1000, 5000, 20000]
    sys.exit(0 if all([measure(size) for size in sizes]) else 1)
