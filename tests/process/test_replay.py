# SPDX-License-Identifier: Apache-2.0
"""What control-plane --record writes, placer --replay says again to the byte;
or it tells what is wrong, and where."""

import copy
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import tempfile
import time
import unittest

import driver
import api
from driver import HEADER, NAMES, frame, pack, programs, unpack, wait_for
from estate import declare, projected, settled
from test_supervisor import Plane

MARK = b"mokka recording\n"
HEAD = struct.Struct(">II")
MIB = 1 << 20
VERDICT = re.compile(r"^(\d+) inputs, (\d+) intents, identical(.*)$", re.MULTILINE)


def check_sum(data):
    total = 2166136261
    for byte in data:
        total = (total ^ byte) * 16777619 & 0xffffffff
    return total


class Record:
    """One record of a file, the mark before it included."""

    def __init__(self, offset, mark, content):
        self.offset, self.mark, self.content = offset, mark, content
        self.kind = content[:1].decode()

    def name(self):
        return NAMES[HEADER.unpack_from(self.content, 2)[1]]

    def bytes(self):
        rest = struct.pack(">I", len(self.content)) + self.content
        return self.mark + struct.pack(">I", check_sum(rest)) + rest


def read_records(data):
    found = []
    at = 0
    while at < len(data):
        offset, mark = at, b""
        if data.startswith(MARK, at):
            mark = MARK
            at += len(MARK)
        _, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        found.append(Record(offset, mark, data[at:at + length]))
        at += length
    return found


def write_records(records):
    return b"".join(record.bytes() for record in records)


