# SPDX-License-Identifier: Apache-2.0
"""A short run of random_events.py."""

import os
import random
import unittest

import random_events


class RandomEvents(unittest.TestCase):
    def test_two_replicas_through_30_events(self):
        seed = int(os.environ.get("MOKKA_SEED", random.randrange(1 << 32)))
        self.assertEqual(random_events.run(seed, 30, 100), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
