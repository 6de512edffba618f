# SPDX-License-Identifier: Apache-2.0
"""Every worker, and whatever befalls it, while Nodes are being projected: the
others go on, the Lease stays, nothing is written twice.  Those cells that need
no wait for the watchdog; `make crash-matrix` has all of them, with 2,000
Nodes."""

import unittest

import crash_cells
import harness
from harness import WORKERS

NODES = 54


class CrashMatrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()

    def check(self, cell):
        name = f"{cell.worker}, {cell.fault}"
        print(f"  {name}: {cell.cause}, back after "
              f"{'-' if cell.seconds is None else f'{cell.seconds * 1000:.0f} ms'}, "
              f"{cell.requests} requests")
        self.assertEqual(cell.others, [], name)
        self.assertEqual(cell.transitions, 0, name)
        if cell.worker == "informer" and cell.seconds is not None:
            self.assertGreater(cell.requests, 0, name)
            self.assertLessEqual(cell.lists, 4, name)
        else:
            self.assertEqual(cell.lists, 0, name)
        # An answer that died with the projector costs one more request.
        self.assertLessEqual(cell.twice, 1 if cell.worker == "projector" else 0, name)
        if cell.fault not in crash_cells.SURVIVED:
            self.assertIsNotNone(cell.seconds, name)
        if cell.fault == "exit 1":
            self.assertEqual(cell.cause, "exit status 1", name)
        if cell.fault in ("full link", "slow reader"):
            self.assertIsNone(cell.seconds, name)

    def test_crash_matrix(self):
        bench = crash_cells.Bench(self.cluster, NODES, 1, 0.7)
        self.addCleanup(bench.stop)
        bench.prepare()
        for fault in crash_cells.FAULTS:
            if fault in crash_cells.WATCHED or fault in ("SIGKILL", "abort"):
                continue
            for name in WORKERS:
                with self.subTest(worker=name, fault=fault):
                    self.check(bench.cell(name, fault))
        bench.stop()
        bench.pace = 1000
        bench.start()
        self.assertEqual(dict(bench.finish()), {1: NODES})


if __name__ == "__main__":
    unittest.main(verbosity=2)
