# SPDX-License-Identifier: Apache-2.0
"""Figures of one instance on a real API server with 54 Nodes: time until all
are projected, and what the converged control plane costs for a minute."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import harness  # noqa: E402
from harness import ControlPlane, wait_for  # noqa: E402

NODES = 54
MINUTE = 60
TICKS = 100  # of /proc/PID/stat, a second


def processes(plane):
    """The supervisor and its workers: {name: pid}."""
    pids = {"supervisor": plane.pid}
    for name in harness.WORKERS:
        pids[name] = plane.worker(name)[0]
    return pids


def proportional_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise AssertionError(f"no Pss of {pid}")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main():
    cluster = harness.Cluster()
    try:
        cluster.install()
        cluster.add_nodes(NODES)
        cluster.add_samples("profile-nvl72", "inventory-54")
        mark = cluster.mark()
        began = time.monotonic()
        plane = ControlPlane(cluster)
        try:
            wait_for("all Nodes", 60, lambda: len(cluster.projected()) == NODES)
            print(f"start to {NODES} Nodes projected: {time.monotonic() - began:.2f} s")
            wait_for("convergence", 60, cluster.converged)
            print(f"start to converged statuses: {time.monotonic() - began:.2f} s")
            time.sleep(2)
            writes = cluster.writes(mark)
            print(f"writes beside the Lease's: {len(writes)}, "
                  f"{len(writes) / NODES:.3f} a Node")
            steady(cluster, plane)
        finally:
            plane.stop()
    finally:
        cluster.down()


def steady(cluster, plane):
    pids = processes(plane)
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    mark = cluster.mark()
    print(f"watching the converged control plane for {MINUTE} s", flush=True)
    time.sleep(MINUTE)
    used = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
    print(f"writes in {MINUTE} s: {len(cluster.writes(mark))}, "
          f"renewals of the Lease: {len(cluster.writes(mark, lease=True))}")
    print(f"CPU: {sum(used.values()) / MINUTE * 100:.3f} % of a core "
          f"({', '.join(f'{n} {s:.2f} s' for n, s in used.items())})")
    memory = {name: proportional_kb(pid) / 1024 for name, pid in pids.items()}
    print(f"memory, proportional set sizes: {sum(memory.values()):.1f} MB "
          f"({', '.join(f'{n} {m:.1f}' for n, m in memory.items())})")


if __name__ == "__main__":
    main()
