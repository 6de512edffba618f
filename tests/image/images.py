# SPDX-License-Identifier: Apache-2.0
"""Our image, as deploy/local/image builds it, and what is in it."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "mokka")
STATUS = "var/lib/dpkg/status.d/"
SPDX_TOOLS = "spdx-tools==0.8.5"


def build(file, *options, root=ROOT, **more):
    """What it says of the build."""
    done = subprocess.run([root / "deploy" / "local" / "image", *options, file], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    assert done.returncode == 0, done.stderr
    return done.stderr


def forget(architecture):
    """The next build compiles anew; what the network was needed for stays."""
    subprocess.run(
        ["flock", CACHE / "image" / "lock", "buildah",
         "--storage-driver", os.environ.get("STORAGE_DRIVER", "overlay"),
         "--root", CACHE / "image" / "storage", "--runroot", CACHE / "image" / "run",
         "rmi", "--force", f"localhost/mokka-build:{architecture}"],
        check=True, stdout=subprocess.DEVNULL)


def copy_of_sources(folder):
    """In another place, with other times and other rights."""
    shutil.copytree(ROOT, folder, copy_function=shutil.copy, symlinks=True,
                    ignore=shutil.ignore_patterns("build", "__pycache__"))
    return folder


class Image:
    """config; files is {path: (mode, owner, content)}, links {path: target}."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            members = {m.name.removeprefix("./"): archive.extractfile(m).read()
                       for m in archive if m.isfile()}
        for name, content in members.items():
            if name.startswith("blobs/sha256/"):
                assert name.endswith(hashlib.sha256(content).hexdigest()), name

        def blob(digest):
            return members["blobs/" + digest.replace(":", "/")]
        entry, = json.loads(members["index.json"])["manifests"]
        self.digest = entry["digest"]
        manifest = json.loads(blob(self.digest))
        self.config = json.loads(blob(manifest["config"]["digest"]))
        layer, = manifest["layers"]
        self.layer = gzip.decompress(blob(layer["digest"]))
        self.files, self.links, self.times = {}, {}, set()
        with tarfile.open(fileobj=io.BytesIO(self.layer)) as files:
            for m in files:
                self.times.add(m.mtime)
                if m.issym():
                    self.links[m.name] = m.linkname
                elif m.isfile():
                    self.files[m.name] = (m.mode & 0o7777, (m.uid, m.gid), files.extractfile(m).read())

    def unpack(self, folder):
        with tarfile.open(fileobj=io.BytesIO(self.layer)) as files:
            files.extractall(folder)

    def text(self, path):
        return self.files[path][2].decode()

    def packages(self):
        """{Debian package: {field: value}} of the entries where scanners look."""
        return {path.removeprefix(STATUS): dict(
            line.split(": ", 1) for line in self.text(path).splitlines()
            if ": " in line and not line.startswith(" "))
            for path in self.files if path.startswith(STATUS) and not path.endswith("sums")}


def spdx_tools():
    """The folder with the validator; downloaded by pip, once. OSError: it is not."""
    folder = CACHE / SPDX_TOOLS
    if not folder.exists():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", new, SPDX_TOOLS],
            text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise OSError((done.stderr.strip().splitlines() or ["pip fails"])[-1])
        new.rename(folder)
    return folder
