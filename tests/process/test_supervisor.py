# SPDX-License-Identifier: Apache-2.0
"""The supervisor, with workers that are not what they should be, and with
signals at any time."""

import datetime
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time
import types
import unittest

import driver
import api
import fakes
import harness
from driver import PROTOCOL, WORKERS, frame, wait_for
from estate import declare, settled

OTHER_BUILD = "9.9.9-another"
LEASE = "control-plane.mokka.nvidia.com"
TURNS = {name: int(turn) for name, turn in driver.read_list(
    "supervisor/topology.def", r'^WORKER\(\w+, "(\w+)", (\d+),')}


def moment(line):
    return datetime.datetime.fromisoformat(line["time"]).timestamp()


def children(pid):
    """The processes whose parent it is."""
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(number) for number in text.split()]


def is_there(pid):
    """It runs; a zombie does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class Plane(harness.ControlPlane):
    """A control plane of the build with sanitizers, some workers replaced."""

    def __init__(self, test, *arguments, fake=None, without=None, server=None, below=(),
                 **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.programs = fakes.folder_of("debug", self.folder / "bin")
        for name, (what, *rest) in (fake or {}).items():
            if what == "dies":
                fakes.install_dying(self.programs, name)
            else:
                fakes.install(self.programs, name, what, *rest)
        if without:
            (self.programs / without).unlink()
        self.server = server or test.api
        # What is freed counts as free soon, for those who look at the memory.
        environment = {**driver.SANITIZERS, "ASAN_OPTIONS":
                       driver.SANITIZERS["ASAN_OPTIONS"] + ":quarantine_size_mb=16"}
        super().__init__(
            types.SimpleNamespace(directory=self.folder,
                                  user=self.server.kubeconfig(self.folder / "config")),
            "--log-level", "debug", *arguments, environment=environment,
            program=(*below, self.programs / "control-plane"), **options)
        self.address_ = None

    def address(self):
        self.address_ = self.address_ or super().address()
        return self.address_

    def everyone(self):
        """pids by worker, of those that run."""
        return {line["worker"]: line["pid"] for line in self.lines(msg="worker running")}

    def wait_running(self, *names, seconds=20):
        wait_for("the workers", seconds, lambda: set(names or WORKERS) <= set(
            self.everyone()))
        return self

    def running(self, name):
        """Its last process has not ended."""
        return name in self.everyone() and is_there(self.everyone()[name])

    def generation(self, name):
        return max((line["generation"] for line in self.lines(
            msg="worker running", worker=name)), default=0)

    def end(self):
        """Ends what is left; returns what a sanitizer said."""
        for pid in [self.pid, *children(self.pid)]:
            if self.process.poll() is None:
                os.kill(pid, signal.SIGCONT)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        return driver.reported(self.error.read_text() + self.log.read_text())


class SupervisorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.api = api.Api()
        cls.addClassCleanup(cls.api.close)
        worker = driver.Worker("web")
        cls.build = worker.hello()[1]
        worker.close()

    def plane(self, *arguments, **options):
        plane = Plane(self, *arguments, **options)
        self.addCleanup(self.finish, plane)
        return plane

    def finish(self, plane):
        report = plane.end()
        self.assertFalse(report, report)

    def last_line(self, plane, status=1, seconds=20):
        """It has ended with that status; its one line on stderr."""
        try:
            code, text = plane.wait_exit(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"no end\n{plane.tail()}")
        self.assertEqual(code, status, plane.tail())
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertTrue(text.startswith("control-plane: "), text)
        return text.strip()

    def others_undisturbed(self, plane, name):
        for other in WORKERS:
            if other != name:
                self.assertEqual(plane.generation(other), 1, plane.tail())


class Start(SupervisorTest):
    """What takes long by its nature begins at once and is looked at last."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.began = time.monotonic()
        cls.slow = {
            "mute": Plane(cls, fake={"web": ("mute",)}),
            "unready": Plane(cls, fake={"web": ("unready", cls.build)}),
            "dying": Plane(cls, fake={"projector": ("dies",)}),
        }

    @classmethod
    def tearDownClass(cls):
        for plane in cls.slow.values():
            plane.end()

    def background(self, name):
        plane = self.slow[name]
        self.addCleanup(self.finish, plane)
        return plane

    def test_HELLO_of_another_build_ends_it_with_a_line_that_names_both(self):
        for build, protocol, said in ((OTHER_BUILD, PROTOCOL, "web"),
                                      (self.build, PROTOCOL + 1, "web"),
                                      (self.build, PROTOCOL, "placer"), ("", -1, "")):
            with self.subTest(build=build, protocol=protocol, said=said):
                plane = self.plane(fake={"web": ("another", build, protocol, said)})
                line = self.last_line(plane)
                for word in (f"build {build}", self.build, "web", f"protocol {protocol}"):
                    self.assertIn(word, line)
                self.assertEqual(children(plane.pid), [])

    def test_an_executable_that_is_missing_is_named(self):
        plane = self.plane(without="placer")
        line = self.last_line(plane)
        self.assertIn("placer", line)
        self.assertIn(str(plane.programs), line)
        self.assertEqual(plane.lines(msg="worker running"), [])

    def test_a_program_that_cannot_be_run_is_given_up_like_one_that_dies(self):
        plane = self.plane()
        plane.wait_running()
        (plane.programs / "web").unlink()
        (plane.programs / "web").write_bytes(b"\x7fELF no program")
        (plane.programs / "web").chmod(0o755)
        plane.kill("web")
        wait_for("its death", 5, lambda: plane.lines(
            msg="worker died", worker="web", cause="exit status 127"))
        self.assertEqual(plane.stop(), 0)

    def test_an_executable_that_goes_is_looked_for_until_it_is_back(self):
        plane = self.plane()
        plane.wait_running()
        (plane.programs / "web").rename(plane.programs / "away")
        plane.kill("web")
        wait_for("its death", 5, lambda: plane.lines(
            msg="worker died", worker="web", cause="not started"))
        self.assertIn(str(plane.programs), plane.lines(
            msg="worker cannot be started")[0]["error"])
        (plane.programs / "away").rename(plane.programs / "web")
        wait_for("its return", 10, lambda: plane.generation("web") > 1)
        self.others_undisturbed(plane, "web")
        self.assertEqual(plane.stop(), 0)

    def test_FAILED_ends_it_with_the_reason(self):
        for status in (0, 1):
            go = pathlib.Path(self.folder, f"go-{status}")
            plane = self.plane(fake={
                "web": ("fails", self.build, "no bread", status, str(go))})
            wait_for("the others to be at work", 20,
                     lambda p=plane: p.lines(msg="joining the election"))
            go.touch()
            self.assertEqual(self.last_line(plane), "control-plane: web: no bread")
            for name in WORKERS[:-1]:  # the others were stopped, not killed
                ended = plane.lines(msg="worker ended", worker=name)
                self.assertEqual([e["cause"] for e in ended], ["exit status 0"])

    def test_a_worker_inherits_nothing_but_its_streams_and_its_link(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        os.set_inheritable(write, True)
        environment = dict(os.environ, **driver.SANITIZERS)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        programs = fakes.folder_of("debug", folder / "bin")
        fakes.install(programs, "web", "tells_descriptors")
        # A parent that is careless about its descriptors.
        text = subprocess.run(
            [programs / "control-plane", "--kubeconfig",
             self.api.kubeconfig(folder / "config"), "--listen-addr", "127.0.0.1:0"],
            pass_fds=[write], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, timeout=20).stderr
        os.close(write)
        self.assertEqual(text, "control-plane: web: descriptors 0 1 2 3\n")

    def test_what_is_wrong_on_a_control_link_costs_that_worker_its_life_only(self):
        plane = self.plane(fake={"web": ("rude", self.build)})
        rounds = 6  # the pauses in between double
        wait_for("its restarts", 20, lambda: plane.generation("web") > rounds)
        self.others_undisturbed(plane, "web")
        for generation in range(1, rounds + 1):
            said = plane.lines(msg="control link ended", worker="web",
                               generation=generation)
            self.assertEqual(len(said), 1, said)
            died = plane.lines(msg="worker died", worker="web", generation=generation)
            self.assertIn("signal 9", died[0]["cause"])
        self.assertEqual(plane.stop(), 0)

    def test_every_kind_of_garbage_on_a_control_link_is_noticed(self):
        """All of them at once: each in the place of one worker that nothing
        waits for."""
        for first in range(6, len(fakes.GARBAGE), 3):
            data = fakes.GARBAGE[first:first + 3]
            fake = {name: ("sends", self.build, piece)
                    for name, piece in zip(("informer", "elector", "web"), data)}
            plane = self.plane(fake=fake)
            for name in fake:
                wait_for(f"the end of {name}'s link", 10, lambda: plane.lines(
                    msg="control link ended", worker=name))
            self.assertEqual(plane.generation("placer"), 1)
            self.assertEqual(plane.generation("projector"), 1)

    def test_a_worker_that_breaks_the_protocol_with_a_peer_is_started_again(self):
        for name, peer, data in (("informer", "placer", frame("NODE", 1)),
                                 ("placer", "informer", frame("SUBSCRIBE", [9], 0, 0)),
                                 ("placer", "projector", frame("PLAN_END")),
                                 ("projector", "placer", frame("RESULT", b""))):
            with self.subTest(worker=name, peer=peer):
                plane = self.plane(fake={name: ("lies", self.build, peer, data)})
                wait_for("its second start", 10, lambda: plane.generation(name) == 2)
                line, = plane.lines(msg="worker broke the protocol")
                self.assertEqual((line["worker"], line["toldBy"], line["generation"]),
                                 (name, peer, 1))
                self.others_undisturbed(plane, name)
                self.assertEqual(plane.stop(), 0)

    def test_nobody_costs_another_its_life_that_it_has_no_link_to(self):
        for teller, told, generation in (("web", "elector", 1), ("elector", "placer", 1),
                                         ("web", "web", 1), ("web", "supervisor", 0)):
            with self.subTest(teller=teller, told=told):
                plane = self.plane(fake={teller: (
                    "slanders", self.build, driver.ROLES[told], generation, "why")})
                plane.wait_running()
                wait_for("its second start", 10, lambda: plane.generation(teller) == 2)
                self.others_undisturbed(plane, teller)

    def test_a_cluster_that_went_back_in_time_is_read_anew_by_all(self):
        """And it is no death of anybody."""
        plane = self.plane(fake={"informer": ("goes_back", self.build)})
        for name in ("informer", "placer", "projector"):
            wait_for("its second start", 10, lambda n=name: plane.generation(n) == 2)
        line, = plane.lines(msg="the cluster went back in time, its readers start anew")
        self.assertEqual(line["reason"], "Node a: version 1 was listed, after version 2")
        time.sleep(0.5)
        self.assertEqual({name: plane.generation(name) for name in WORKERS}, {
            "informer": 2, "placer": 2, "projector": 2, "elector": 1, "web": 1})
        self.assertEqual(plane.lines(msg="crash report"), [])
        self.assertEqual(plane.stop(), 0)

    def test_a_complaint_about_one_that_is_gone_does_not_meet_its_successor(self):
        plane = self.plane(fake={"informer": (
            "slanders", self.build, driver.ROLES["placer"], 7, "why")})
        plane.wait_running()
        time.sleep(0.5)
        self.assertEqual({plane.generation(name) for name in WORKERS}, {1})
        self.assertEqual(plane.stop(), 0)

    def test_a_worker_that_floods_its_link_does_not_stop_the_others(self):
        plane = self.plane(fake={"web": ("floods", self.build)})
        plane.wait_running()
        time.sleep(1)
        generation, killed = plane.kill("placer")
        took = plane.wait_back("placer", generation) - killed
        memory = int(pathlib.Path(f"/proc/{plane.pid}/statm").read_text().split()[1]) / 256
        began = time.monotonic()
        plane.kill("web")
        self.assertEqual(plane.stop(), 0)
        print(f"  placer back after {took * 1000:.0f} ms, stop took "
              f"{time.monotonic() - began:.1f} s, supervisor has {memory:.0f} MiB")
        self.assertLess(took, 5)
        self.assertLess(memory, 100)

    def sockets(self, plane):
        return sum(os.readlink(f"/proc/{plane.pid}/fd/{number}").startswith("socket")
                   for number in os.listdir(f"/proc/{plane.pid}/fd"))

    def test_what_a_dead_worker_left_behind_does_not_speak_for_it(self):
        path = pathlib.Path(self.folder) / "left"
        plane = self.plane(fake={"web": ("leaves", self.build, str(path))})
        wait_for("the second one", 10, lambda: plane.generation("web") == 2)
        left = int(path.read_text())
        self.assertTrue(is_there(left))
        other = self.plane().wait_running()
        self.assertEqual(self.sockets(plane), self.sockets(other))
        os.kill(left, signal.SIGKILL)
        self.assertEqual(plane.stop(), 0)

    def test_w_no_HELLO_within_10_s_is_a_death(self):
        plane = self.background("mute")
        wait_for("the first death", 30, lambda: plane.lines(
            msg="worker died", worker="web"))
        died = plane.lines(msg="worker died", worker="web")[0]
        self.assertIn("signal 9", died["cause"])
        began = moment(plane.lines(msg="HTTP listening")[0])
        self.assertAlmostEqual(moment(died) - began, 10, delta=1.5)
        self.others_undisturbed(plane, "web")
        wait_for("the second start", 5, lambda: len(children(plane.pid)) == 5)
        stopped = time.monotonic()
        self.assertEqual(plane.stop(), 0)
        self.assertLess(time.monotonic() - stopped, 5)

    def test_x_no_READY_within_10_s_is_a_death(self):
        plane = self.background("unready")
        wait_for("the first death", 30, lambda: plane.lines(
            msg="worker died", worker="web"))
        self.assertIn("signal 9", plane.lines(msg="worker died")[0]["cause"])
        self.assertEqual(plane.lines(msg="worker running", worker="web"), [])
        self.others_undisturbed(plane, "web")

    def test_y_J05_ten_deaths_without_READY_end_it_and_the_worker_is_named(self):
        plane = self.background("dying")
        line = self.last_line(plane, seconds=90)
        self.assertIn("projector died 10 times", line)
        died = plane.lines(msg="worker died", worker="projector")
        self.assertEqual([d["generation"] for d in died], list(range(1, 11)))
        times = [moment(d) for d in died]
        pauses = [round(b - a, 1) for a, b in zip(times, times[1:])]
        print(f"  given up after {times[-1] - times[0]:.1f} s; pauses {pauses}")
        # The first restart is at once; then they wait.
        for pause, wanted in zip(pauses, (0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10)):
            self.assertAlmostEqual(pause, wanted, delta=0.3)
        for name in ("informer", "placer", "elector", "web"):
            ended = plane.lines(msg="worker ended", worker=name)
            self.assertEqual([e["cause"] for e in ended], ["exit status 0"])


class Stop(SupervisorTest):
    def leading(self, *arguments, **options):
        """One that is ready and holds the Lease of a server of its own."""
        server = api.Api()
        self.addCleanup(server.close)
        plane = self.plane(*arguments, server=server, **options)
        plane.wait_ready()
        self.assertTrue(self.holder(plane))
        return plane

    def holder(self, plane):
        lease = plane.server.get("leases", LEASE)
        return lease and lease["spec"]["holderIdentity"]

    def causes(self, plane):
        """How each ended, turn by turn."""
        lines = plane.lines(msg="worker ended")
        turns = [TURNS[line["worker"]] for line in lines]
        self.assertEqual(turns, sorted(TURNS.values()))
        return {line["worker"]: line["cause"] for line in lines}

    def test_J11_TERM_stops_by_turns_and_gives_the_Lease_back(self):
        plane = self.leading()
        began = time.monotonic()
        self.assertEqual(plane.stop(), 0)
        print(f"  {time.monotonic() - began:.2f} s")
        self.assertEqual(self.causes(plane), dict.fromkeys(WORKERS, "exit status 0"))
        self.assertEqual(self.holder(plane), "")
        self.assertEqual(plane.error.read_text(), "")
        self.assertEqual(plane.lines()[-1]["msg"], "stopped")

    def test_J01_J02_as_process_1_it_reaps_strangers_and_obeys_TERM(self):
        plane = self.plane(below=("unshare", "--pid", "--fork", "--mount-proc"))
        plane.wait_running()
        first, = children(plane.pid)
        status = pathlib.Path(f"/proc/{first}/status").read_text()
        self.assertRegex(status, r"(?m)^NSpid:\s+\d+\s+1$")
        self.assertEqual(len(children(first)), len(WORKERS))
        # As kubectl exec leaves them: their parent goes, and their last breath is 1's.
        subprocess.run(["nsenter", "-t", str(first), "-p", "sh", "-c",
                        "for i in 1 2 3; do sleep 0.5 & done"], check=True, timeout=10)
        wait_for("the strangers", 5, lambda: len(children(first)) == len(WORKERS) + 3)
        wait_for("their end", 10, lambda: len(children(first)) == len(WORKERS))
        os.kill(first, signal.SIGTERM)
        self.assertEqual(plane.wait_exit()[0], 0)
        self.assertEqual(self.causes(plane), dict.fromkeys(WORKERS, "exit status 0"))

    def test_INT_does_the_same_and_a_signal_of_the_terminal_comes_to_it_alone(self):
        plane = self.leading()
        groups = {os.getpgid(pid) for pid in plane.everyone().values()}
        self.assertNotIn(os.getpgid(plane.pid), groups)
        plane.process.send_signal(signal.SIGINT)
        self.assertEqual(plane.wait_exit()[0], 0)
        self.assertEqual(set(self.causes(plane)), set(WORKERS))

    def test_TERM_twice_within_a_second_is_one_order(self):
        plane = self.leading()
        plane.process.terminate()
        time.sleep(0.05)
        plane.process.terminate()
        self.assertEqual(plane.wait_exit()[0], 0)
        self.assertEqual(set(self.causes(plane)), set(WORKERS))
        self.assertEqual(self.holder(plane), "")

    def test_TERM_again_and_again_until_it_has_ended(self):
        plane = self.leading()
        while plane.process.poll() is None:
            plane.process.terminate()
            if plane.lines(msg="worker ended", worker="web"):
                continue  # as often as can be, when it is about to end
            time.sleep(0.01)
            if plane.lines(msg="stopping at once"):
                break
        self.assertEqual(plane.wait_exit()[0], 0)

    def test_TERM_while_it_starts(self):
        for pause in (0, 0.02, 0.05, 0.1):
            with self.subTest(pause=pause):
                plane = self.plane()
                wait_for("a log", 5, plane.lines)
                time.sleep(pause)
                self.assertEqual(plane.stop(5), 0)

    def test_a_stopped_worker_is_killed_after_its_limit_and_the_rest_stops_properly(self):
        # Side by side, as each waits for its limit.
        planes = {name: self.leading("--leader-election-renew-deadline", "3s",
                                     "--leader-election-lease-duration", "4s",
                                     "--leader-election-retry-period", "1s",
                                     "--shutdown-timeout", "2s")
                  for name in ("informer", "projector", "web")}
        began = time.monotonic()
        for name, plane in planes.items():
            plane.kill(name, signal.SIGSTOP)
            plane.process.terminate()
        for name, plane in planes.items():
            with self.subTest(stopped=name):
                self.assertEqual(plane.wait_exit()[0], 0, plane.tail())
                causes = self.causes(plane)
                print(f"  {name} killed, end {time.monotonic() - began:.1f} s after TERM")
                self.assertEqual(set(causes), set(WORKERS))
                self.assertIn("signal 9", causes.pop(name))
                self.assertEqual(set(causes.values()), {"exit status 0"})
                self.assertEqual(self.holder(plane), "")

    def test_a_second_TERM_after_a_second_ends_it_at_once(self):
        plane = self.leading()
        pids = plane.everyone()
        plane.kill("projector", signal.SIGSTOP)
        plane.process.terminate()
        time.sleep(1.2)
        self.assertIsNone(plane.process.poll())
        began = time.monotonic()
        plane.process.terminate()
        plane.wait_exit(5)
        took = time.monotonic() - began
        print(f"  {took * 1000:.0f} ms after the second")
        self.assertLess(took, 1)
        self.assertFalse([n for n, pid in pids.items() if is_there(pid)])
        self.assertTrue(self.holder(plane))  # left to expire

    def test_J03_J11_no_worker_outlives_a_supervisor_that_is_killed(self):
        plane = self.leading()
        pids = plane.everyone()
        self.assertEqual(set(pids.values()), set(children(plane.pid)))
        plane.process.kill()
        began = time.monotonic()
        wait_for("the end of every worker", 2, lambda: not any(
            is_there(pid) for pid in pids.values()))
        print(f"  all gone after {(time.monotonic() - began) * 1000:.0f} ms")

    def test_TERM_with_a_silent_API_server_ends_in_time_and_leaves_the_Lease(self):
        plane = self.leading("--leader-election-renew-deadline", "3s",
                             "--leader-election-lease-duration", "4s",
                             "--leader-election-retry-period", "1s")
        for method in ("GET", "PUT"):
            plane.server.answer(method, api.stall)
        plane.process.terminate()
        self.assertEqual(plane.wait_exit()[0], 0, plane.tail())
        self.assertEqual(self.causes(plane), dict.fromkeys(WORKERS, "exit status 0"))
        self.assertTrue(self.holder(plane))

    def test_HELLO_of_another_build_in_a_term_gives_the_Lease_back_at_the_end(self):
        plane = self.leading()
        fakes.install(plane.programs, "web", "another", OTHER_BUILD, 1, "web")
        plane.kill("web")
        self.assertIn(OTHER_BUILD, self.last_line(plane))
        self.assertEqual(self.holder(plane), "")

    def test_a_worker_that_dies_during_the_stop_is_not_started_again(self):
        plane = self.leading()
        plane.kill("projector", signal.SIGSTOP)
        plane.process.terminate()
        wait_for("the turn of the projector", 5, lambda: plane.lines(
            msg="worker ended", worker="placer"))
        plane.kill("projector")
        plane.kill("web")
        self.assertEqual(plane.wait_exit(5)[0], 0)
        self.assertEqual(plane.generation("projector"), 1)
        self.assertEqual(self.holder(plane), "")


class Probes(SupervisorTest):
    def test_J12_healthz_is_answered_while_web_is_killed_again_and_again(self):
        server = api.Api()
        self.addCleanup(server.close)
        plane = self.plane(server=server)
        plane.wait_ready()
        host, port = plane.address().split(":")
        counts = {"answered": 0, "lost": 0, "refused": 0, "wrong": 0}
        slowest = [0.0]
        over = threading.Event()

        def ask():
            while not over.is_set():
                began = time.monotonic()
                try:
                    connection = http.client.HTTPConnection(host, int(port), timeout=10)
                    connection.request("GET", "/healthz")
                    right = connection.getresponse().status == 200
                    counts["answered" if right else "wrong"] += 1
                    connection.close()
                except ConnectionRefusedError:
                    counts["refused"] += 1
                except (OSError, http.client.HTTPException):
                    counts["lost"] += 1
                slowest[0] = max(slowest[0], time.monotonic() - began)
        asking = threading.Thread(target=ask)
        asking.start()
        kills = 6
        for generation in range(1, kills + 1):
            wait_for("web", 10, lambda: plane.generation("web") == generation)
            plane.kill("web")
        wait_for("web", 10, lambda: plane.generation("web") == kills + 1)
        time.sleep(0.2)
        over.set()
        asking.join()
        print(f"  {kills} kills: {counts}, the slowest answer {slowest[0]:.1f} s")
        self.assertEqual((counts["refused"], counts["wrong"]), (0, 0))
        self.assertLessEqual(counts["lost"], kills)
        self.assertGreater(counts["answered"], 20)
        self.others_undisturbed(plane, "web")
        self.assertEqual(plane.stop(), 0)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=5)


