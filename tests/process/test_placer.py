# SPDX-License-Identifier: Apache-2.0
"""The placer is a function from frames to frames, and survives any record."""

import collections
import copy
import itertools
import random
import struct
import tempfile
import time
import unittest

import driver
import api
from driver import frame
from estate import Estate, declare, projected, settled
from falsify import falsify, name_of

RECORDS = ("PROFILE", "INVENTORY", "RACK", "NODE", "GONE")


class Recorded(driver.WorkerTest):
    """A recording of an estate that fills, changes and empties again."""

    frames = None

    def setUp(self):
        if Recorded.frames is None:
            Recorded.frames = []
            Recorded.frames = self.record()
        self.assertTrue(self.frames, "there is no recording")

    def record(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        estate = Estate(self, folder.name)
        server = estate.api
        declare(server, 40)
        estate.lead()
        estate.run(lambda: settled(server, 40))
        for number in (3, 20, 21):  # Nodes leave, others come
            server.remove("nodes", f"sim-{number:03d}")
        for number in range(8):
            server.put("nodes", api.node(f"late-{number}"))
        estate.run(lambda: settled(server, 45))
        profile = copy.deepcopy(server.get("sgpurackprofiles", "nvl72"))
        profile["spec"]["software"]["driverVersion"] = "580.1"
        server.put("sgpurackprofiles", profile)
        estate.run(lambda: settled(server, 45))
        inventory = copy.deepcopy(server.get("sgpuinventories", "demo"))
        inventory["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        server.put("sgpuinventories", inventory)
        estate.run(lambda: not server.objects["sgpuinventories"]
                   and projected(server) == 0)
        frames = [(a, data) for a, b, data in estate.frames if b == "placer"]
        said = collections.Counter(map(name_of, estate.of("placer", "projector")))
        print(f"  recorded {len(frames)} frames to the placer and, from it, "
              + ", ".join(f"{n} {name}" for name, n in sorted(said.items())))
        for kind in ("RACK_WRITE", "RACK_DELETE", "NODE_APPLY", "FINALIZER",
                     "STATUS_WRITE", "WITHDRAW"):
            self.assertGreater(said[kind], 0, kind)
        for worker in estate.workers.values():
            self.assertEqual(worker.stop(), (True, 0))
        return frames


class Determinism(Recorded):
    def replay(self, cut=None, **options):
        """All that a fresh placer says to the projector. cut: how many bytes
        the next piece has."""
        worker = self.start("placer", **options).wire()
        links = {"supervisor": worker.control, **worker.links}
        for sender, parts in itertools.groupby(self.frames, lambda item: item[0]):
            data = b"".join(part for _, part in parts)
            link = links[sender]
            while data:
                size = cut() if cut else len(data)
                link.send_bytes(data[:size])
                data = data[size:]
            # The order across links is part of the input.
            link.wait_read()
        worker.control.send("TERM_ENDED", 1, "the recording is over")
        said = []
        while [name_of(d) for d in said[-2:]] != ["PLAN_BEGIN", "PLAN_END"] or len(said) < 9:
            said.append(links["projector"].receive().data)
        self.assertEqual(worker.stop(), (True, 0))
        return b"".join(said)

    def test_the_same_frames_give_the_same_intents_to_the_byte(self):
        first = self.replay()
        self.assertGreater(len(first), 100000)
        # Addresses and the seeds of its maps differ from start to start; so
        # does what memory holds that nobody wrote.
        for fill in (0, 0xff):
            again = self.replay(environment={
                "ASAN_OPTIONS": driver.SANITIZERS["ASAN_OPTIONS"]
                + f":malloc_fill_byte={fill}:max_malloc_fill_size=4096",
                "PADDING": "x" * random.randrange(20000)})
            self.assertEqual(first, again)

    def test_how_the_sockets_cut_the_frames_changes_nothing(self):
        first = self.replay()
        dice = self.dice
        self.assertEqual(first, self.replay(
            cut=lambda: dice.choice((1, 5, 11, 12, 13, 100, 4096, 70000))))

    def test_the_release_build_says_the_same(self):
        self.assertEqual(self.replay(), self.replay(preset="release"))


class Malformed(Recorded):
    ROUNDS = 250

    def records(self):
        """One frame, at least, of each kind and form that the recording has."""
        found = {}
        for sender, data in self.frames:
            kind = name_of(data)
            if sender == "informer" and kind in RECORDS:
                found.setdefault((kind, len(data) // 64), data)
        by_kind = collections.defaultdict(list)
        for (kind, _), data in found.items():
            by_kind[kind].append(data)
        self.assertEqual(set(by_kind), set(RECORDS))
        return by_kind

    def sync(self, worker, frames):
        """A link of the informer with a sync of these; whether it stood."""
        link = worker.link("informer")
        self.assertEqual(link.receive().name, "SUBSCRIBE")
        link.send_bytes(frame("CURRENT", 1, 1) + frame("SYNC_BEGIN") + b"".join(frames) + frame("SYNC_END")
                        + frame("BATCH_END"))
        return link

    def obey(self, worker):
        """Plays a projector that does everything it is told."""
        link = worker.links["projector"]
        for found in link.now():
            if found.name in ("PLAN_BEGIN", "PLAN_END", "WITHDRAW", "EVENT"):
                continue
            action = {"RACK_WRITE": 0, "RACK_DELETE": 0, "RACK_LOOK": 0, "NODE_APPLY": 1,
                      "FINALIZER": 2}.get(found.name)
            if action is None:
                action = found.fields[1]
            name, uid, _ = found.fields[0]
            link.send("RESULT", action, self.dice.choice((0, 0, 0, 1, 2, 3, 4)), name,
                      uid or "u", str(self.dice.randrange(1000)), "", id=found.id)

    def test_no_record_of_the_informer_makes_it_crash(self):
        dice = self.dice
        records = self.records()
        whole = [data for frames in records.values() for data in frames
                 if name_of(data) != "GONE"]
        worker = self.start("placer").wire()
        worker.control.send("TERM_BEGAN", 1)
        worker.links["projector"].send("WRITTEN_END", 1)
        stood = 0
        began = time.monotonic()
        for count in range(self.ROUNDS):
            kind = dice.choice(RECORDS)
            bad = [falsify(dice.choice(records[kind]), dice)
                   for _ in range(dice.choice((1, 1, 3)))]
            link = self.sync(worker, dice.sample(whole, len(whole) // 2) + bad)
            self.obey(worker)
            worker.control.now()
            try:
                link.wait_read()
            except OSError:
                pass
            self.assertTrue(worker.alive(), worker.output()[-4000:])
            stood += link.socket not in driver.readable(link.socket)
        print(f"  {self.ROUNDS} syncs with malformed records in "
              f"{time.monotonic() - began:.1f} s; {stood} of them were taken")
        self.assertGreater(stood, 0)
        self.assertLess(stood, self.ROUNDS)
        # It still works.
        link = self.sync(worker, whole)
        link.wait_read()
        self.assertEqual(worker.stop(), (True, 0))

    def test_no_result_of_the_projector_makes_it_crash(self):
        dice = self.dice
        results = [data for sender, data in self.frames if sender == "projector"
                   and name_of(data) in ("RESULT", "WRITTEN")]
        results.append(frame("WRITTEN", 0, ["rack", "uid", "5"]))
        records = self.records()
        worker = self.start("placer").wire()
        worker.control.send("TERM_BEGAN", 1)
        self.sync(worker, [d for frames in records.values() for d in frames])
        for count in range(self.ROUNDS):
            link = worker.link("projector", count)
            data = dice.choice(results)
            number, = struct.unpack(">I", data[8:12])
            bad = falsify(data, dice, dice.choice((number, 0, 1, dice.randrange(100))))
            link.send_bytes(frame("WRITTEN_END", 1) + data + bad)
            link.wait_read()
            worker.control.now()
            self.assertTrue(worker.alive(), worker.output()[-4000:])
        self.assertEqual(worker.stop(), (True, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
