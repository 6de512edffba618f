# SPDX-License-Identifier: Apache-2.0
"""Plays the supervisor, and the peers, for one worker.

A Worker is a real process of the build with sanitizers, started as the
supervisor starts it: one end of a socketpair as its descriptor 3.  A Link is
our end of such a pair; it speaks frames, and lies when told to.  The numbers
of messages, roles and options come from the same lists as the programs.

Nothing here waits without a limit, and nothing is killed but what was started
here, by its pidfd.
"""

import array
import atexit
import collections
import fcntl
import functools
import mmap
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The packages are Debian's, also for a python3 that is not.
sys.path.append("/usr/lib/python3/dist-packages")
sys.path.extend(str(ROOT / "tests" / folder) for folder in ("fake", "cluster"))
import msgpack  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MOKKA_BUILD", ROOT / "build"))
LIMIT = 20  # seconds that a step may take on a busy machine
HEADER = struct.Struct(">IHHI")
DESCRIPTOR = 1
CONTROL_FD = 3
LEASE_PAGE, LEASE_VIEW, LISTENER, RECORDING = range(4)
PROFILE, INVENTORY, RACK, NODE = range(4)
REPORT = re.compile(r"(Address|Leak|UndefinedBehavior)Sanitizer|runtime error:")
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=99:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def reported(text):
    """What a sanitizer said in a log, cut to what tells; "" if it said nothing."""
    found = REPORT.search(text)
    return text[found.start():found.start() + 4000] if found else ""


def read_list(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE)


Message = collections.namedtuple("Message", "number name sender receiver cap")
MESSAGES = {
    name: Message(int(number), name, sender, receiver, int(base) << int(shift))
    for number, name, sender, receiver, base, shift in read_list(
        "proto/messages.def",
        r"^MESSAGE\((\d+), (\w+), ([\w |]+), ([\w |]+), (\d+) << (\d+),")}
NAMES = {message.number: name for name, message in MESSAGES.items()}
WORKERS = tuple(read_list("supervisor/topology.def", r'^WORKER\(\w+, "(\w+)"'))
ROLES = {name: number for number, name in enumerate(("supervisor",) + WORKERS)}
LINKS = [(a.lower(), b.lower()) for a, b in read_list(
    "supervisor/topology.def", r"^LINK\((\w+), (\w+)\)")]
GRANTS = collections.defaultdict(list)
for _role, _resource in read_list("supervisor/topology.def", r"^GRANT\((\w+), (\w+)\)"):
    GRANTS[_role.lower()].append(_resource)
OPTIONS = dict(read_list(
    "supervisor/options.def",
    r'^OPTION\("([\w-]+)",\s*(?:"\w+"|NULL),\s*"([^"]*)"'))
PROTOCOL, = map(int, read_list("proto/frame.h", r"^#define PROTOCOL_VERSION (\d+)"))


def programs(preset):
    """A folder with the executables of a build, copied once for this process:
    a build that runs meanwhile does not change what is tested."""
    if preset not in programs.folders:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"mokka-{preset}-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for name in ("control-plane",) + WORKERS:
            shutil.copy2(BUILD / preset / name, folder / name)
        programs.folders[preset] = folder
    return programs.folders[preset]


programs.folders = {}