class Log(SupervisorTest):
    def unread(self, server):
        """A control plane whose log goes to a pipe; that pipe's end."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        ours, theirs = os.pipe()
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        process = subprocess.Popen(
            [driver.programs("debug") / "control-plane", "--log-level", "debug",
             "--kubeconfig", server.kubeconfig(folder / "config"), "--listen-addr", address,
             "--control-socket", folder / "socket",
             "--leader-election-namespace", "default"],
            stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, ours

    def test_a_log_that_nobody_reads_stops_nobody(self):
        server = api.Api()
        self.addCleanup(server.close)
        declare(server, 54)
        process, pipe = self.unread(server)
        names = sorted(server.objects["nodes"])
        for _ in range(30):  # more lines than the largest pipe holds
            wait_for("convergence", 30, lambda: settled(server, 54))
            for name in names:
                server.remove("nodes", name)
                server.put("nodes", api.node(name))
        wait_for("convergence", 30, lambda: settled(server, 54))
        process.terminate()
        self.assertEqual(process.wait(20), 0)
        with open(pipe, "rb") as log:
            text = log.read()
        self.assertGreater(len(text), 1000000)
        for line in text.splitlines():
            json.loads(line)


class Together(SupervisorTest):
    def test_an_API_server_that_fails_now_and_then_is_no_hindrance(self):
        server = api.Api()
        self.addCleanup(server.close)
        declare(server, 54)
        for begins in ("GET", "POST /apis/mokka", "PUT /apis/mokka", "PATCH"):
            server.answer(begins, api.status(429, retry_after=1), times=1)
            server.answer(begins, api.status(500), times=2)
            server.answer(begins, api.cut(0), times=2)
            server.answer(begins, api.raw(b"?"), times=1)
        plane = self.plane("--leader-election-retry-period", "500ms", server=server)
        began = time.monotonic()
        wait_for("convergence", 40, lambda: settled(server, 54))
        print(f"  converged after {time.monotonic() - began:.1f} s")
        # Each Node has changed once, whatever was lost.
        changes = [item["metadata"]["name"] for _, kind, item in server.history["nodes"]
                   if kind == "MODIFIED"]
        self.assertEqual(len(changes), len(set(changes)), changes)
        self.assertEqual(plane.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
