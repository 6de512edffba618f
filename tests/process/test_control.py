# SPDX-License-Identifier: Apache-2.0
"""The control socket, by mokkactl and by frames of our own: what people see of
a running control plane, what they can do to it, and what a worker that hangs
or crashes leaves behind."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import driver
import api
import test_supervisor
from driver import WORKERS, Link, wait_for
from estate import declare, settled
from test_supervisor import SupervisorTest, children, is_there

MOKKACTL = driver.BUILD / "debug" / "mokkactl"
NODES = 54


class ControlTest(SupervisorTest):
    """One leading control plane for all tests of a class; what a test changes it
    puts right again."""

    arguments = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        declare(cls.api, NODES)
        cls.shared = test_supervisor.Plane(cls, *cls.arguments)
        shutil.copy2(MOKKACTL, cls.shared.programs / "mokkactl")
        cls.addClassCleanup(cls.end_shared)
        wait_for("convergence", 40, lambda: settled(cls.api, NODES))

    @classmethod
    def end_shared(cls):
        report = cls.shared.end()
        assert not report, report

    def ctl(self, *arguments, plane=None, socket_=True, environment=None, seconds=30):
        """(exit status, stdout, stderr) of mokkactl."""
        plane = plane or self.shared
        if socket_:
            arguments = (arguments[0], "--socket", str(plane.socket), *arguments[1:])
        done = subprocess.run(
            [str(self.shared.programs / "mokkactl"), *arguments], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **driver.SANITIZERS, **(environment or {})})
        self.assertFalse(driver.reported(done.stderr), done.stderr)
        return done.returncode, done.stdout, done.stderr

    def fine(self, *arguments, **options):
        status, out, err = self.ctl(*arguments, **options)
        self.assertEqual((status, err), (0, ""))
        return out

    def refused(self, *arguments, **options):
        """One line on stderr, nothing on stdout, exit status 1."""
        status, out, err = self.ctl(*arguments, **options)
        self.assertEqual((status, out), (1, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def answering(self, *arguments):
        """A control plane whose control socket is there, whatever its workers do."""
        plane = self.plane(*arguments)
        wait_for("its control socket", 20, plane.socket.exists)
        return plane

    def status(self, plane=None):
        return json.loads(self.fine("status", "-o", "json", plane=plane))

    def worker(self, name, plane=None):
        return next(w for w in self.status(plane)["workers"] if w["name"] == name)

    def wait_worker(self, name, seconds=20, plane=None, **wanted):
        def look():
            found = self.worker(name, plane)
            return all(found[key] == value for key, value in wanted.items()) and found
        return wait_for(f"{name} {wanted}", seconds, look)

    def connect(self, plane=None):
        end = socket.socket(socket.AF_UNIX)
        end.connect(str((plane or self.shared).socket))
        link = Link(end)
        self.addCleanup(link.close)
        return link

    def node(self, name="sim-017"):
        return self.api.get("nodes", name)["metadata"]


class Look(ControlTest):
    def test_status_names_every_process_and_what_it_does(self):
        status = self.status()
        self.assertEqual([w["name"] for w in status["workers"]], list(WORKERS))
        self.assertTrue(status["ready"], status)
        self.assertEqual(status["pid"], self.shared.pid)
        self.assertEqual(status["build"], self.build)
        self.assertGreater(status["term"], 0)
        self.assertEqual({w["pid"] for w in status["workers"]},
                         set(children(self.shared.pid)))
        for worker in status["workers"]:
            self.assertEqual((worker["state"], worker["ok"]), ("running", True), worker)
            self.assertGreater(worker["residentKiB"], 1000)
        facts = self.worker("placer")["facts"]
        self.assertEqual((facts["nodes"], facts["racks"]), (NODES, 3))

    def test_status_as_a_table(self):
        head, sandbox, blank, columns, *rows = self.fine("status").splitlines()
        self.assertRegex(head, r"^ready, leads \(term \d+\); Lease mokka-system/")
        self.assertEqual(sandbox, f"sandbox: {', '.join(WORKERS)}: off: built with "
                                  "sanitizers, which it would hinder")
        self.assertEqual(blank, "")
        self.assertEqual(columns.split()[:5], ["PROCESS", "PID", "STATE", "SINCE", "RESTARTS"])
        self.assertEqual([row.split()[1] for row in rows[1:]], list(WORKERS))
        wide = self.fine("status", "-o", "wide")
        for fact in ("lists=", "window=", "queue=0B"):
            self.assertIn(fact, wide)
            self.assertNotIn(fact, "\n".join(rows))
        self.assertNotIn("\033", wide)  # no terminal, no colours

    def test_status_at_a_terminal_has_colours_unless_NO_COLOR(self):
        for no, there in (("", True), ("1", False)):
            ours, theirs = os.openpty()
            with open(ours, "rb") as terminal, open(theirs, "wb") as end:
                subprocess.run(
                    [str(MOKKACTL), "status", "-s", str(self.shared.socket)], stdout=end,
                    check=True, timeout=20, env={**os.environ, "NO_COLOR": no})
                text = os.read(terminal.fileno(), 1 << 16)
            self.assertEqual(b"\033[32mready" in text, there, text)

    def test_status_again_and_again(self):
        command = subprocess.Popen(
            [str(MOKKACTL), "status", "-w", "-o", "json", "-s", str(self.shared.socket)],
            stdout=subprocess.PIPE)
        first, second = (json.loads(command.stdout.readline()) for _ in range(2))
        command.kill()
        command.wait()
        command.stdout.close()
        self.assertLess(first["time"], second["time"])

    def test_C08_assignments_of_a_Node(self):
        meta = self.node()
        out = self.fine("assignments", meta["name"], meta["uid"])
        rack, uid, group, index, slot = out.rstrip("\n").split("\t")
        found = self.api.get("sgpuracks", rack)
        self.assertEqual(out.count("\n"), 1)
        self.assertEqual(found["metadata"]["uid"], uid)
        self.assertEqual(found["spec"]["identity"]["rackGroup"], group)
        self.assertEqual(found["spec"]["identity"]["rackIndex"], int(index))
        self.assertEqual(found["spec"]["nodes"][int(slot)]["nodeRef"]["uid"], meta["uid"])
        self.assertEqual(self.fine("assignments", meta["name"], "another-uid"), "")
        self.assertEqual(self.fine("assignments", "nobody", meta["uid"]), "")
        self.assertIn("uid", self.refused("assignments", meta["name"], ""))
        self.assertIn("missing", self.refused("assignments", meta["name"]))

    def test_C08_a_standby_answers_too_and_before_it_is_synchronised_refuses(self):
        standby = self.answering()
        wait_for("the standby", 20, lambda: [
            w for w in self.status(standby)["workers"] if w["name"] == "placer" and w["ok"]])
        meta = self.node()
        self.assertEqual(self.status(standby)["term"], 0)
        wanted = self.fine("assignments", meta["name"], meta["uid"])
        self.assertEqual(self.fine("assignments", meta["name"], meta["uid"], plane=standby),
                         wanted)
        self.assertIn("assigned and projected", self.fine("why", meta["name"], plane=standby))
        server = api.Api()
        self.addCleanup(server.close)
        server.answer("GET /apis/mokka", api.status(500))
        unready = self.plane(server=server)
        unready.wait_running()
        self.assertIn("not ready", self.refused(
            "assignments", meta["name"], meta["uid"], plane=unready))
        self.assertIn("not ready", self.refused("why", meta["name"], plane=unready))

    def test_dump_of_each_worker_that_holds_something(self):
        for name, kinds in (("informer", {"cache", "Node", "SGPURack", "SGPUInventory",
                                          "SGPURackProfile"}),
                            ("placer", {"placer", "Node", "SGPURack", "SGPUInventory",
                                        "SGPURackProfile"})):
            lines = [json.loads(line) for line in self.fine("dump", name).splitlines()]
            self.assertLessEqual(kinds, {line["kind"] for line in lines})
            self.assertEqual(sum(line["kind"] == "Node" for line in lines), NODES)
        for line in self.fine("dump", "projector").splitlines():
            self.assertEqual(json.loads(line)["kind"], "intent")
        self.assertIn("it knows log", self.refused("dump", "web"))

    def test_tap_shows_a_message_with_its_fields(self):
        tap = subprocess.Popen(
            [str(MOKKACTL), "tap", "informer:placer", "-t", "NODE", "-g", "sim-001", "-n", "1",
             "-s", str(self.shared.socket)], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        node = self.api.get("nodes", "sim-001")
        node["metadata"]["labels"]["colour"] = "red"
        self.api.put("nodes", node)
        line = json.loads(tap.communicate(timeout=20)[0])
        self.assertEqual(tap.returncode, 0)
        self.assertEqual((line["type"], line["out"], line["link"]),
                         ("NODE", True, "informer:placer"))
        self.assertEqual(line["body"]["meta"][0], "sim-001")
        self.assertIn("no link", self.refused("tap", "informer:projector"))
        self.assertIn("informer:placer", self.refused("tap", "informer"))
        self.assertIn("-n", self.refused("tap", "informer:placer", "-n", "0"))

    def test_a_tap_goes_on_with_the_next_process(self):
        link = self.connect()
        link.send("COMMAND", driver.PROTOCOL, "tap", ["informer", "placer"])
        time.sleep(0.3)
        self.fine("restart", "informer")
        # What it subscribed to may come by itself.
        while "SYNC_BEGIN" not in link.wait("STREAM").fields[0]:
            pass

    def test_a_tap_that_nobody_reads_costs_the_workers_nothing(self):
        link = self.connect()
        link.send("COMMAND", driver.PROTOCOL, "tap", ["informer", "placer"])
        time.sleep(0.3)
        # Some 40 KiB for each sync; the queue for a reader has 256 KiB.
        for _ in range(25):
            generation = self.worker("placer")["generation"]
            self.fine("restart", "placer")
            self.wait_worker("placer", state="running", generation=generation + 1)
        self.assertTrue(self.wait_worker("placer", ok=True))
        self.assertLess(self.status()["residentKiB"], 100 * 1024)
        # It reads after all: what was kept for it, and then what passes now.
        lines = 0
        while lines < 100:
            lines += link.wait("STREAM").fields[0].count("\n")
            if not driver.readable(link.socket):
                self.fine("restart", "placer")

    def test_the_log_level_of_one_worker(self):
        self.assertEqual(self.fine("log", "placer", "error"), "log level error\n")
        self.assertEqual(self.fine("log", "placer", "debug"), "log level debug\n")
        self.assertIn("must be debug", self.refused("log", "placer", "loud"))
        self.assertIn("no worker", self.refused("log", "placers", "debug"))


class Command(ControlTest):
    def test_restart_is_no_crash_and_disturbs_nobody(self):
        before = {w["name"]: w["pid"] for w in self.status()["workers"]}
        for _ in range(3):
            generation = self.worker("web")["generation"]
            self.fine("restart", "web")
            self.wait_worker("web", state="running", generation=generation + 1, seconds=5)
        after = {w["name"]: w["pid"] for w in self.status()["workers"]}
        self.assertNotEqual(before.pop("web"), after.pop("web"))
        self.assertEqual(before, after)
        self.assertEqual(self.shared.lines(msg="crash report", worker="web"), [])

    def test_hold_keeps_the_next_start_from_work_until_continue(self):
        self.assertIn("not held", self.refused("continue", "placer"))
        self.fine("hold", "placer")
        self.fine("restart", "placer")
        held = self.wait_worker("placer", state="held")
        self.assertTrue(held["held"])
        self.assertEqual(held["reason"], "held until mokkactl continue placer")
        row, = [line for line in self.fine("status").splitlines() if "- placer" in line]
        self.assertIn("(held until mokkactl continue placer)", row)
        self.assertIn("cannot be asked: it is held", self.refused("why", "sim-001"))
        self.fine("continue", "placer")
        self.assertEqual(self.wait_worker("placer", state="running")["pid"], held["pid"])

    def test_wait_at_start(self):
        plane = self.answering("--wait", "web,placer")
        for name in ("web", "placer"):
            self.wait_worker(name, plane=plane, state="held")
        self.assertEqual(self.worker("informer", plane)["held"], False)
        self.fine("continue", "web", plane=plane)
        self.wait_worker("web", plane=plane, state="running")
        self.assertEqual(plane.stop(), 0)

    def test_lend_runs_the_worker_here_and_gives_it_back(self):
        generation = self.worker("placer")["generation"]
        lent = subprocess.Popen(
            [str(self.shared.programs / "mokkactl"), "lend", "-s", str(self.shared.socket),
             "placer", "--", "env", "LENT=1"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, **driver.SANITIZERS})
        found = self.wait_worker("placer", state="running", generation=generation + 1)
        self.assertEqual((found["lent"], found["pid"]), (True, lent.pid))
        self.assertIn(b"LENT=1", pathlib.Path(f"/proc/{lent.pid}/environ").read_bytes())
        self.assertEqual(os.readlink(f"/proc/{lent.pid}/exe"),
                         os.path.realpath(self.shared.programs / "placer"))
        self.assertIn("lent already", self.refused("lend", "placer", "--"))
        self.assertIn("assigned", self.fine("why", "sim-001"))  # it does its work
        lent.kill()
        lent.communicate()
        back = self.wait_worker("placer", state="running", generation=generation + 2)
        self.assertEqual(back["lent"], False)
        self.assertIn(back["pid"], children(self.shared.pid))
        self.assertIn("lent to process", back["lastCause"])

    def test_a_lent_worker_that_does_not_work_yet_says_who_has_it(self):
        lent = subprocess.Popen(
            [str(self.shared.programs / "mokkactl"), "lend", "-s", str(self.shared.socket),
             "projector", "--", "sh", "-c", 'sleep 3; exec "$0"'], stdout=subprocess.DEVNULL,
            env={**os.environ, **driver.SANITIZERS})
        self.addCleanup(lent.wait)
        self.addCleanup(lent.kill)
        found = self.wait_worker("projector", state="starting", lent=True)
        self.assertEqual(found["reason"], f"run by hand, as process {lent.pid}")
        self.wait_worker("projector", state="running", lent=True)

    def test_a_lent_worker_stops_with_the_whole(self):
        plane = self.plane()
        plane.wait_running()
        shutil.copy2(MOKKACTL, plane.programs / "mokkactl")
        lent = subprocess.Popen(
            [str(plane.programs / "mokkactl"), "lend", "-s", str(plane.socket), "web", "--"],
            stdout=subprocess.DEVNULL)
        self.wait_worker("web", plane=plane, lent=True, state="running")
        self.assertEqual(plane.stop(), 0)
        self.assertEqual(lent.wait(10), 0)


class Socket(ControlTest):
    def test_the_usual_name_is_that_of_the_Lease_and_found_without_being_told(self):
        environment = {"MOKKA_CP_LEADER_ELECTION_NAME": f"test-{os.getpid()}"}
        plane = self.plane("--control-socket", f"@mokka/test/{os.getpid()}")
        plane.wait_running()
        self.assertEqual(plane.lines(msg="control socket")[0]["addr"],
                         f"@mokka/test/{os.getpid()}")
        out = self.fine("status", "-s", f"@mokka/test/{os.getpid()}", socket_=False)
        self.assertIn("Lease mokka-system/", out)
        found = self.ctl("status", socket_=False, environment=environment)
        # Others may run on this machine; then all of them are named.
        self.assertIn("mokka/", "".join(found[1:]) + "mokka/")
        environment = {"MOKKA_CP_CONTROL_SOCKET": f"@mokka/test/{os.getpid()}"}
        self.fine("status", socket_=False, environment=environment)

    def test_a_name_that_is_taken_is_said_in_one_line_with_the_remedy(self):
        for where in (str(self.shared.socket), "/nowhere/at/all", "@" + "x" * 200):
            with self.subTest(where=where):
                if len(where) > 150:
                    done = subprocess.run(
                        [str(self.shared.programs / "control-plane"), "--control-socket", where],
                        stderr=subprocess.PIPE, text=True, check=False, timeout=10)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn("at most 107 bytes", done.stderr)
                    continue
                plane = self.plane("--control-socket", where)
                plane.wait_running()  # it goes on without
                line, = [l for l in plane.lines() if l["msg"].startswith("no control socket")]
                self.assertIn("--control-socket PATH", line["msg"])
                self.assertIn(where, line["error"])
                self.assertEqual(plane.stop(), 0)
        self.fine("status")

    def test_a_file_that_a_killed_one_left_is_no_hindrance(self):
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "s"
        first = self.plane("--control-socket", path)
        first.wait_running()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        first.process.kill()
        first.process.wait()
        self.assertTrue(path.exists())
        second = self.plane("--control-socket", path)
        second.wait_running()
        self.assertEqual(len(second.lines(msg="control socket")), 1)
        self.assertEqual(second.stop(), 0)
        self.assertFalse(path.exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_another_user_is_turned_away(self):
        # The file's mode is not what keeps them out.
        name = f"@mokka/test/other-{os.getpid()}"
        plane = self.plane("--control-socket", name)
        plane.wait_running()
        program = ("import os,socket,sys; os.setuid(65533); s=socket.socket(socket.AF_UNIX); "
                   f"s.connect('\\0{name[1:]}'); s.settimeout(10); sys.exit(len(s.recv(1)))")
        done = subprocess.run([shutil.which("python3"), "-c", program], timeout=20, check=False)
        self.assertEqual(done.returncode, 0)
        line, = plane.lines(msg="control connection refused")
        self.assertEqual(line["uid"], 65533)
        self.assertIn("ready", self.fine("status", "-s", name, socket_=False))

    def test_every_kind_of_garbage_costs_that_connection_only(self):
        version = driver.PROTOCOL
        pieces = [b"\xff" * 64, driver.frame("HELLO", version, "", "", 1),
                  driver.frame("ASK", "x", []),
                  driver.frame("COMMAND", body=b"\xc1"), driver.frame("COMMAND", version),
                  driver.frame("COMMAND", version, "status", {}),
                  driver.frame("COMMAND", version, "ask", [1]),
                  driver.frame("COMMAND", version, "status", [""] * 9),
                  driver.frame("COMMAND", length=1 << 20, body=b""),
                  driver.frame("COMMAND", version, "tap", ["informer", "placer"]) * 2]
        for piece in pieces:
            link = self.connect()
            link.send_bytes(piece)
            self.assertTrue(link.ended(), piece)
        self.assertEqual(self.status()["ready"], True)

    def test_a_command_it_does_not_know_is_answered(self):
        link = self.connect()
        for protocol, name, arguments, said in (
                (driver.PROTOCOL, "bake", [], "does not know"),
                (driver.PROTOCOL, "status", ["a"], "does not know"),
                (driver.PROTOCOL, "hold", ["baker"], "informer, placer"),
                (driver.PROTOCOL + 1, "status", [], "same build")):
            link.send("COMMAND", protocol, name, arguments)
            ok, text = link.wait("REPLY").fields
            self.assertFalse(ok)
            self.assertIn(said, text)

    def test_at_most_16_are_connected(self):
        links = [self.connect() for _ in range(17)]
        wait_for("one to be turned away", 5, lambda: any(
            driver.readable(link.socket) for link in links))
        for link in links:
            link.close()
        wait_for("room again", 5, lambda: self.ctl("status")[0] == 0)

    def test_an_answer_that_is_not_read_is_not_made(self):
        """The supervisor holds a piece or two, the worker the rest."""
        link = self.connect()
        link.send("COMMAND", driver.PROTOCOL, "ask", ["informer", "dump"])
        text = ""
        while (found := link.receive()).name == "STREAM":
            text += found.fields[0]
        text += found.fields[1]
        self.assertEqual(len(text.splitlines()), 4 + 1 + 1 + 3 + NODES)

    def test_who_leaves_in_the_middle_leaves_nothing_behind(self):
        for _ in range(20):
            link = self.connect()
            link.send("COMMAND", driver.PROTOCOL, "ask", ["placer", "dump"])
            link.close()
        self.assertTrue(self.status()["ready"])

    def test_a_question_whose_worker_dies_is_answered(self):
        pid = self.worker("placer")["pid"]
        os.kill(pid, signal.SIGSTOP)
        link = self.connect()
        link.send("COMMAND", driver.PROTOCOL, "ask", ["placer", "dump"])
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        ok, text = link.wait("REPLY").fields
        self.assertFalse(ok)
        self.assertIn("died", text)


class Crash(ControlTest):
    @classmethod
    def end_shared(cls):
        """The sanitizers speak of the signals that are sent here."""
        report = cls.shared.end()
        assert not report or "in epoll_wait" in report, report

    def kill(self, name, number):
        found = self.worker(name)
        os.kill(found["pid"], number)
        self.wait_worker(name, state="running", generation=found["generation"] + 1)
        return self.shared.lines(msg="crash report", worker=name,
                                 generation=found["generation"])

    def test_J09_a_crash_report_names_signal_place_build_and_last_frames(self):
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT):
            report, = self.kill("placer", number)
            self.assertEqual(report["signal"], signal.strsignal(number))
            # It was sent, by this very process, and is no fault at an address.
            self.assertRegex(report["killedBy"], rf"process {os.getpid()} \(python3?.*\)")
            self.assertNotIn("address", report)
            self.assertRegex(report["stack"], r"placer\+0x[0-9a-f]+")
            self.assertEqual(report["build"], self.build)
            self.assertRegex(report["frames"], r"-\d+ms from informer \w+ #0 \d+B .*(demo|sim-)")

    def test_the_stack_leads_to_the_line_of_code(self):
        report, = self.kill("placer", signal.SIGSEGV)
        places = re.findall(r"placer\+(0x[0-9a-f]+)", report["stack"])
        text = subprocess.run(
            ["addr2line", "-fe", str(driver.programs("debug") / "placer"), *places],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertRegex(text, r"worker_main\n.*common/worker\.c:\d+")

    def test_of_a_killed_one_the_report_has_what_is_known_and_nothing_empty(self):
        report, = self.kill("informer", signal.SIGKILL)
        self.assertEqual(report["cause"], "signal 9 (Killed)")
        self.assertIn("not us", report["killedBy"])
        self.assertRegex(report["memory"], r"^peak [1-9]\d* MiB")
        self.assertIn("to placer", report["frames"])
        self.assertEqual([key for key, value in report.items() if value == ""], [])
        self.assertFalse({"signal", "stack", "address"} & set(report))

    def test_J03_workers_that_are_stopped_do_not_outlive_the_supervisor(self):
        plane = self.plane()
        plane.wait_running()
        pids = plane.everyone()
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        plane.process.kill()
        wait_for("the end of every worker", 5, lambda: not any(
            is_there(pid) for pid in pids.values()))

    def plane_with_hup(self, disposition):
        """One that is started with SIGHUP so, however this test was started."""
        before = signal.signal(signal.SIGHUP, disposition)
        try:
            return self.plane()
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_J01_HUP_stops_like_TERM(self):
        plane = self.plane_with_hup(signal.SIG_DFL)
        plane.wait_running()
        plane.process.send_signal(signal.SIGHUP)
        self.assertEqual(plane.wait_exit()[0], 0)

    def test_HUP_is_nothing_to_one_that_was_started_to_ignore_it(self):
        plane = self.plane_with_hup(signal.SIG_IGN)
        plane.wait_running()
        plane.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(plane.process.poll())
        self.assertEqual(plane.stop(), 0)


class Watchdog(ControlTest):
    """All at once, as each case takes its 15 seconds."""

    def test_silent_workers_are_aborted_and_those_with_an_excuse_are_not(self):
        silent = ("informer", "web")
        excused = ("projector",)
        before = {w["name"]: w for w in self.status()["workers"]}
        self.fine("hold", excused[0])
        for name in (*silent, *excused):
            os.kill(before[name]["pid"], signal.SIGSTOP)
        began = time.monotonic()
        wait_for("silence to be shown", 10, lambda: all(
            self.worker(name)["unansweredSeconds"] >= 2 for name in silent))
        for name in silent:
            found = self.wait_worker(name, state="running", seconds=25,
                                     generation=before[name]["generation"] + 1)
            self.assertIn("signal 6", found["lastCause"])
            self.assertEqual(len(self.shared.lines(msg="worker is silent", worker=name)), 1)
            self.assertEqual(
                self.shared.lines(msg="crash report", worker=name)[-1]["killedBy"],
                "the supervisor: it answered no ping")
        took = time.monotonic() - began
        print(f"  back after {took:.1f} s")
        self.assertGreater(took, 14)
        time.sleep(2)
        self.assertEqual(self.worker(excused[0])["pid"], before[excused[0]]["pid"])
        os.kill(before[excused[0]]["pid"], signal.SIGCONT)
        self.fine("continue", excused[0])
        for name in ("placer", "elector"):
            self.assertEqual(self.worker(name)["pid"], before[name]["pid"])
        self.assertTrue(wait_for("readiness", 10, lambda: self.status()["ready"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
