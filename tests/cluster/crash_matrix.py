# SPDX-License-Identifier: Apache-2.0
"""crash_matrix.py [WORKER...]: the whole matrix with 2,000 Nodes, for these
workers or all; then docs/crash-matrix.md from all that was measured so far
(build/crash-matrix/).  Some two minutes for each worker."""

import json
import sys

import crash_cells
import harness
from harness import ROOT, WORKERS

NODES = 2000
KEPT = ROOT / "build" / "crash-matrix"
PAGE = ROOT / "docs" / "crash-matrix.md"

HEAD = f"""# What a worker's fault costs

Made by `make crash-matrix`: each worker, and what befalls it, on a real API
server while {NODES:,} Nodes are being projected (slowed to last for all cells).
`make test` runs those cells that need no wait for the watchdog, with 54 Nodes.

* **end**: how its process ended; "survived" if it did not
* **back**: from the fault until its next process runs. A worker that hangs is
  found after 15 s
* **others**: workers that had to start anew, too
* **requests**: lists, gets and watches meanwhile. A new informer reads four
  kinds anew and watches them; else these are the reads before status writes
  of the work that goes on, some six a second
* **Lease**: changes of its holder
* **twice**: Nodes that were sent their projection a second time, because the
  answer to the first died with the projector. That changes nothing: at the end
  each Node had changed exactly once

| worker | fault | end | back | others | requests | Lease | twice |
| --- | --- | --- | --: | --- | --: | --: | --: |
"""


def measure(cluster, worker):
    """A fresh control plane for each cell, so that no pause between deaths
    counts."""
    bench = crash_cells.Bench(cluster, NODES, 20, 2)
    bench.prepare()
    cells = []
    for fault in filter(crash_cells.possible, crash_cells.FAULTS):
        bench.stop()
        bench.start()
        cells.append(bench.cell(worker, fault)._asdict())
        print(cells[-1], flush=True)
    bench.stop()
    bench.pace = 10000
    bench.start()
    changes = bench.finish()
    bench.stop()
    if changes != {1: NODES}:
        raise SystemExit(f"Nodes by number of changes: {dict(changes)}")
    return cells


def row(cell):
    seconds = cell["seconds"]
    back = "-" if seconds is None else f"{seconds * 1000:.0f} ms" if seconds < 10 \
        else f"{seconds:.1f} s"
    return (f"| {cell['worker']} | {cell['fault']} | {cell['cause']} | {back} | "
            f"{', '.join(cell['others']) or 'none'} | {cell['requests']} | "
            f"{cell['transitions']} | {cell['twice']} |\n")


def write_page():
    kept = [json.loads((KEPT / f"{name}.json").read_text()) for name in WORKERS
            if (KEPT / f"{name}.json").exists()]
    PAGE.write_text(HEAD + "".join(row(cell) for cells in kept for cell in cells))
    print(f"{PAGE.relative_to(ROOT)}: {sum(map(len, kept))} cells")


def main():
    KEPT.mkdir(parents=True, exist_ok=True)
    cluster = harness.Cluster()
    try:
        cluster.install()
        for worker in sys.argv[1:] or WORKERS:
            cells = measure(cluster, worker)
            (KEPT / f"{worker}.json").write_text(json.dumps(cells, indent=1))
    finally:
        cluster.down()
    write_page()


if __name__ == "__main__":
    main()
