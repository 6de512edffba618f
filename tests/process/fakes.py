# SPDX-License-Identifier: Apache-2.0
"""Workers that are none, to stand in the place of one: each function is what
such a program does.  install writes the program."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import driver
from driver import CONTROL_FD, DESCRIPTOR, MESSAGES, PROTOCOL, frame, pack

# Each ends the control link of whoever sends it.
GARBAGE = [
    b"\xff" * 64, frame("READY", number=9999), frame("STOP"), frame("CONTEND"),
    frame("STATE", length=MESSAGES["STATE"].cap + 1, body=b""),
    frame("STATE", body=b"\xc1"), frame("STATE", True), frame("STATE", body=pack()),
    frame("READY", flags=DESCRIPTOR),
    frame("STATE", True, "", {str(n): n for n in range(40)}),
    frame("STATE", True, "", {"a": "b"}),
    frame("HELLO", body=b""),
]


def install(folder, name, what, *arguments):
    """Puts a program that does what() in the place of that worker."""
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!{sys.executable} -B\nimport sys\n"
                    f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
                    f"import fakes\nfakes.{what}({name!r}, *{arguments!r})\n")
    path.chmod(0o755)


def install_dying(folder, name):
    """One that ends at once, and so takes no time to start."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text("#!/bin/false\n")
    (folder / name).chmod(0o755)


def control():
    return driver.Link(socket.socket(fileno=CONTROL_FD))


def hello(name, build, protocol=PROTOCOL, said=None):
    link = control()
    link.send("HELLO", protocol, build, said or name, os.getpid())
    return link


def obey(link):
    """Does nothing until it is told to stop, or the link ends."""
    while (found := link.receive(3600)) is not None:
        if found.name == "PING":
            link.send("PONG")
        if found.name == "STOP":
            link.send("BYE")
            sys.exit(0)
    sys.exit(0)


def run(name, build):
    """A start as it should be; returns the link and the generation."""
    link = hello(name, build)
    generation = link.wait("CONFIG").fields[0]
    link.wait("START")
    link.send("READY")
    return link, generation


def another(name, build, protocol, said):
    """Says a HELLO that does not fit."""
    obey(hello(name, build, protocol, said))


def mute(name):
    """Never says HELLO, and does not care about the end of its link."""
    time.sleep(3600)


def unready(name, build):
    """Never gets READY."""
    hello(name, build)
    time.sleep(3600)


def rude(name, build):
    """Sends something else that is wrong in each generation, then behaves."""
    link, generation = run(name, build)
    if generation <= len(GARBAGE):
        link.send("STATE", True, "", {})
        link.send_bytes(GARBAGE[generation - 1])
        time.sleep(3600)
    obey(link)


def sends(name, build, data):
    """Sends that, in its first generation."""
    link, generation = run(name, build)
    if generation == 1:
        link.send_bytes(data)
        time.sleep(3600)
    obey(link)


def lies(name, build, peer, data):
    """Sends its peer what is wrong, in its first generation; then behaves, as
    far as it must."""
    link = hello(name, build)
    generation = link.wait("CONFIG").fields[0]
    ends = []
    while (found := link.receive(3600)) is not None:
        if found.name == "LINKED" and found.fields[0] == driver.ROLES[peer]:
            ends.append(driver.Link(socket.socket(fileno=found.descriptor)))
            if generation == 1:
                ends[-1].send_bytes(data)
        elif found.name == "START":
            link.send("READY")
        elif found.name == "STOP":
            link.send("BYE")
            return


def slanders(name, build, *fields):
    """Complains about another worker, in its first generation."""
    link, generation = run(name, build)
    if generation == 1:
        link.send("LINK_BROKEN", *fields)
    obey(link)


def goes_back(name, build):
    """Says that the cluster went back in time, in its first generation."""
    link, generation = run(name, build)
    if generation == 1:
        link.send("WENT_BACK", "Node a: version 1 was listed, after version 2")
    obey(link)


def fails(name, build, reason, status, path):
    """As soon as there is a file of that path."""
    link, _ = run(name, build)
    while not os.path.exists(path):
        time.sleep(0.02)
    link.send("FAILED", reason)
    sys.exit(status)


def tells_descriptors(name):
    """FAILED with what it inherited, its control link apart."""
    found = sorted(int(n) for n in os.listdir("/proc/self/fd"))
    # The last one is that of the listing itself.
    link = control()
    link.send("FAILED", "descriptors " + " ".join(map(str, found[:-1])))
    sys.exit(1)


def floods(name, build):
    """Reports without a pause, and reads nothing."""
    link, generation = run(name, build)
    while generation == 1:
        link.send_bytes(b"".join(
            frame("STATE", False, f"report {n}", {}) for n in range(200)))
    obey(link)


def leaves(name, build, path):
    """Dies, and leaves a process that holds its link and its mouth."""
    link, generation = run(name, build)
    if generation == 1:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"],
                                 pass_fds=[CONTROL_FD])
        with open(path, "w") as out:
            out.write(str(child.pid))
        os.kill(os.getpid(), signal.SIGKILL)
    obey(link)


def folder_of(preset, destination):
    """The programs of a build, in a folder where they can be replaced.  The
    supervisor looks beside its own file, so that must not be a symlink."""
    destination.mkdir()
    for name in driver.WORKERS:
        (destination / name).symlink_to(driver.programs(preset) / name)
    shutil.copy2(driver.programs(preset) / "control-plane", destination)
    return destination
