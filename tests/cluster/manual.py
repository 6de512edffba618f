# SPDX-License-Identifier: Apache-2.0
"""The commands of a page, and what it shows of their output."""

import re

from harness import ROOT


def commands(place, page="docs/debugging.md"):
    """(command, what it shows) of the blocks whose first line is ```console and
    place."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(rf"(?ms)^```console{place}\n(.*?)^```$", text):
        for command in re.split(r"(?m)^\$ ", block)[1:]:
            line, _, shown = command.partition("\n")
            yield line, shown


def is_shown(shown, printed):
    """Whether that was printed; "..." stands for anything, a line of it for any
    lines, and columns are as wide as they must be."""
    pieces = []
    for line in shown.splitlines():
        words = ".*".join(map(re.escape, line.split("...")))
        pieces.append("(?:.*\n)*" if line == "..." else re.sub(r"(\\ )+", " +", words) + "\n")
    return re.fullmatch("".join(pieces), printed) is not None
