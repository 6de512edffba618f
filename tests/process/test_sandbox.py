# SPDX-License-Identifier: Apache-2.0
"""What each worker can still do: tried from inside its sandbox, by a program
that enters it as the worker does (probe.c) and, in the workers of a running
control plane, by a debugger.  And what is said where a kernel lacks something.

The programs are those without sanitizers, which would need more."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import types
import unittest

import driver
import api
import harness
import test_supervisor
from driver import WORKERS, programs, wait_for
from estate import declare, settled

PROBE = driver.BUILD / "release" / "tests" / "probe"
MOKKACTL = driver.BUILD / "release" / "mokkactl"
WITHOUT = pathlib.Path(__file__).with_name("without.py")
NODES = 18
ROWS = {role.lower(): (may, int(descriptors), int(memory))
        for role, may, descriptors, memory in driver.read_list(
            "supervisor/topology.def", r"^SANDBOX\((\w+), (\w+), (\d+), (\d+)\)")}
REFUSED = {"EPERM", "EACCES", "ENOSYS"}

# What probe tries and gets, by what brings it; all else of it is refused.
ALWAYS = {
    "syscall(SYS_getrandom, bytes, sizeof(bytes), 0)",
    "syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now)",
    "syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL)",
    "raise(SIGUSR1)", "sched_yield()", "sysconf(_SC_OPEN_MAX)",
    "sysconf(_SC_PHYS_PAGES)", "lived",
    "munmap(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, "
    "-1, 0), 1 << 20)",
    "gethostname(bytes, 0) == 0 || errno == ENAMETOOLONG ? 0 : -1",
}
CONNECT = {"read_file(at.granted)", "connect_to(SOCK_STREAM, at.port)",
           "stat(at.other, &st)"}
NAMES = {"connect_to(SOCK_DGRAM, at.port)", "run_thread()",
         "socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)"}
RECORD = {"ftruncate(STDIN_FILENO, 0)"}  # fails, as it is no file
ATTEMPTS = 74


def tcp_rules():
    """Whether the kernel under this test can limit TCP ports."""
    return int(subprocess.run(
        [sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).syscall("
         "444, None, 0, 1))"], stdout=subprocess.PIPE, check=True).stdout) >= 4


def without(*rules):
    """The words before a command that runs it on another kernel."""
    return (sys.executable, "-B", WITHOUT, *rules, "--")


class Probe(unittest.TestCase):
    """The sandbox itself."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "granted").mkdir()
        (self.folder / "granted" / "file").write_text("secret")
        (self.folder / "other").write_text("none of its business")
        self.victim = subprocess.Popen(["sleep", "600"])
        self.addCleanup(self.end_victim)
        self.servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        for server in self.servers:
            self.addCleanup(server.close)

    def end_victim(self):
        self.victim.kill()
        self.victim.wait()

    def probe(self, role, *names, before=lambda: None, without=()):
        """{attempt: "ok" or the error}; before() is done after it has entered."""
        arguments = [*without, PROBE, role, str(self.victim.pid), self.folder]
        if names == ("stay",):
            arguments += names
        elif ROWS[role][0] == "CONNECT":
            arguments += [str(s.getsockname()[1]) for s in self.servers] + list(names)
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            entered = process.stdout.readline()
            before()
            out, _ = process.communicate("go\n", timeout=20)
        self.assertEqual(process.returncode, 0, out)
        self.lacking = entered.removeprefix("entered ").strip()
        return dict(line.rsplit(" ", 1) for line in out.splitlines())

    def allowed(self, role, names):
        may = ROWS[role][0]
        connect = CONNECT if may == "CONNECT" else set()
        if not tcp_rules() and connect:
            connect = connect | {"connect_to(SOCK_STREAM, at.other_port)",
                                 "listen_at_all()"} - (set() if names else
                                                       {"listen_at_all()"})
        return (ALWAYS | connect | (NAMES if names else set())
                | (RECORD if may == "RECORD" else set()))

    def test_each_worker_can_what_it_must_and_nothing_else(self):
        for role in WORKERS:
            for names in ((), ("names",)) if ROWS[role][0] == "CONNECT" else ((),):
                with self.subTest(worker=role, names=names):
                    told = self.probe(role, *names)
                    self.assertEqual(len(told), ATTEMPTS, told)
                    can = {attempt for attempt, how in told.items()
                           if how not in REFUSED}
                    self.assertEqual(can, self.allowed(role, names))
                    self.assertEqual(self.lacking == "", tcp_rules()
                                     or ROWS[role][0] != "CONNECT", self.lacking)
        self.assertIsNone(self.victim.poll())
        self.assertEqual((self.folder / "other").read_text(), "none of its business")
        self.assertFalse((self.folder / "made").exists())

    def test_in_shadow_the_elector_reaches_nobody(self):
        told = self.probe("elector", "stay")
        can = {attempt for attempt, how in told.items() if how not in REFUSED}
        self.assertEqual(can, ALWAYS)
        self.assertEqual(self.lacking, "")

    def test_seccomp_alone_leaves_placer_and_web_nothing_more(self):
        """Both mechanisms refuse most of it; here the other one is not there."""
        for role in WORKERS:
            if ROWS[role][0] == "CONNECT":
                continue
            with self.subTest(worker=role):
                told = self.probe(role, without=without("landlock_create_ruleset:ENOSYS"))
                self.assertIn("no Landlock", self.lacking)
                can = {attempt for attempt, how in told.items() if how not in REFUSED}
                self.assertEqual(can, self.allowed(role, ()))
        self.assertIsNone(self.victim.poll())

    def test_C01_files_that_are_rotated_are_read_and_their_neighbours_folder_is_not(self):
        granted = self.folder / "granted"

        def as_kubelet_does():
            """A new folder, and a link to it that takes the place of the file."""
            (granted / "..new").mkdir()
            (granted / "..new" / "file").write_text("newer")
            (granted / "link").symlink_to("..new/file")
            (granted / "link").replace(granted / "file")

        def to_elsewhere():
            (granted / "link").symlink_to(self.folder / "other")
            (granted / "link").replace(granted / "file")

        for before, can in ((as_kubelet_does, True), (to_elsewhere, False)):
            with self.subTest(before=before.__name__):
                told = self.probe("informer", before=before)
                self.assertEqual(told["read_file(at.granted)"] == "ok", can, told)

    def test_C01_a_folder_that_is_a_link_is_replaced_by_one_beside_it(self):
        (self.folder / "granted").rename(self.folder / "old")
        (self.folder / "granted").symlink_to("old")

        def replace():
            (self.folder / "new").mkdir()
            (self.folder / "new" / "file").write_text("newer")
            (self.folder / "link").symlink_to("new")
            (self.folder / "link").replace(self.folder / "granted")

        self.assertEqual(self.probe("informer", before=replace)["read_file(at.granted)"],
                         "ok")


