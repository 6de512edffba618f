# SPDX-License-Identifier: Apache-2.0
"""What can befall a worker, done to a real one from outside: a signal, a limit,
bytes on a link of its.  And what was seen of it then: in the log, in the audit
log, in the Lease."""

import collections
import contextlib
import ctypes
import json
import os
import pathlib
import platform
import re
import resource
import signal
import socket
import struct
import subprocess
import time

import harness
from harness import WORKERS, wait_for

GARBAGE = b"\xff" * 64
LIBC = ctypes.CDLL(None, use_errno=True)
PIDFD_GETFD = 438
PTRACE_POKETEXT, PTRACE_ATTACH, PTRACE_DETACH, PTRACE_GETREGS = 4, 16, 17, 12
RIP = 16  # its place in struct user_regs_struct, in words

Cell = collections.namedtuple(
    "Cell", "worker fault cause seconds others requests lists transitions twice")


# Reaching into a process

def unix_sockets(pid):
    """{inode: descriptor} of its sockets that are no network connections."""
    known = {line.split()[6] for line in
             pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]}
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{number}"))
            if match and match[1] in known:
                found[int(match[1])] = int(number)
    return found


def borrow(pid, descriptor):
    """A socket of another process, as one of ours."""
    pidfd = os.pidfd_open(pid)
    try:
        number = LIBC.syscall(PIDFD_GETFD, pidfd, descriptor, 0)
        if number < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        return socket.socket(fileno=number)
    finally:
        os.close(pidfd)


def say(pid, descriptor, data):
    with contextlib.closing(borrow(pid, descriptor)) as link:
        link.sendall(data)


def control_inode(pid):
    return next(inode for inode, number in unix_sockets(pid).items() if number == 3)


def loop_for_ever(pid):
    """Lets it go on with a jump to itself."""
    def trace(request, address, data):
        if LIBC.ptrace(request, pid, ctypes.c_void_p(address), data) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")
    trace(PTRACE_ATTACH, 0, None)
    os.waitpid(pid, 0)
    registers = (ctypes.c_ulong * 27)()
    trace(PTRACE_GETREGS, 0, ctypes.byref(registers))
    word, = struct.unpack("<q", b"\xeb\xfe" + b"\x90" * 6)
    trace(PTRACE_POKETEXT, registers[RIP], ctypes.c_long(word))
    trace(PTRACE_DETACH, 0, None)


class Faults:
    """Each method is one: it does it to the worker of that name.  What it
    returns, if anything, undoes it."""

    def __init__(self, plane):
        self.plane = plane

    def pid(self, name):
        return self.plane.worker(name)[0]

    def peers(self, name):
        links = {"informer": ["placer"], "placer": ["informer", "projector"],
                 "projector": ["placer"]}
        return links.get(name, [])

    def limit(self, name, kind, value):
        before = resource.prlimit(self.pid(name), kind)
        pid = self.pid(name)
        resource.prlimit(pid, kind, (value, before[1]))

        def undo():
            with contextlib.suppress(OSError):
                resource.prlimit(pid, kind, before)
        return undo

    def sigkill(self, name):
        os.kill(self.pid(name), signal.SIGKILL)

    def sigsegv(self, name):
        os.kill(self.pid(name), signal.SIGSEGV)

    def abort(self, name):
        os.kill(self.pid(name), signal.SIGABRT)

    def exit_1(self, name):
        """By what it cannot read from its supervisor, whose end of the pair was
        made right before its own."""
        inode = control_inode(self.pid(name)) - 1
        say(self.plane.pid, unix_sockets(self.plane.pid)[inode], GARBAGE)

    def busy_loop(self, name):
        loop_for_ever(self.pid(name))

    def sigstop(self, name):
        os.kill(self.pid(name), signal.SIGSTOP)

    def memory_limit(self, name):
        """Not a byte more than it has, and something to do."""
        undo = self.limit(name, resource.RLIMIT_DATA, 1)
        subprocess.run([harness.PROGRAM.parent / "mokkactl", "dump", name,
                        "-s", self.plane.socket], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=20, check=False)
        return undo

    def descriptors(self, name):
        return self.limit(name, resource.RLIMIT_NOFILE, 4)

    def link(self, name):
        """A descriptor of its: of the link to a peer, else to the supervisor.
        The two ends of a pair were made one after the other."""
        mine = unix_sockets(self.pid(name))
        for peer in self.peers(name):
            theirs = unix_sockets(self.pid(peer))
            for inode, number in mine.items():
                if number != 3 and (inode + 1 in theirs or inode - 1 in theirs):
                    return number
        return 3

    def garbage(self, name):
        """It says what is no message."""
        say(self.pid(name), self.link(name), GARBAGE)

    def full_link(self, name):
        """Nobody reads what it says, for a while."""
        pids = [self.pid(peer) for peer in self.peers(name)] or [self.plane.pid]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def slow_reader(self, name):
        """It runs for a tenth of the time."""
        pid = self.pid(name)
        for _ in range(20):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.09)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)


