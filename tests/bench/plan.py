# SPDX-License-Identifier: Apache-2.0
"""What `mokkactl plan` takes for 1,000, 10,000 and 100,000 Nodes in racks of
100, from a file of JSON objects: its own --timing."""

import pathlib
import subprocess
import tempfile

import estate

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        for nodes in (1000, 10000, 100000):
            path = pathlib.Path(folder, f"{nodes}.json")
            estate.write(path, nodes)
            done = subprocess.run(
                [ROOT / "build" / "release" / "mokkactl", "plan", "-f", path, "--timing"],
                check=True, capture_output=True, text=True)
            print(f"{nodes} Nodes")
            print("".join(f"  {line}\n" for line in done.stderr.splitlines()), end="")


if __name__ == "__main__":
    main()
