# SPDX-License-Identifier: Apache-2.0
"""Parts of pages that are made from the sources, by the scripts beside this."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
END = "<!-- end -->\n"


def make(script, page, source, text):
    """Puts text where the page says that the script makes it; with --check says
    whether it is there, and exits with 1 if it is not."""
    path = ROOT / "docs" / page
    begin = f"<!-- made by docs/{script} -->\n"
    before, _, rest = path.read_text().partition(begin)
    made = before + begin + text + END + rest.partition(END)[2]
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"usage: docs/{script} [--check]")
    if not sys.argv[1:]:
        path.write_text(made)
    elif made != path.read_text():
        sys.exit(f"docs/{page} is not what {source} says: run docs/{script}")