# In the words of the table; the first six end the process at once.
FAULTS = {
    "SIGKILL": Faults.sigkill, "SIGSEGV": Faults.sigsegv, "abort": Faults.abort,
    "exit 1": Faults.exit_1, "garbage on a link": Faults.garbage,
    "busy loop": Faults.busy_loop, "SIGSTOP": Faults.sigstop,
    "memory limit": Faults.memory_limit, "no descriptors": Faults.descriptors,
    "full link": Faults.full_link, "slow reader": Faults.slow_reader,
}
WATCHED = ("busy loop", "SIGSTOP")  # found by the watchdog, after 15 s
SURVIVED = ("memory limit", "no descriptors", "full link", "slow reader")  # it may be


def possible(fault):
    return fault != "busy loop" or platform.machine() == "x86_64"


class Bench:
    """A cluster with so many Nodes to project, and a control plane that does it
    slowly enough that each cell falls into the middle."""

    def __init__(self, cluster, nodes, pace, patience):
        """pace: writes a second; patience: seconds after which a worker that may
        survive has."""
        self.cluster = cluster
        self.nodes = nodes
        self.pace = pace
        self.patience = patience
        self.plane = None

    def prepare(self):
        self.cluster.reset()
        self.add_nodes()
        self.cluster.add_samples("profile-nvl72")
        self.start()
        self.watch = harness.NodeWatch(self.cluster.api)
        self.began = self.cluster.mark()
        self.cluster.api.create(f"{harness.GROUP}/sgpuinventories", {
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
            "metadata": {"name": "demo"},
            "spec": {"rackGroups": [{
                "id": "nvl72", "count": -(-self.nodes // 18),
                "profileRef": {"name": "nvl72"},
                "placement": {"nodeSelector": {
                    "matchLabels": {"mokka.nvidia.com/pool": "demo"}}}}]}})
        wait_for("the first Nodes", 60, lambda: len(self.patches(self.began)) >= 2)

    def add_nodes(self):
        """Over one connection."""
        connection = self.cluster.api.connect()
        for number in range(self.nodes):
            connection.request("POST", "/api/v1/nodes", json.dumps({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": f"sim-{number:04d}", "labels": {
                    "mokka.nvidia.com/sgpu-node": "true",
                    "mokka.nvidia.com/pool": "demo"}}}),
                {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == 201, response.status
        connection.close()

    def start(self):
        self.plane = harness.ControlPlane(
            self.cluster, "--kube-api-qps", str(self.pace), "--kube-api-burst", "1")
        self.plane.wait_ready(60)

    def stop(self):
        if self.plane is not None:
            self.plane.stop()

    def patches(self, since):
        return [e for e in self.cluster.audit(since)
                if e["verb"] == "patch" and e["objectRef"]["resource"] == "nodes"
                and e["responseStatus"]["code"] == 200]

    def generations(self):
        return {name: self.plane.worker(name)[1] for name in WORKERS}

    def lease(self):
        spec = self.cluster.api.get(harness.LEASE)["spec"]
        return spec["holderIdentity"], spec["leaseTransitions"]

    def recovered(self, name, before, seconds):
        """Until it is back, with all that is known of it; None if it never
        went."""
        with contextlib.suppress(AssertionError):
            wait_for(name, seconds, lambda: self.plane.worker(name)[1] > before[name])
            return time.monotonic()
        return None

    def cell(self, name, fault):
        """Does it, waits until all is well again, and tells."""
        before, lease = self.generations(), self.lease()
        mark = self.cluster.mark()
        began = time.monotonic()
        undo = FAULTS[fault](Faults(self.plane), name)
        limit = self.patience if fault in SURVIVED else 30
        back = self.recovered(name, before, limit)
        if undo is not None:
            undo()
        if not self.plane.ready():
            wait_for("readiness", 30, self.plane.ready)
        time.sleep(0.3)
        after = self.generations()
        events = self.cluster.audit(mark)
        died = self.plane.lines(msg="worker died", worker=name, generation=before[name])
        assert self.plane.process.poll() is None, self.plane.tail()
        return Cell(
            name, fault, died[0]["cause"] if died else "survived",
            None if back is None else back - began,
            [n for n in WORKERS if n != name and after[n] != before[n]],
            self.caused(events), sum(e["verb"] == "list" for e in events),
            self.lease()[1] - lease[1] + (self.lease()[0] != lease[0]),
            self.twice(mark))

    @staticmethod
    def caused(events):
        """What was read, but for the Lease's own, which comes on its clock; the
        reads before status writes of the work that went on are among it."""
        return sum(e["verb"] in ("list", "watch", "get") and
                   e["objectRef"]["resource"] != "leases" for e in events)

    def twice(self, since):
        """Nodes that were sent their projection again in this time."""
        done = collections.Counter(
            e["objectRef"]["name"] for e in self.patches(self.began))
        return sum(done[e["objectRef"]["name"]] > 1 for e in self.patches(since))

    def finish(self):
        """Each Node has changed exactly once, whatever happened."""
        wait_for("convergence", 300, lambda: len(self.cluster.projected()) == self.nodes
                 and self.cluster.converged())
        time.sleep(1)
        return collections.Counter(self.watch.changes.values())
