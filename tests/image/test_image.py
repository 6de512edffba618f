# SPDX-License-Identifier: Apache-2.0
"""The image: the same bytes each time, labelled, and with a list of what is in it.

MOKKA_IMAGE_ARCH=arm64 is for that one (tests/run arm64).
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import images
from images import ROOT, STATUS, Image

ARCHITECTURE = os.environ.get("MOKKA_IMAGE_ARCH", "amd64")
MACHINES = {"amd64": b"\x3e\0", "arm64": b"\xb7\0"}  # e_machine of ELF
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
PROGRAMS = {f"usr/local/{name}" for name in (
    "bin/control-plane", "bin/mokkactl", "libexec/mokka/informer", "libexec/mokka/placer",
    "libexec/mokka/projector", "libexec/mokka/elector", "libexec/mokka/web")}


def setUpModule():
    """One image for all."""
    folder = tempfile.TemporaryDirectory(prefix="mokka-image-")
    unittest.addModuleCleanup(folder.cleanup)
    ImageTest.folder = pathlib.Path(folder.name)
    ImageTest.file = ImageTest.folder / "one.tar"
    ImageTest.said = images.build(ImageTest.file, "--arch", ARCHITECTURE)
    ImageTest.image = Image(ImageTest.file)
    ImageTest.sbom_file = ImageTest.folder / "one.spdx.json"
    ImageTest.sbom = json.loads(ImageTest.sbom_file.read_text())


class ImageTest(unittest.TestCase):
    def git(self, *words):
        return subprocess.run(["git", "-C", ROOT, *words], text=True, check=True,
                              stdout=subprocess.PIPE).stdout.strip()


class What(ImageTest):
    def test_it_runs_our_program_as_nobody_and_says_for_what_machine(self):
        config = self.image.config
        self.assertEqual((config["architecture"], config["os"]), (ARCHITECTURE, "linux"))
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/local/bin/control-plane"])
        self.assertEqual(config["config"]["User"], "65532:65532")

    def test_labels(self):
        labels = self.image.config["config"]["Labels"]
        version, = re.findall(r"^project\(mokka VERSION (\S+)", (
            ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
        time = datetime.datetime.fromtimestamp(
            int(self.git("log", "-1", "--format=%ct")), datetime.timezone.utc)
        for name, value in {
                "title": "mokka-control-plane", "licenses": "Apache-2.0", "version": version,
                "revision": self.git("rev-parse", "--short=12", "HEAD"),
                "created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "source": ""}.items():
            self.assertEqual(labels[f"org.opencontainers.image.{name}"], value, name)
        self.assertIn("org.opencontainers.image.description", labels)
        # By hand, docker build has the default.
        self.assertIn(f"\nARG VERSION={version}\n",
                      (ROOT / "deploy" / "Containerfile").read_text())

    def test_there_is_nothing_but_our_programs_and_what_they_load(self):
        elf = {path for path, (_, _, content) in self.image.files.items()
               if content.startswith(b"\x7fELF")}
        self.assertLessEqual(PROGRAMS, elf)
        for path in elf:
            mode, owner, content = self.image.files[path]
            self.assertEqual(content[18:20], MACHINES[ARCHITECTURE], path)
            self.assertEqual((mode, owner), (0o755, (0, 0)), path)
        libraries = {path for path in elf - PROGRAMS}
        folder = f"usr/lib/{TRIPLETS[ARCHITECTURE]}/"
        self.assertEqual({p for p in libraries if not p.startswith(folder)
                          and "/ld-linux" not in p}, set())
        self.assertIn(folder + "libgcc_s.so.1", libraries)
        self.assertNotIn("/bin/sh", {f"/{p}" for p in self.image.files})
        needed = set()
        for path in elf:
            file = self.folder / "elf"
            file.write_bytes(self.image.files[path][2])
            dynamic = subprocess.run(["readelf", "-d", file], text=True, check=True,
                                     stdout=subprocess.PIPE).stdout
            needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        self.assertEqual({pathlib.Path(p).name for p in libraries}, needed | {"libgcc_s.so.1"})

    def test_the_programs_start_with_nothing_but_what_is_in_it(self):
        commit = self.git("rev-parse", "--short=12", "HEAD")
        (ROOT / "build").mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            self.image.unpack(folder)
            if ARCHITECTURE == "amd64":
                start = ["chroot", folder]
            else:  # in their folder, by its name; libraries are looked for there first
                start = [ROOT / "deploy" / "local" / "image", "--run", "qemu-aarch64-static",
                         "-L", folder]
            for name in ("bin/control-plane", "bin/mokkactl"):
                path = f"/usr/local/{name}"
                done = subprocess.run(
                    [*start, path if ARCHITECTURE == "amd64" else folder + path, "--version"],
                    text=True, capture_output=True, check=False)
                self.assertIn(commit, done.stdout, done.stderr)

    def test_its_size_is_said(self):
        self.assertRegex(self.said, r"image: \d+(\.\d+)?MiB, unpacked \d+(\.\d+)?MiB\n")
        self.assertLess(len(self.image.layer), 40 << 20)


class Again(ImageTest):
    def test_another_build_is_the_same_bytes(self):
        """In another folder, at another time, compiled anew, by somebody whose files
        are for nobody else."""
        self.assertEqual(self.image.times, {int(self.git("log", "-1", "--format=%ct"))})
        mask = os.umask(0o077)
        self.addCleanup(os.umask, mask)
        other = images.copy_of_sources(self.folder / "somewhere" / "else")
        images.forget(ARCHITECTURE)
        images.build(self.folder / "two.tar", "--arch", ARCHITECTURE, root=other,
                     env=dict(os.environ, TZ="Asia/Tokyo"))
        two = Image(self.folder / "two.tar")
        self.assertEqual(two.files.keys(), self.image.files.keys())
        for path, file in self.image.files.items():
            self.assertTrue(two.files[path] == file, path)
        self.assertEqual(two.config, self.image.config)
        self.assertEqual(two.digest, self.image.digest)
        self.assertTrue(self.file.read_bytes() == (self.folder / "two.tar").read_bytes())
        self.assertEqual((self.folder / "two.spdx.json").read_text(),
                         self.sbom_file.read_text())


class Contents(ImageTest):
    """The list of what is in it, in SPDX."""

    def package(self, name):
        found, = [p for p in self.sbom["packages"] if p["name"] == name]
        return found

    def contained(self, package):
        """The files of a package, by name."""
        names = {f["SPDXID"]: f["fileName"] for f in self.sbom["files"]}
        return sorted(names[r["relatedSpdxElement"]] for r in self.sbom["relationships"]
                      if (r["spdxElementId"], r["relationshipType"]) == (
                          package["SPDXID"], "CONTAINS"))

    def test_it_names_the_Debian_packages_that_scanners_find(self):
        entries = self.image.packages()
        self.assertIn("libcurl4", entries)
        for name, entry in entries.items():
            self.assertEqual(entry["Status"], "install ok installed")
            self.assertIn(entry["Architecture"], (ARCHITECTURE, "all"))
        listed = {}
        for package in self.sbom["packages"]:
            for reference in package["externalRefs"]:
                match = re.fullmatch(r"pkg:deb/debian/([^@]+)@([^?]+)\?arch=(\w+)"
                                     r"&distro=debian-12", reference["referenceLocator"])
                if match:
                    listed[match[1]] = (match[2].replace("%2B", "+").replace("%3A", ":"),
                                        match[3])
                    self.assertEqual(package["versionInfo"], listed[match[1]][0])
        self.assertEqual(listed, {name: (entry["Version"], entry["Architecture"])
                                  for name, entry in entries.items()})

    def test_each_library_is_of_one_package_and_is_what_the_package_gave(self):
        given = {}
        for name in self.image.packages():
            for line in self.image.text(f"{STATUS}{name}.md5sums").splitlines():
                digest, path = line.split()
                self.assertNotIn(path, given)
                given[path] = name
                self.assertEqual(hashlib.md5(self.image.files[path][2]).hexdigest(), digest)
        self.assertEqual({p for p in self.image.files if p.startswith("usr/")} - set(given),
                         PROGRAMS)
        for name in self.image.packages():
            self.assertEqual(self.contained(self.package(name)),
                             sorted(f"./{p}" for p in given if given[p] == name))

    def test_each_file_with_its_checksums(self):
        listed = {f["fileName"]: {c["algorithm"]: c["checksumValue"] for c in f["checksums"]}
                  for f in self.sbom["files"]}
        self.assertEqual(listed, {
            f"./{path}": {"SHA1": hashlib.sha1(content).hexdigest(),
                          "SHA256": hashlib.sha256(content).hexdigest()}
            for path, (_, _, content) in self.image.files.items()})
        for package in self.sbom["packages"]:
            if package["filesAnalyzed"]:
                sums = sorted(listed[f]["SHA1"] for f in self.contained(package))
                self.assertEqual(
                    package["packageVerificationCode"]["packageVerificationCodeValue"],
                    hashlib.sha1("".join(sums).encode()).hexdigest(), package["name"])

    def test_our_programs_and_the_image_itself(self):
        ours = self.package("mokka")
        self.assertEqual(ours["licenseDeclared"], "Apache-2.0")
        self.assertIn(self.git("rev-parse", "--short=12", "HEAD"), ours["sourceInfo"])
        self.assertLessEqual({f"./{p}" for p in PROGRAMS}, set(self.contained(ours)))
        image = self.package("mokka-control-plane")
        self.assertEqual(f"sha256:{image['checksums'][0]['checksumValue']}", self.image.digest)
        self.assertIn({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                       "relatedSpdxElement": image["SPDXID"]}, self.sbom["relationships"])

    def test_licences_are_those_of_the_copyright_files(self):
        for name, licence in (("libcurl4", "curl"), ("libssl3", "Apache-2.0"),
                              ("zlib1g", "Zlib"), ("libjansson4", "MIT"),
                              ("libnettle8", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
                              ("libc6", "NOASSERTION")):
            self.assertEqual(self.package(name)["licenseDeclared"], licence, name)

    def test_it_is_valid_SPDX(self):
        try:
            tools = images.spdx_tools()
        except OSError as error:
            print(f"  skipped: no SPDX validator: {error}")
            self.skipTest(str(error))
        bad = self.folder / "bad.spdx.json"
        bad.write_text(self.sbom_file.read_text().replace('"MIT"', '"ours"'))
        for file, status in ((self.sbom_file, 0), (bad, 1)):
            done = subprocess.run(
                [sys.executable, "-m", "spdx_tools.spdx.clitools.pyspdxtools", "-i", file],
                env=dict(os.environ, PYTHONPATH=tools), text=True, capture_output=True,
                check=False)
            self.assertEqual(done.returncode, status, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