class Replaying(driver.WorkerTest):
    data = None  # of a recording with everything in it

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def setUp(self):
        if Replaying.data is None:
            Replaying.data = b""
            Replaying.data = self.record()
        self.assertTrue(self.data, "there is no recording")

    def replay(self, path, *arguments, preset="debug", before=()):
        return subprocess.run(
            [*before, programs(preset) / "placer", "--replay", path, *arguments],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, timeout=120, check=False,
            env={**os.environ, **driver.SANITIZERS})

    def write(self, data):
        path = self.folder / f"changed-{time.monotonic_ns()}"
        path.write_bytes(data)
        self.addCleanup(path.unlink)
        return path

    def record(self):
        """An estate that fills, changes and empties, while workers are killed."""
        server = api.Api()
        self.addCleanup(server.close)
        declare(server, 40)
        path = self.folder / "whole.recording"
        plane = Plane(self, "--record", path, server=server)
        self.addCleanup(plane.end)
        wait_for("40 Nodes", 30, lambda: settled(server, 40))
        for number in (3, 20, 21):
            server.remove("nodes", f"sim-{number:03d}")
        generation, _ = plane.kill("projector")
        plane.wait_back("projector", generation)
        for number in range(8):
            server.put("nodes", api.node(f"late-{number}"))
        generation, _ = plane.kill("informer")
        plane.wait_back("informer", generation)
        wait_for("45 Nodes", 30, lambda: settled(server, 45))
        profile = copy.deepcopy(server.get("sgpurackprofiles", "nvl72"))
        profile["spec"]["software"]["driverVersion"] = "580.1"
        server.put("sgpurackprofiles", profile)
        generation, _ = plane.kill("placer")
        plane.wait_back("placer", generation)
        wait_for("45 Nodes", 30, lambda: settled(server, 45))
        inventory = copy.deepcopy(server.get("sgpuinventories", "demo"))
        inventory["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        server.put("sgpuinventories", inventory)
        wait_for("the end", 30, lambda: not server.objects["sgpuinventories"]
                 and projected(server) == 0)
        self.assertEqual(plane.stop(), 0, plane.tail())
        self.assertEqual(plane.end(), "")
        self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
        return path.read_bytes()

    def verdict(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        found = VERDICT.search(done.stderr)
        self.assertTrue(found, done.stderr)
        return int(found.group(1)), int(found.group(2)), found.group(3)


class Replay(Replaying):
    def test_workers_were_killed_and_the_replay_says_the_same(self):
        path = self.write(self.data)
        done = self.replay(path, "-o", "json")
        inputs, intents, rest = self.verdict(done)
        records = read_records(self.data)
        self.assertEqual(inputs, sum(r.kind in "TLX" for r in records))
        self.assertEqual(intents, sum(r.kind == "S" for r in records))
        self.assertIn("2 starts of the placer, 1 without an end", rest)
        said = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertGreaterEqual(len(said), intents)
        kinds = {line["type"] for line in said}
        self.assertLessEqual({"RACK_WRITE", "RACK_DELETE", "NODE_APPLY", "FINALIZER",
                              "STATUS_WRITE", "WITHDRAW", "PLAN_BEGIN", "PLAN_END"}, kinds)
        lost = [unpack(r.content[1:]) for r in records if r.kind == "X"]
        self.assertIn([driver.ROLES["projector"]], lost)
        self.assertIn([driver.ROLES["informer"]], lost)

    def test_what_was_recorded_is_what_the_replay_shows(self):
        path = self.write(self.data)
        shown = [json.loads(line) for line in self.replay(path, "-o", "json").stdout.splitlines()]
        # Those of the last section, which has an end, are all recorded.
        records = read_records(self.data)
        last = max(i for i, r in enumerate(records) if r.mark)
        recorded = [r for r in records[last:] if r.kind == "S"]
        shown = [line for line in shown if line["section"] == 2]
        self.assertEqual(len(shown), len(recorded))
        for line, record in zip(shown, recorded):
            self.assertEqual(line["type"], record.name())
            body = record.content[2 + HEADER.size:]
            fields = unpack(body) if body else []
            self.assertEqual(len(line["body"]), len(fields))
            if line["type"] == "NODE_APPLY":
                self.assertEqual(list(line["body"].values()), fields)
                self.assertEqual(list(line["body"]),
                                 ["target", "clique", "annotation", "release", "keep",
                                  "stray"])

    def test_lines_are_for_people(self):
        done = self.replay(self.write(self.data))
        _, intents, _ = self.verdict(done)
        lines = done.stdout.splitlines()
        self.assertGreaterEqual(len(lines), intents)
        self.assertLess(max(map(len, lines)), 700)
        self.assertRegex(done.stdout, r'(?m)^\d+ RACK_WRITE id=\d+ target=\["demo-')
        self.assertRegex(done.stdout, r'(?m)^\d+ WITHDRAW action="node" name="sim-003"$')
        self.assertEqual(self.replay(self.write(self.data), "-o", "none").stdout, "")

    def test_under_valgrind_and_in_another_build_it_says_the_same(self):
        path = self.write(self.data)
        first = self.replay(path, "-o", "json")
        again = self.replay(path, "-o", "json", preset="release", before=(
            "valgrind", "-q", "--error-exitcode=9", "--leak-check=full",
            "--errors-for-leak-kinds=definite"))
        self.assertEqual(self.verdict(first), self.verdict(again))
        self.assertEqual(first.stdout, again.stdout)

    def change(self, pick, change):
        """Replays with the content of one record changed; the check sum fits."""
        records = read_records(self.data)
        at = [i for i, r in enumerate(records) if pick(r)][-1]
        changed = change(records[at].content)
        records[at:at + 1] = [] if changed is None else [
            Record(0, records[at].mark, changed)]
        done = self.replay(self.write(write_records(records)), "-o", "none")
        return done, records, at

    def test_the_first_difference_is_named(self):
        def other_annotation(content):
            head, body = content[:2], content[2:]
            _, _, _, number = HEADER.unpack_from(body)
            target, clique, annotation, *rest = unpack(body[HEADER.size:])
            return head + frame("NODE_APPLY", target, clique, annotation.replace(
                '"nodeIndex":', '"nodeIndeX":'), *rest, id=number)

        def applied(record):
            return record.kind == "S" and record.name() == "NODE_APPLY" and (
                b"nodeIndex" in record.content)

        done, _, _ = self.change(applied, other_annotation)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"byte \d+, section \d, after input \d+ \(\w+ from \w+\): "
                         r"intent \d+ differs: NODE_APPLY id \d+, field annotation: "
                         r"recorded \.\.\..*nodeIndeX.*, replayed \.\.\..*nodeIndex")

    def test_an_intent_more_or_less_is_a_difference(self):
        done, _, _ = self.change(lambda r: r.kind == "S", lambda content: None)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("recorded nothing, replayed ", done.stderr)
        done, _, _ = self.change(lambda r: r.kind == "E",
                                 lambda content: b"S\x03" + frame("PLAN_END"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("recorded PLAN_END id 0, replayed nothing", done.stderr)

    def test_an_input_that_is_missing_is_a_difference(self):
        # The first rack that was shown bound is not: what followed from it is.
        done, _, _ = self.change(
            lambda r: r.kind == "T" and r.name() == "RACK" and b"nodeRef" not in r.content
            and r.offset < len(self.data) // 2, lambda content: None)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(" differs: ", done.stderr)


class Damage(Replaying):
    def bad(self, data, *words):
        done = self.replay(self.write(data), "-o", "none")
        self.assertEqual(done.returncode, 2, done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0]

    def test_a_truncated_file_says_where_it_ends(self):
        records = read_records(self.data)
        for record in (records[1], records[len(records) // 2], records[-1]):
            for size in (record.offset + 3, record.offset + len(record.bytes()) - 1):
                self.bad(self.data[:size], f"byte {record.offset}: ",
                         "ends in the middle of a record")

    def test_between_records_it_ends_like_that_of_a_placer_that_was_killed(self):
        records = read_records(self.data)
        last = [r for r in records if r.kind == "T"][-1]
        done = self.replay(self.write(self.data[:last.offset]), "-o", "none")
        self.assertIn("2 without an end", self.verdict(done)[2])

    def test_a_killed_placer_may_leave_a_part_of_a_record(self):
        records = read_records(self.data)
        second = [r for r in records if r.mark][1].offset
        before = [r for r in records if r.offset < second][-1]
        for size in (before.offset + 3, before.offset + 9, second - 1):
            done = self.replay(self.write(self.data[:size] + self.data[second:]), "-o", "none")
            self.assertIn("1 without an end", self.verdict(done)[2])

    def test_any_changed_byte_is_found(self):
        """But for a length that reaches into the next section: that is what a placer
        leaves that was killed while it wrote."""
        records = read_records(self.data)
        second = [r for r in records if r.mark][1].offset
        for _ in range(25):
            data = bytearray(self.data)
            at = self.dice.randrange(len(data))
            data[at] ^= 1 << self.dice.randrange(8)
            record = [r for r in records if r.offset <= at][-1]
            begins = record.offset + len(record.mark)
            _, length = HEAD.unpack_from(data, begins)
            if at < second < begins + HEAD.size + length:
                done = self.replay(self.write(bytes(data)), "-o", "none")
                self.assertIn("1 without an end", self.verdict(done)[2])
                continue
            self.bad(bytes(data), "this is no recording" if at < len(MARK)
                     else f"byte {begins if at >= begins else record.offset}: ")

    def test_what_is_no_recording_is_said_in_one_line(self):
        self.bad(b"", "this is no recording")
        self.bad(b"apiVersion: v1\nkind: List\n", "this is no recording")
        self.bad(MARK[:-1], "this is no recording")
        self.bad(MARK, "byte 16: ", "the middle of a record")
        for path, words in (("/nonexistent", "No such file"), ("/", "no file"),
                            ("/dev/zero", "no file")):
            done = self.replay(path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(words, done.stderr)
        done = self.replay(self.write(self.data), "-o", "yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("-o lines|json|none", done.stderr)

    def test_another_version_and_what_no_placer_writes_is_refused(self):
        def record(content):
            return Record(0, b"", content)

        begin = Record(0, MARK, b"B" + pack(2, driver.PROTOCOL, "b", 1, 0))
        for records, words in (
                ([Record(0, MARK, b"B" + pack(3, driver.PROTOCOL, "b7", 1, 0))], "build b7"),
                ([Record(0, MARK, b"E" + pack(True, ""))], "without its begin"),
                ([begin, record(b"B" + pack(2, driver.PROTOCOL, "b", 1, 0))], "begin inside"),
                ([begin, record(b"?")], "unknown kind"),
                ([begin, record(b"X" + pack(99))], "no peer 99"),
                ([begin, record(b"X" + pack("a"))], "missing or of another kind"),
                ([begin, record(b"T\x03" + frame("SYNC_BEGIN"))], "may not send"),
                ([begin, record(b"T\x01" + frame("NODE", length=9, body=b""))], "not fill"),
                ([begin, record(b"T\x01" + frame("NODE", body=b"\xc1"))], "NODE: body"),
                ([begin, record(b"T\x01" + frame("NODE", number=999))], "unknown type"),
                ([begin, record(b"S\x01" + frame("NODE"))], "may not send"),
                ([begin, record(b"T")], "without a peer"),
                ([begin, record(b"E" + pack(True, "")), record(b"X" + pack(1))],
                 "follows the end")):
            self.bad(write_records(records), words)


class Bounds(Replaying):
    def lead(self, worker):
        worker.control.send("TERM_BEGAN", 1)
        worker.links["projector"].send("WRITTEN_END", 1)

    def fill(self, worker, syncs):
        """Syncs of everything there ever was, so often."""
        frames = [r.content[2:] for r in read_records(self.data)
                  if r.kind == "T" and r.name() in ("PROFILE", "INVENTORY", "RACK", "NODE")]
        link = worker.links["informer"]
        for _ in range(syncs):
            link.send_bytes(frame("SYNC_BEGIN") + b"".join(frames) + frame("SYNC_END"))
            link.wait_read()
            worker.links["projector"].now()

    def placer(self, path, **options):
        worker = self.start("placer")
        worker.recording = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.addCleanup(os.close, worker.recording)
        worker.wire(**options)
        self.lead(worker)
        return worker

    def said_once(self, worker, *words):
        lines = [line for line in worker.output().splitlines() if "recording ended" in line]
        self.assertEqual(len(lines), 1, lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_at_its_limit_recording_ends_and_the_placer_goes_on(self):
        path = self.folder / "limited"
        worker = self.placer(path, record_limit="1")
        self.fill(worker, 1)
        size = path.stat().st_size
        self.assertGreater(size, 10000)
        self.fill(worker, 2 * MIB // size + 2)
        self.assertEqual(worker.stop(), (True, 0))
        self.said_once(worker, "--record-limit", '"bytes":')
        self.assertLessEqual(path.stat().st_size, MIB)
        self.assertGreater(path.stat().st_size, MIB - size)
        last = read_records(path.read_bytes())[-1]
        self.assertEqual((last.kind, unpack(last.content[1:])),
                         ("E", [False, "the limit of --record-limit is reached"]))
        self.verdict(self.replay(path, "-o", "none"))
        # The next start finds it full, and says so once.
        worker = self.placer(path, record_limit="1")
        self.fill(worker, 2)
        self.assertEqual(worker.stop(), (True, 0))
        self.said_once(worker, "--record-limit")
        self.assertLessEqual(path.stat().st_size, MIB)
        self.assertEqual(read_records(path.read_bytes())[-1].kind, "E")
        self.verdict(self.replay(path, "-o", "none"))

    def settled(self, path):
        """Its size, once nothing is on its way to it any more."""
        size = -1
        while size != path.stat().st_size:
            size = path.stat().st_size
            time.sleep(0.5)
        return size

    def test_on_a_full_disk_recording_ends_and_the_placer_goes_on(self):
        path = self.folder / "full"
        worker = self.placer(path)
        self.fill(worker, 1)
        size = self.settled(path)
        # Room for the begin of a sync, not for a part of the next record more.
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (size + 120, size + 120))
        self.fill(worker, 3)
        self.assertEqual(worker.stop(), (True, 0))
        self.said_once(worker, "File too large")
        last = read_records(path.read_bytes())[-1]
        self.assertEqual((last.kind, unpack(last.content[1:])), ("E", [False, "File too large"]))
        self.assertGreaterEqual(path.stat().st_size, size)
        self.verdict(self.replay(path, "-o", "none"))

    def test_a_second_start_adds_a_section(self):
        path = self.folder / "sections"
        for generation in (1, 2, 3):
            worker = self.placer(path, generation=generation)
            self.fill(worker, 1)
            self.assertEqual(worker.stop(), (True, 0))
        begins = [unpack(r.content[1:]) for r in read_records(path.read_bytes()) if r.mark]
        self.assertEqual([b[3] for b in begins], [1, 2, 3])
        self.assertIn("3 starts of the placer", self.verdict(self.replay(path, "-o", "none"))[2])


class Option(Replaying):
    def refused(self, path, *words):
        plane = Plane(self, "--record", path, server=api.Api())
        self.addCleanup(plane.server.close)
        self.addCleanup(plane.end)
        status, text = plane.wait_exit()
        self.assertEqual(status, 1)
        for word in ("--record", *words):
            self.assertIn(word, text)

    def test_a_file_that_is_no_recording_is_left_alone(self):
        path = self.folder / "notes"
        path.write_text("do not lose this\n")
        self.refused(path, "no recording", "another file")
        self.assertEqual(path.read_text(), "do not lose this\n")
        self.refused(self.folder, "director")
        self.refused("/dev/null", "no regular file")
        self.refused(self.folder / "none" / "x", "No such file")

    def test_a_recording_that_is_there_is_overwritten_unless_it_is_in_use(self):
        path = self.folder / "twice"
        path.write_bytes(self.data)
        path.chmod(0o644)
        server = api.Api()
        self.addCleanup(server.close)
        plane = Plane(self, "--record", path, server=server)
        self.addCleanup(plane.end)
        plane.wait_running()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.refused(path, "in use by another control plane")
        self.assertEqual(plane.stop(), 0)
        self.assertEqual(read_records(path.read_bytes())[-1].kind, "E")
        self.assertLess(path.stat().st_size, len(self.data))
        self.assertIn("identical", self.replay(path).stderr)

    def test_without_the_option_nothing_is_granted(self):
        worker = self.start("placer").wire()
        for name in os.listdir(f"/proc/{worker.pid}/fd"):
            target = os.readlink(f"/proc/{worker.pid}/fd/{name}")
            self.assertFalse(target.endswith("recording"), target)
        self.assertEqual(worker.stop(), (True, 0))


class Document(Replaying):
    """What docs/replay.md shows is what happens, numbers apart."""

    def test_the_commands_of_the_manual(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "run.recording").write_bytes(self.data)
        text = (driver.ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
        blocks = re.findall(r"(?ms)^```console\n(.*?)^```$", text)
        commands = [c for block in blocks for c in re.split(r"(?m)^\$ ", block)[1:]]
        self.assertGreater(len(commands), 4)
        path = f"{programs('debug')}:{os.environ['PATH']}"
        for command in commands:
            line, _, shown = command.partition("\n")
            done = subprocess.run(
                ["sh", "-c", line.replace("/tmp/replay", folder.name)],
                env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
            # What a killed placer had said and not written down any more is told, too.
            got = re.sub("; [0-9]+ intents? beyond what was recorded", "",
                         done.stdout.replace(folder.name, "/tmp/replay"))
            plain = [re.sub(r"\d+", "N", re.sub(r"[0-9a-f-]{36}", "UID", t)) for t in (got, shown)]
            self.assertEqual(plain[0], plain[1], line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
