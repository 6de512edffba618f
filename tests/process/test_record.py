# SPDX-License-Identifier: Apache-2.0
"""mokkactl record: what a placer that runs takes from now on is in a file, and
placer --replay says the same again."""

import fcntl
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import driver
import api
import test_supervisor
from driver import programs, wait_for
from estate import declare, settled
from test_control import NODES, ControlTest
from test_replay import VERDICT, read_records


class RecordTest(ControlTest):
    arguments = ("--record", "")  # a test's control plane records from its start

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "placer.recording"

    def begin(self, *arguments, plane=None, stdout=subprocess.DEVNULL):
        """mokkactl record placer, once it records."""
        plane = plane or self.shared
        process = subprocess.Popen(
            [str(self.shared.programs / "mokkactl"), "record", "--socket", str(plane.socket),
             "placer", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **driver.SANITIZERS})

        def stop():
            process.kill()
            process.wait()
            process.stderr.close()
        self.addCleanup(stop)
        self.assertRegex(process.stderr.readline(), "placer is recorded(, until .C)?$")
        return process

    def end(self, process, status=0, number=signal.SIGINT):
        process.send_signal(number)
        self.assertEqual(process.wait(20), status)
        return process.stderr.read()

    def change(self, plane=None, server=None):
        """A Node leaves and comes back: bindings, projection, statuses."""
        server = server or self.api
        server.remove("nodes", "sim-003")
        wait_for("one less", 20, lambda: settled(server, NODES - 1))
        server.put("nodes", api.node("sim-003"))
        wait_for("all", 20, lambda: settled(server, NODES))

    def replay(self, data=None):
        """(inputs, intents, the rest of the verdict)"""
        if data is not None:
            self.file.write_bytes(data)
        done = subprocess.run(
            [programs("debug") / "placer", "--replay", self.file, "-o", "none"], text=True,
            stderr=subprocess.PIPE, timeout=60, check=False,
            env={**os.environ, **driver.SANITIZERS})
        self.assertEqual(done.returncode, 0, done.stderr)
        found = VERDICT.search(done.stderr)
        return int(found.group(1)), int(found.group(2)), found.group(3)

    def records(self):
        return read_records(self.file.read_bytes())

    def no_longer_recorded(self):
        """Nothing is written any more, and it may be recorded anew."""
        size = self.file.stat().st_size
        self.change()
        self.assertEqual(self.file.stat().st_size, size)
        self.end(self.begin("-"))