class Plane(harness.ControlPlane):
    """A control plane as it is built for use."""

    def __init__(self, test, *arguments, preset="release", before=(), **options):
        folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        super().__init__(
            types.SimpleNamespace(directory=folder,
                                  user=test.api.kubeconfig(folder / "config")),
            *arguments, program=(*before, programs(preset) / "control-plane"), **options)

    def ctl(self, *arguments):
        done = subprocess.run(
            [MOKKACTL, arguments[0], "-s", self.socket, *arguments[1:]], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def status(self):
        return json.loads(self.ctl("status", "-o", "json"))

    def worker_status(self, name):
        return next(w for w in self.status()["workers"] if w["name"] == name)


class SandboxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.api = api.Api()
        cls.addClassCleanup(cls.api.close)
        declare(cls.api, NODES)

    def plane(self, *arguments, **options):
        plane = Plane(self, *arguments, **options)
        self.addCleanup(self.end, plane)
        return plane

    def end(self, plane):
        if plane.process.poll() is None:
            plane.process.kill()
        plane.process.wait()

    @staticmethod
    def beside():
        """mokkactl where the workers are, which it runs itself."""
        return shutil.copy2(MOKKACTL, programs("release"))

    def running(self, *arguments, **options):
        plane = self.plane(*arguments, **options)
        wait_for("the workers", 20, lambda: {
            line["worker"] for line in plane.lines(msg="worker running")} == set(WORKERS))
        return plane


class Running(SandboxTest):
    """In the workers of a control plane at work."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = Plane(cls, before=(
            "sh", "-c", 'exec "$0" "$@" </proc/version'))  # any stdin of its own
        cls.addClassCleanup(cls.end, cls, cls.shared)
        wait_for("convergence", 40, lambda: settled(cls.api, NODES))

    def test_the_kernel_says_that_each_worker_is_confined(self):
        for name in WORKERS:
            with self.subTest(worker=name):
                pid, _ = self.shared.worker(name)
                text = pathlib.Path(f"/proc/{pid}/status").read_text()
                said = dict(line.split(":\t", 1) for line in text.splitlines())
                self.assertEqual((said["NoNewPrivs"], said["Seccomp"]), ("1", "2"))
                for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
                    self.assertEqual(int(said[kind], 16), 0, kind)
                limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
                self.assertRegex(limits, rf"Max open files +{ROWS[name][1]} +"
                                         rf"{ROWS[name][1]} ")

    def test_nobody_has_a_descriptor_that_it_was_not_given(self):
        """A pipe and an epoll are libevent's, AF_UNIX pairs links and libcurl's."""
        for name in WORKERS:
            with self.subTest(worker=name):
                pid, _ = self.shared.worker(name)
                found = {}
                for number in os.listdir(f"/proc/{pid}/fd"):
                    with_number = f"/proc/{pid}/fd/{number}"
                    found[int(number)] = os.readlink(with_number)
                self.assertEqual(found.pop(0), "/dev/null")
                self.assertEqual(found.pop(1), str(self.shared.log))
                self.assertEqual(found.pop(2), str(self.shared.error))
                files = [f for f in found.values()
                         if not re.match(r"socket:|pipe:|anon_inode:\[event", f)]
                self.assertEqual(files, [str(self.shared.recording)]
                                 if name == "placer" else [])

    def test_J10_a_debugger_attaches_and_what_it_calls_there_is_refused(self):
        """And then the worker goes on as if nothing had been."""
        term = self.shared.status()["term"]
        calls = ['(int)open("/etc/passwd", 0)', '(int)open("/tmp/made-by-a-worker", 0x41, 0600)',
                 "(int)socket(1, 1, 0)", "(int)socket(2, 3, 1)", "(int)fork()",
                 f'(int)open("{self.shared.cluster.user}", 0)',
                 f"(int)kill({self.shared.pid}, 0)", f"(int)ptrace(16, {self.shared.pid}, 0, 0)",
                 '(int)execl("/bin/true", "true", 0)', "(int)setuid(1)",
                 '(int)mkdir("/tmp/made-by-a-worker", 0700)']
        for name in WORKERS:
            with self.subTest(worker=name):
                pid, generation = self.shared.worker(name)
                done = subprocess.run(
                    ["gdb", "-p", str(pid), "-batch", "-nx",
                     *(word for call in calls for word in ("-ex", f"print {call}")),
                     "-ex", "print (int)getpid()", "-ex", "backtrace"],
                    text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, timeout=60, check=False)
                got = re.findall(r"^\$\d+ = (-?\d+)$", done.stdout, re.MULTILINE)
                self.assertEqual(got, ["-1"] * len(calls) + [str(pid)], done.stdout)
                self.assertIn("worker_main", done.stdout)
                self.assertEqual(self.shared.worker(name), (pid, generation))
        self.assertFalse(os.path.exists("/tmp/made-by-a-worker"))
        self.api.put("nodes", api.node("late"))
        self.api.remove("nodes", "late")
        self.assertEqual(self.shared.status()["term"], term)
        self.assertEqual(self.shared.lines(msg="worker died"), [])

    def test_status_says_that_the_sandbox_is_complete(self):
        if not tcp_rules():
            self.skipTest("the kernel of this machine cannot limit TCP ports")
        for worker in self.shared.status()["workers"]:
            self.assertEqual((worker["sandboxed"], worker["sandboxLacks"]), (True, ""))
        self.assertEqual(self.shared.ctl("status").splitlines()[1], "sandbox: complete")
        self.assertEqual(self.shared.lines(level="warn"), [])

    def test_J09_a_worker_that_crashes_leaves_its_report_and_where_asked_a_core(self):
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if pattern.startswith(("|", "@", "/")):
            self.skipTest(f"cores of this machine go to {pattern}")
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        plane = self.running(before=(
            "sh", "-c", f'cd {folder} && ulimit -c unlimited && exec "$0" "$@"'))
        pid, generation = plane.worker("placer")
        os.kill(pid, signal.SIGSEGV)
        plane.wait_back("placer", generation)
        report, = plane.lines(msg="crash report")
        self.assertIn("placer+0x", report["stack"])
        self.assertEqual(plane.lines(msg="worker died")[0]["cause"],
                         "signal 11 (Segmentation fault)")
        self.assertTrue(list(folder.glob("core*")))

    def with_token(self, folder, token):
        """A server, and a folder with a kubeconfig for it whose token is in a file,
        in a folder of its own."""
        server = api.Api()
        self.addCleanup(server.close)
        declare(server, NODES)
        home = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (home / folder).mkdir()
        (home / folder / "token").write_text(token)
        server.kubeconfig(home / "config")
        config = json.loads((home / "config").read_text())
        config["users"][0]["user"] = {"tokenFile": str(home / folder / "token")}
        (home / "config").write_text(json.dumps(config))
        return server, home

    def test_a_core_a_log_and_the_support_archive_have_no_token(self):
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if pattern.startswith(("|", "@", "/")):
            self.skipTest(f"cores of this machine go to {pattern}")
        token = "aVerySecretToken" * 8
        server, home = self.with_token("credentials", token)
        cores = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        plane = self.running(kubeconfig=str(home / "config"), before=(
            "sh", "-c", f'cd {cores} && ulimit -c unlimited && exec "$0" "$@"'))
        wait_for("convergence", 40, lambda: settled(server, NODES))
        wait_for("the token", 10, lambda: [
            r for r in server.requests if r.headers.get("authorization", "").endswith(token)])
        plane.ctl("support", str(home / "support.tar"))
        for name in ("informer", "projector", "elector"):
            with self.subTest(worker=name):
                pid, generation = plane.worker(name)
                os.kill(pid, signal.SIGSEGV)
                plane.wait_back(name, generation)
                core, = cores.glob("core*")
                self.assertIn(str(home).encode(), core.read_bytes())  # it has the heap
                self.assertNotIn(token.encode(), core.read_bytes())
                core.unlink()
        for path in (plane.log, plane.error, plane.recording, home / "support.tar"):
            self.assertNotIn(token.encode(), path.read_bytes(), path)

    def test_C01_a_folder_that_was_replaced_is_out_of_reach_until_a_restart(self):
        server, home = self.with_token("credentials", "first")
        plane = self.running(kubeconfig=str(home / "config"))
        if plane.worker_status("informer")["sandboxLacks"]:
            self.skipTest(plane.worker_status("informer")["sandboxLacks"])
        wait_for("convergence", 40, lambda: settled(server, NODES))
        (home / "credentials").rename(home / "old")
        (home / "credentials").mkdir()
        (home / "credentials" / "token").write_text("second")
        for plural in ("nodes", "sgpuracks"):
            server.answer(f"GET /api{'s/' + api.GROUP if plural != 'nodes' else '/v1'}"
                            f"/{plural}", api.status(401), times=2)
            server.cut_watches(plural)
        line = wait_for("the warning", 20, lambda: plane.lines(
            msg="credentials cannot be read again, the last ones are kept",
            worker="informer"))[0]
        self.assertIn("mokkactl restart WORKER", line["error"])
        plane.ctl("restart", "informer")
        wait_for("the new token", 20, lambda: [
            r for r in server.requests if r.method == "GET"
            and r.headers.get("authorization") == "Bearer second"])
        self.assertEqual(plane.stop(), 0)

    def test_a_worker_that_is_lent_to_valgrind_says_that_it_has_no_sandbox(self):
        plane = self.running()
        lent = subprocess.Popen(
            [self.beside(), "lend", "-s", plane.socket, "placer", "--", "valgrind", "-q"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def lent_and_running():
            found = plane.worker_status("placer")
            return found["lent"] and found["state"] == "running" and found

        found = wait_for("the lent placer", 60, lent_and_running)
        self.assertIn("valgrind", found["sandboxLacks"])
        self.assertRegex(plane.ctl("status"), r"(?m)^sandbox: placer: off: run by valgrind")
        lent.terminate()
        lent.wait()
        wait_for("its own placer", 20, lambda: plane.worker_status("placer")["sandboxed"])


class SomebodyElses(SandboxTest):
    """Root, with the kubeconfig of a user whose files are private."""

    def test_what_only_root_may_read_is_read_and_no_other_capability_is_kept(self):
        if os.geteuid() != 0:
            self.skipTest("only root may read what is somebody else's")
        home = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.api.kubeconfig(home / "config")
        (home / "token").write_text("fake")
        config = json.loads((home / "config").read_text())
        config["users"][0]["user"] = {"tokenFile": str(home / "token")}
        (home / "config").write_text(json.dumps(config))
        for path in (home / "token", home / "config", home):
            os.chown(path, 65532, 65532)
            path.chmod(0o700 if path == home else 0o600)
        plane = self.running(kubeconfig=str(home / "config"))
        wait_for("convergence", 40, lambda: settled(self.api, NODES))
        for name in WORKERS:
            with self.subTest(worker=name):
                text = pathlib.Path(f"/proc/{plane.worker(name)[0]}/status").read_text()
                CAP_DAC_READ_SEARCH = 2
                self.assertIn(int(re.search(r"CapEff:\t(\w+)", text)[1], 16), (
                    (1 << CAP_DAC_READ_SEARCH,) if ROWS[name][0] == "CONNECT" else (0,)))
        self.assertEqual(plane.stop(), 0)


class Names(SandboxTest):
    """An API server that has a name: threads, UDP, and files of the system."""

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can have a resolv.conf of its own")
        self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.server.close)
        try:
            self.server.bind(("127.0.0.53", 53))
        except OSError as error:
            self.skipTest(f"port 53 of 127.0.0.53: {error}")
        self.asked = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        """Every name is that of this machine, in IPv4."""
        while True:
            try:
                question, whence = self.server.recvfrom(512)
            except OSError:
                return
            end = question.index(b"\0", 12) + 1
            kind, = struct.unpack_from(">H", question, end)
            self.asked.append(question[13:end - 1])
            answer = b""
            if kind == 1:
                answer = (b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4)
                          + socket.inet_aton("127.0.0.1"))
            self.server.sendto(
                question[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, bool(answer), 0, 0)
                + question[12:end + 4] + answer, whence)

    def test_a_server_with_a_name_is_found(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "resolv.conf").write_text("nameserver 127.0.0.53\n")
        config = folder / "config"
        self.api.kubeconfig(config)
        config.write_text(config.read_text().replace("127.0.0.1", "api.mokka.test"))
        plane = self.running(kubeconfig=str(config), before=(
            "unshare", "-m", "sh", "-c",
            f'mount --bind {folder}/resolv.conf /etc/resolv.conf && exec "$0" "$@"'))
        wait_for("convergence", 40, lambda: settled(self.api, NODES))
        plane.wait_ready()
        self.assertEqual(set(self.asked), {b"api\x05mokka\x04test"})
        for worker in plane.status()["workers"]:
            self.assertEqual(worker["sandboxed"],
                             tcp_rules() or ROWS[worker["name"]][0] != "CONNECT")
        self.assertEqual(plane.stop(), 0)


class Lacking(SandboxTest):
    """On kernels, and in containers, that are not as this one."""

    CASES = {
        "landlock_create_ruleset:ENOSYS": "no Landlock: this kernel has none",
        "landlock_create_ruleset:EOPNOTSUPP": "no Landlock: the node did not turn it on",
        "landlock_create_ruleset:EPERM": "no Landlock: the container's seccomp profile",
        "landlock_restrict_self:EPERM": "no Landlock: the container's seccomp profile",
    }

    def test_what_is_lacking_is_in_the_status_and_once_in_the_log(self):
        for rule, text in self.CASES.items():
            with self.subTest(rule=rule):
                plane = self.running(before=without(rule))
                for worker in plane.status()["workers"]:
                    self.assertFalse(worker["sandboxed"])
                    self.assertTrue(worker["sandboxLacks"].startswith(text), worker)
                line = plane.ctl("status").splitlines()[1]
                self.assertTrue(line.startswith(
                    f"sandbox: {', '.join(WORKERS)}: {text}"), line)
                generation, _ = plane.kill("placer")
                plane.wait_back("placer", generation)
                said = plane.lines(msg="the sandbox of workers lacks something")
                self.assertEqual(len(said), 1, said)
                self.assertTrue(said[0]["lacking"].startswith(text), said)
                pid, _ = plane.worker("web")  # the rest of it is there
                self.assertIn("Seccomp_filters:\t2",
                              pathlib.Path(f"/proc/{pid}/status").read_text())
                self.assertEqual(plane.stop(), 0)

    def test_a_kernel_without_seccomp_filters(self):
        plane = self.running(before=without("seccomp:ENOSYS", "prctl=22:EINVAL"))
        for worker in plane.status()["workers"]:
            self.assertIn("no seccomp filter", worker["sandboxLacks"])
            self.assertNotIn("Landlock", worker["sandboxLacks"])
        self.assertEqual(plane.stop(), 0)

    def test_require_sandbox_is_content_with_all(self):
        if not tcp_rules():
            self.skipTest("the kernel of this machine cannot limit TCP ports")
        plane = self.running("--require-sandbox")
        self.assertEqual(plane.stop(), 0)

    def test_require_sandbox_makes_it_the_end_with_the_reason_as_last_line(self):
        plane = self.plane("--require-sandbox",
                           before=without("landlock_create_ruleset:ENOSYS"))
        status, text = plane.wait_exit()
        self.assertEqual(status, 1)
        self.assertRegex(text, r"\Acontrol-plane: \w+: --require-sandbox: no Landlock: "
                               r"this kernel has none .*\n\Z")

    def test_a_build_with_sanitizers_has_none_and_says_so(self):
        plane = self.running(preset="debug", environment=driver.SANITIZERS)
        for worker in plane.status()["workers"]:
            self.assertEqual(worker["sandboxLacks"],
                             "off: built with sanitizers, which it would hinder")
        self.assertEqual(len(plane.lines(msg="the sandbox of workers lacks something")), 1)
        self.assertEqual(plane.stop(), 0)
        plane = self.plane("--require-sandbox=true", preset="debug",
                           environment=driver.SANITIZERS)
        status, text = plane.wait_exit()
        self.assertEqual(status, 1, text)
        self.assertIn("--require-sandbox: off: built with sanitizers", text)

    def test_require_sandbox_ends_what_is_lent_without_and_not_the_whole(self):
        if not tcp_rules():
            self.skipTest("the kernel of this machine cannot limit TCP ports")
        plane = self.running("--require-sandbox")
        _, generation = plane.worker("placer")
        lent = subprocess.run(
            [self.beside(), "lend", "-s", plane.socket, "placer", "--",
             *without("landlock_create_ruleset:ENOSYS")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30, check=False)
        self.assertEqual(lent.returncode, 1, plane.tail())
        plane.wait_back("placer", generation + 1)
        self.assertTrue(plane.lines(msg="control link ended", worker="placer"))
        self.assertIsNone(plane.process.poll())
        self.assertEqual(plane.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