def wait_for(what, seconds, question):
    """Asks until the answer is true; returns it. Fails with what it waited for."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}; last: {answer!r}")
        time.sleep(0.01)


def readable(*sockets):
    """Which of them have something to read now, the end included."""
    return select.select(sockets, [], [], 0)[0]


def pack(*fields):
    return msgpack.packb(list(fields), use_bin_type=True,
                         unicode_errors="surrogateescape")


def unpack(body):
    """The fields; what is no UTF-8 in a text survives the way back."""
    return msgpack.unpackb(body, strict_map_key=False, unicode_errors="surrogateescape")


def frame(name, *fields, body=None, number=None, length=None, flags=0, id=0):
    """A frame as bytes, with whatever is to be wrong about it."""
    if body is None:
        body = pack(*fields)
    return HEADER.pack(len(body) if length is None else length,
                       MESSAGES[name].number if number is None else number,
                       flags, id) + body


class Frame:
    """What came: the name of its type, its fields, and the bytes of it all."""

    def __init__(self, data, descriptor):
        length, number, self.flags, self.id = HEADER.unpack_from(data)
        self.name = NAMES.get(number, str(number))
        self.data = data
        self.descriptor = descriptor
        self.fields = unpack(data[HEADER.size:HEADER.size + length])

    def __repr__(self):
        return f"{self.name}{self.fields}"


class Link:
    """Our end of a link."""

    def __init__(self, end):
        self.socket = end
        self.pending = b""
        self.descriptors = []

    def send(self, name, *fields, descriptor=None, **wrong):
        flags = DESCRIPTOR if descriptor is not None else 0
        self.send_bytes(frame(name, *fields, **{"flags": flags, **wrong}), descriptor)

    def send_bytes(self, data, descriptor=None):
        """All of it, or less if the other side is gone."""
        ancillary = [] if descriptor is None else [
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        self.socket.settimeout(LIMIT)
        try:
            while data:
                data = data[self.socket.sendmsg([data], ancillary):]
                ancillary = []
        except (BrokenPipeError, ConnectionResetError):
            pass

    def unread(self):
        """Bytes that the other side has not taken yet (of the kernel's own
        bookkeeping; 0 means none)."""
        value = array.array("i", [0])
        fcntl.ioctl(self.socket.fileno(), termios.TIOCOUTQ, value)
        return value[0]

    def wait_read(self):
        wait_for("the other side to read", LIMIT, lambda: self.unread() == 0)

    def whole(self):
        if len(self.pending) < HEADER.size:
            return None
        length, _, flags, _ = HEADER.unpack_from(self.pending)
        if len(self.pending) < HEADER.size + length:
            return None
        data, self.pending = (self.pending[:HEADER.size + length],
                              self.pending[HEADER.size + length:])
        descriptor = self.descriptors.pop(0) if flags & DESCRIPTOR else None
        return Frame(data, descriptor)

    def receive(self, seconds=LIMIT):
        """The next frame; None at the end of the link. Fails after seconds."""
        end = time.monotonic() + seconds
        while True:
            found = self.whole()
            if found is not None:
                return found
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data, ancillary, _, _ = self.socket.recvmsg(
                    1 << 16, socket.CMSG_SPACE(8 * 4))
            except ConnectionResetError:
                return None
            except socket.timeout as error:
                raise AssertionError(f"no frame within {seconds} s") from error
            if not data:
                return None
            self.pending += data
            for _, _, raw in ancillary:
                numbers = array.array("i")
                numbers.frombytes(raw[:len(raw) - len(raw) % 4])
                self.descriptors.extend(numbers)

    def wait(self, name, seconds=LIMIT):
        """The next frame of that name; others before it are passed over."""
        end = time.monotonic() + seconds
        while True:
            found = self.receive(max(end - time.monotonic(), 0.001))
            if found is None:
                raise AssertionError(f"the link ended before {name}")
            if found.name == name:
                return found

    def now(self):
        """The frames that are there, without waiting for more."""
        frames = []
        while (found := self.whole()) or readable(self.socket):
            found = found or self.receive()
            if found is None:
                break
            frames.append(found)
        return frames

    def drain(self, seconds=LIMIT):
        """Every frame up to the end of the link."""
        frames = []
        while (found := self.receive(seconds)) is not None:
            frames.append(found)
        return frames

    def ended(self, seconds=LIMIT):
        """Waits for the end of the link, whatever comes before."""
        self.drain(seconds)
        return True

    def close(self):
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []
        self.socket.close()


class LeasePage:
    """The page of the term, as common/lease_page.c has it."""

    def __init__(self):
        self.descriptor = os.memfd_create("mokka-lease", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, 4096)
        self.page = mmap.mmap(self.descriptor, 4096)

    def publish(self, term, seconds):
        """A term that may write for so many seconds."""
        deadline = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + int(seconds * 1e9)
        sequence, = struct.unpack_from("=Q", self.page, 0)
        sequence += 1
        struct.pack_into("=Qq", self.page, 8 + 16 * (sequence & 1), term, deadline)
        struct.pack_into("=Q", self.page, 0, sequence)

    def close(self):
        self.page.close()
        os.close(self.descriptor)


class Worker:
    """One worker process and our ends of its links."""

    def __init__(self, name, preset="debug", environment=None, arguments=(),
                 descriptor=None):
        """descriptor: what is to be its descriptor 3; none: a link, -1: nothing."""
        self.name = name
        self.program = programs(preset) / name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"mokka-{name}-"))
        self.control = None
        self.links = {}
        self.page = None
        self.recording = None  # a descriptor, if it is to record
        self.status = None
        theirs = None
        if descriptor is None:
            ours, theirs = socket.socketpair()
            self.control = Link(ours)
            descriptor = theirs.fileno()
        actions = [(os.POSIX_SPAWN_OPEN, number, str(self.folder / stream),
                    os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                   for number, stream in ((1, "out"), (2, "err"))]
        if descriptor >= 0:
            actions.append((os.POSIX_SPAWN_DUP2, descriptor, CONTROL_FD))
        self.started = time.monotonic()
        self.pid = os.posix_spawn(
            self.program, [str(self.program), *arguments],
            {**os.environ, **SANITIZERS, **(environment or {})}, file_actions=actions)
        self.pidfd = os.pidfd_open(self.pid)
        if theirs is not None:
            theirs.close()

    # Its start, step by step or all of it

    def hello(self):
        return self.control.wait("HELLO").fields

    def configure(self, generation=1, **options):
        options = {key.replace("_", "-"): value for key, value in options.items()}
        self.control.send("CONFIG", generation, {
            **OPTIONS, "leader-election-namespace": "default",
            "identity": "driver", **options})

    def grant(self):
        """What the topology grants to its role."""
        for resource in GRANTS[self.name]:
            if resource == "LISTENER":
                self.listener = socket.create_server(("127.0.0.1", 0))
                self.control.send("GRANTED", LISTENER,
                                  descriptor=self.listener.fileno())
                continue
            if resource == "RECORDING":
                if self.recording is not None:
                    self.control.send("GRANTED", RECORDING, descriptor=self.recording)
                continue
            self.page = LeasePage()
            self.control.send("GRANTED",
                              LEASE_PAGE if resource == "LEASE_PAGE" else LEASE_VIEW,
                              descriptor=self.page.descriptor)

    def peers(self):
        return [b if a == self.name else a for a, b in LINKS if self.name in (a, b)]

    def link(self, peer, generation=1):
        """A new link to that peer, whom we play."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.control.send("LINKED", ROLES[peer], generation,
                              descriptor=theirs.fileno())
        if peer in self.links:
            self.links[peer].close()
        self.links[peer] = Link(ours)
        return self.links[peer]

    def wire(self, **options):
        """Everything up to READY."""
        self.hello()
        self.configure(**options)
        self.grant()
        for peer in self.peers():
            self.link(peer)
        self.control.send("START")
        self.control.wait("READY")
        return self

    # Its end

    def wait(self, seconds=LIMIT):
        """Its exit status, negative for a signal. Fails if it does not end."""
        if self.status is None:
            readable, _, _ = select.select([self.pidfd], [], [], seconds)
            if not readable:
                raise AssertionError(
                    f"{self.name} has not ended after {seconds} s\n{self.output()}")
            info = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED)
            self.status = (info.si_status if info.si_code == os.CLD_EXITED
                           else -info.si_status)
        return self.status

    def stop(self):
        """STOP; returns whether BYE came, and the exit status."""
        self.control.send("STOP")
        return any(f.name == "BYE" for f in self.control.drain()), self.wait()

    def alive(self):
        return not select.select([self.pidfd], [], [], 0)[0]

    def signal(self, number):
        signal.pidfd_send_signal(self.pidfd, number)

    def output(self):
        return "".join((self.folder / stream).read_text(errors="replace")
                       for stream in ("out", "err"))

    def error(self):
        return (self.folder / "err").read_text(errors="replace")

    def close(self):
        """Ends what is left; returns what a sanitizer said, if any did."""
        if self.status is None:
            if self.alive():
                self.signal(signal.SIGKILL)
            self.wait()
        os.close(self.pidfd)
        for link in [self.control, *self.links.values()]:
            if link is not None:
                link.close()
        if self.page is not None:
            self.page.close()
        if hasattr(self, "listener"):
            self.listener.close()
        text = self.output()
        shutil.rmtree(self.folder, ignore_errors=True)
        return reported(text)


class WorkerTest(unittest.TestCase):
    """No worker that a test starts outlives it, crashes, or makes a sanitizer
    speak.  What is left to chance can be had again with MOKKA_SEED."""

    def run(self, result=None):
        began = time.monotonic()
        super().run(result)
        took = time.monotonic() - began
        if took > 3:
            print(f"  {self._testMethodName}: {took:.1f} s")

    @functools.cached_property
    def dice(self):
        seed = int(os.environ.get("MOKKA_SEED", random.randrange(1 << 32)))
        print(f"  MOKKA_SEED={seed}")
        return random.Random(seed)

    def start(self, name, **options):
        worker = Worker(name, **options)
        self.addCleanup(self.finish, worker)
        return worker

    def finish(self, worker):
        report = worker.close()
        self.assertFalse(report, report)
        self.assertNotIn(worker.status, (99, -signal.SIGABRT, -signal.SIGSEGV,
                                         -signal.SIGBUS, -signal.SIGFPE))
