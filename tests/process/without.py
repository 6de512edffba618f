# SPDX-License-Identifier: Apache-2.0
"""without.py CALL[=NUMBER]:ERROR... -- COMMAND...

Runs a command as on a machine whose kernel, or whose container runtime, answers
some system calls with an error: CALL (if its first argument is NUMBER) fails
with ERROR.
"""

import ctypes
import errno
import os
import struct
import sys

CALLS = {"landlock_create_ruleset": 444, "landlock_restrict_self": 446,
         "seccomp": 317 if os.uname().machine == "x86_64" else 277,
         "prctl": 157 if os.uname().machine == "x86_64" else 167,
         "prlimit64": 302 if os.uname().machine == "x86_64" else 261}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def steps(rule):
    call, _, error = rule.partition(":")
    call, _, number = call.partition("=")
    last = struct.pack("HBBI", RETURN, 0, 0, ERROR | getattr(errno, error))
    check = b""
    if number:  # the lower half of the first argument
        check = (struct.pack("HBBI", LOAD, 0, 0, 16)
                 + struct.pack("HBBI", EQUAL, 0, 1, int(number)))
    return (struct.pack("HBBI", LOAD, 0, 0, 0)
            + struct.pack("HBBI", EQUAL, 0, (len(check) + len(last)) // 8, CALLS[call])
            + check + last)


def main():
    cut = sys.argv.index("--")
    program = b"".join(map(steps, sys.argv[1:cut])) + struct.pack("HBBI", RETURN, 0, 0, ALLOW)
    steps_there = ctypes.create_string_buffer(program)
    filter_there = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps_there))
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            or libc.prctl(PR_SET_SECCOMP, FILTER, filter_there, 0, 0) != 0):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[cut + 1], sys.argv[cut + 1:])


main()