class Record(RecordTest):
    def test_8_what_is_recorded_says_the_same_again(self):
        before = {w["name"]: w["generation"] for w in self.status()["workers"]}
        process = self.begin(self.file)
        self.assertEqual(self.file.stat().st_mode & 0o7777, 0o600)
        after = {w["name"]: w["generation"] for w in self.status()["workers"]}
        self.assertEqual(after, {**before, "placer": before["placer"] + 1})
        self.assertEqual(self.status()["term"], 1)
        self.change()
        self.assertEqual(self.end(process), "")
        inputs, intents, rest = self.replay()
        self.assertGreater(inputs, NODES)
        self.assertGreater(intents, 3)
        self.assertEqual(rest, "")
        # It began with all there is, and has an end.
        records = self.records()
        names = [r.name() for r in records if r.kind == "T"]
        self.assertGreaterEqual(names[:names.index("SYNC_END")].count("NODE"), NODES)
        self.assertEqual(records[-1].kind, "E")
        self.assertEqual(self.worker("placer")["generation"], after["placer"])
        self.no_longer_recorded()

    def test_8_to_stdout_for_some_seconds(self):
        with open(self.file, "wb") as out:
            process = self.begin("-", "--seconds", 4, stdout=out)
            self.change()
            self.assertEqual(process.wait(20), 0)
        _, intents, rest = self.replay()
        self.assertGreater(intents, 3)
        self.assertEqual(rest, "")

    def test_a_placer_that_dies_goes_on_in_the_same_file(self):
        process = self.begin(self.file)
        generation = self.worker("placer")["generation"]
        self.shared.kill("placer")
        self.wait_worker("placer", generation=generation + 1, state="running")
        wait_for("the file", 10, lambda: sum(bool(r.mark) for r in self.records()) == 2)
        self.change()
        self.end(process)
        self.assertIn("2 starts of the placer, 1 without an end", self.replay()[2])

    def test_it_ends_with_whoever_asked_for_it(self):
        self.end(self.begin(self.file), status=-signal.SIGKILL, number=signal.SIGKILL)
        wait_for("the end", 10, lambda: self.records()[-1].kind == "E")
        self.replay()
        self.no_longer_recorded()

    def ask_held(self):
        """mokkactl record of a placer whose start is held: the process, and the
        pid of the placer."""
        self.fine("hold", "placer")
        self.addCleanup(self.ctl, "continue", "placer")
        process = subprocess.Popen(
            [str(self.shared.programs / "mokkactl"), "record", "--socket",
             str(self.shared.socket), "placer", str(self.file)], stdin=subprocess.DEVNULL,
            env={**os.environ, **driver.SANITIZERS})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, self.wait_worker("placer", state="held")["pid"]

    def test_who_waits_for_the_placer_may_leave(self):
        process, _ = self.ask_held()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), -signal.SIGINT)
        self.fine("continue", "placer")
        self.wait_worker("placer", state="running")
        self.assertEqual(self.file.stat().st_size, 0)
        self.no_longer_recorded()

    def test_it_ends_with_whoever_asked_for_it_before_the_placer_runs(self):
        process, placer = self.ask_held()
        ends = len(self.shared.lines(msg="recording ends"))
        os.kill(placer, signal.SIGSTOP)
        self.fine("continue", "placer")
        process.kill()
        process.wait()
        wait_for("the end", 10,
                 lambda: len(self.shared.lines(msg="recording ends")) > ends)
        os.kill(placer, signal.SIGCONT)
        self.wait_worker("placer", state="running")
        wait_for("the end", 10, lambda: self.records()[-1].kind == "E")
        self.no_longer_recorded()

    def test_a_reader_that_leaves_ends_it(self):
        process = subprocess.Popen(
            f"'{self.shared.programs}/mokkactl' record --socket '{self.shared.socket}' "
            "placer - | head -c 100 >/dev/null; exit ${PIPESTATUS[0]}", shell=True,
            executable="/bin/bash", stderr=subprocess.PIPE, text=True,
            env={**os.environ, **driver.SANITIZERS})
        err = process.communicate(timeout=20)[1]
        self.assertEqual(process.returncode, 1)
        self.assertIn("stdout: Broken pipe", err)
        self.end(self.begin("-"))

    def test_a_reader_that_stalls_costs_the_placer_nothing(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        with os.fdopen(writer, "wb") as out:
            process = self.begin("-", stdout=out)
        for _ in range(3):
            self.change()
        self.assertEqual(self.worker("placer")["state"], "running")
        process.kill()
        process.wait()

    def test_it_may_be_ended_while_a_reader_stalls(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        with os.fdopen(writer, "wb") as out:
            process = self.begin("-", stdout=out)
        for _ in range(3):
            self.change()
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=10)[1]
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("stdout: Interrupted", err)
        self.end(self.begin("-"))


class Refused(RecordTest):
    def test_8_only_the_placer_can_be_recorded_and_others_are_told_what_can_be(self):
        for name in ("informer", "projector", "elector", "web"):
            said = self.refused("record", name, str(self.folder / "x"))
            self.assertIn(f"{name} cannot be recorded", said)
            self.assertIn("mokkactl tap", said)
            self.assertFalse((self.folder / "x").exists())
        self.assertIn('no worker "nobody"', self.refused("record", "nobody", "-"))

    def test_one_recording_at_a_time(self):
        process = self.begin(self.file)
        self.assertIn("recorded already", self.refused("record", "placer", "-"))
        other = self.folder / "other"
        other.write_bytes(self.file.read_bytes())
        before = other.read_bytes()
        self.assertIn("recorded already", self.refused("record", "placer", str(other)))
        self.assertEqual(other.read_bytes(), before)
        self.assertEqual(self.end(process), "")
        self.replay()

    def test_a_file_that_cannot_be(self):
        self.file.write_text("mine")
        generation = self.worker("placer")["generation"]
        self.assertIn("no recording", self.refused("record", "placer", str(self.file)))
        self.assertIn("No such file", self.refused("record", "placer", "/nowhere/x"))
        self.assertIn("no regular file", self.refused("record", "placer", "/dev/null"))
        for seconds in ("0", "x", "-1", "99999999"):
            self.assertIn("--seconds must be", self.refused(
                "record", "placer", "-", f"--seconds={seconds}"))
        self.assertEqual(self.worker("placer")["generation"], generation)
        self.assertEqual(self.file.read_text(), "mine")

    def test_a_command_without_its_file_is_refused(self):
        link = self.connect()
        link.send("COMMAND", driver.PROTOCOL, "record", ["placer"])
        ok, text = link.wait("REPLY").fields
        self.assertFalse(ok)
        self.assertIn("no file came with", text)


class Ended(RecordTest):
    """By itself: of a control plane of its own."""

    def own(self, *arguments):
        server = api.Api()
        self.addCleanup(server.close)
        declare(server, NODES)
        plane = test_supervisor.Plane(self, "--record", "", *arguments, server=server)
        self.addCleanup(plane.end)
        wait_for("convergence", 40, lambda: settled(server, NODES))
        return plane, server

    def test_at_its_limit_it_says_so_and_the_file_runs(self):
        plane, server = self.own("--record-limit", "1")
        process = self.begin(self.file, plane=plane)
        for i in range(40):
            node = api.node(f"wide-{i}")
            node["metadata"]["labels"].update({f"l{j}": "x" * 60 for j in range(500)})
            server.put("nodes", node)
        self.assertEqual(process.wait(30), 1)
        self.assertIn("recording ended: the limit of --record-limit is reached",
                      process.stderr.read())
        self.assertLessEqual(self.file.stat().st_size, 1 << 20)
        self.replay()

    def test_with_the_control_plane(self):
        plane, _ = self.own()
        process = self.begin(self.file, plane=plane)
        self.assertEqual(plane.stop(), 0, plane.tail())
        self.assertEqual(process.wait(20), 1)
        self.assertIn("closed the connection", process.stderr.read())
        self.assertEqual(self.records()[-1].kind, "E")
        self.replay()

    def test_of_one_that_records_already(self):
        plane, _ = self.own("--record", str(self.folder / "first"))
        self.assertIn("control-plane --record", self.refused(
            "record", "placer", "-", plane=plane))


if __name__ == "__main__":
    unittest.main(verbosity=2)
