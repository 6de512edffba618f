#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our figures beside those of a baseline, each with the ratio that it must keep.

usage:   tests/bench/compare.py [NODES...]     default: 1000 5000
input:   PEER  a command that runs the baseline with $N Nodes on a cluster of its
               own and prints KEY=VALUE words:
               total_s        from the inventory to the last Node's patch
               raw_s          the same patches without a control plane
               cpu_ms_per_node, cold_cpu_s (until it is ready with $N Nodes),
               hwm_mb, churn_cpu_s, churn_events, restart_ready_s,
               writes, req_per_node, second_pass_writes
               What it does not print is not compared; without PEER the limits
               that need no baseline are shown.
needs:   build/release; a quiet machine if times are to mean something
exit:    0 every limit is kept; 1 not

Memory and CPU at the start are those for a Node: with two sizes, the difference
between them; with one, above what an empty cluster takes.
"""

import os
import subprocess
import sys

import subject

KEPT, MISSED, UNKNOWN = "held", "MISS", "-"


def peer(nodes):
    command = os.environ.get("PEER")
    if not command:
        return {}
    done = subprocess.run(command, shell=True, check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, "N": str(nodes)})
    found = {}
    for word in done.stdout.split():
        key, _, value = word.partition("=")
        try:
            found[key] = float(value)
        except ValueError:
            pass
    return found


class Table:
    def __init__(self):
        self.missed = 0

    def row(self, what, ours, theirs, limit, unit=""):
        """limit: what ours must not exceed; None: there is nothing to compare."""
        verdict = UNKNOWN
        if ours is not None and limit is not None:
            verdict = KEPT if ours <= limit else MISSED
            self.missed += verdict == MISSED
        print(f"{what:<58} {number(ours):>9} {number(theirs):>9} {number(limit):>9} "
              f"{unit:<6} {verdict}", flush=True)


def number(value):
    return UNKNOWN if value is None else f"{value:.4g}"


def times(value, factor):
    return None if value is None else value * factor


def per_node(run, before, key, base=None):
    """The growth with each Node, from the smaller size or from empty."""
    if before is not None and key in before and key in run:
        return (run[key] - before[key]) / (run["n"] - before["n"])
    if base is not None:
        return (run[key] - base) / run["n"]
    return None


def ratio(run, above, below):
    return run[above] / run[below] if above in run and below in run else None


def show(table, ours, theirs, ours_before, theirs_before):
    n = ours["n"]
    print(f"\n{n} Nodes{'':<47} {'ours':>12} {'baseline':>9} {'must':>9}")
    mem = per_node(ours, ours_before, "memory_kb", ours["base_kb"])
    mem_peer = times(per_node(theirs, theirs_before, "hwm_mb"), 1024)
    table.row("resident memory of all processes, for each Node", mem, mem_peer,
              times(mem_peer, 0.1), "kB")
    cpu = ours["cpu_s"] / n * 1000
    table.row("CPU of the whole, for each projected Node", cpu,
              theirs.get("cpu_ms_per_node"), times(theirs.get("cpu_ms_per_node"), 0.25),
              "ms")
    cold = times(per_node(ours, ours_before, "cold_cpu_s", ours["base_cpu_s"]), 1e6)
    cold_peer = times(per_node(theirs, theirs_before, "cold_cpu_s"), 1e6)
    table.row("CPU of a cold sync, for each Node", cold, cold_peer, times(cold_peer, 0.5),
              "us")
    churn, churn_peer = (times(ratio(run, "churn_cpu_s", "churn_events"), 1e3)
                         for run in (ours, theirs))
    table.row("CPU of an event that changes nothing", churn, churn_peer,
              times(churn_peer, 0.25), "ms")
    table.row("time to converge", ours["total_s"], theirs.get("total_s"), None, "s")
    for name in ("informer", "placer", "projector"):
        table.row(f"  CPU of the {name}, for each projected Node",
                  ours[f"cpu_{name}_s"] / n * 1000, None, None, "ms")
    table.row("time to converge / the patches alone", ratio(ours, "total_s", "raw_s"),
              ratio(theirs, "total_s", "raw_s"), 1.15)
    back = theirs.get("restart_ready_s")
    for name in ("placer", "projector"):
        table.row(f"{name} killed: until it is back", ours[f"{name}_back_s"], back, 1, "s")
        table.row(f"{name} killed: lists made", ours[f"{name}_lists"], None, 0)
    table.row("informer killed: until it is back", ours["informer_back_s"], back,
              times(back, 0.5), "s")
    read = times(per_node(ours, ours_before, "cold_server_s", 0), 1e6)
    read_raw = times(per_node(ours, ours_before, "raw_read_server_s", 0), 1e6)
    table.row("API server's CPU for a cold sync (baseline: a protobuf", None, None, None)
    table.row("  stream of whole Nodes), for each Node", read, read_raw, read_raw, "us")
    table.row("writes for each projected Node", ours["writes"] / n,
              ratio({**theirs, "n": n}, "writes", "n"), 1.125)
    table.row("requests for each projected Node", ours["requests"] / n,
              theirs.get("req_per_node"), 1.20)
    table.row("PATCHes for each changed Node", ours["node_patches"] / n, None, 1)
    table.row("GETs of Nodes", ours["node_gets"], None, 0)
    table.row("writes in a second pass", ours["second_pass_writes"],
              theirs.get("second_pass_writes"), 0)


def main():
    table = Table()
    before = (None, None)
    for nodes in [int(word) for word in sys.argv[1:]] or [1000, 5000]:
        ours = subject.measure(nodes)
        theirs = peer(nodes)
        if theirs:
            theirs["n"] = nodes
        show(table, ours, theirs, *before)
        print("ours: " + " ".join(f"{k}={v:.6g}" for k, v in ours.items()))
        before = (ours, theirs)
    print(f"\n{table.missed} missed")
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
