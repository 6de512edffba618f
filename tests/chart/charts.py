# SPDX-License-Identifier: Apache-2.0
"""Our charts, rendered by helm without a cluster."""

import functools
import json
import pathlib
import re
import subprocess
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "mokka"
CRDS = ROOT / "deploy" / "helm" / "mokka-crds"
NAMESPACE = "mokka-system"
VERSION, = re.findall(r"(?m)^project\(mokka VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())


@functools.cache
def tools():
    """The folder with helm, helm-unittest and kubeconform."""
    return subprocess.run([ROOT / "deploy" / "local" / "helm"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def helm(*words, **options):
    return subprocess.run([f"{tools()}/helm", *map(str, words)], text=True,
                          capture_output=True, check=False, **options)


def template(values=None, *words, release="mokka", namespace=NAMESPACE, chart=CHART):
    """The ended process; values is what a values file holds."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(values or {}, file)
        file.flush()
        return helm("template", release, chart, "--namespace", namespace,
                    "--values", file.name, *words)


def control_plane(**values):
    return {"controlPlane": values}


class Rendered:
    """The objects of a chart with values; wanted["Kind"] is the only one of its
    kind, wanted["Kind", "name"] one of several."""

    def __init__(self, values=None, *words, **options):
        done = template(values, *words, **options)
        assert done.returncode == 0, done.stderr
        self.text = done.stdout
        self.items = [item for item in yaml.safe_load_all(done.stdout) if item]

    def __getitem__(self, key):
        kind, name = key if isinstance(key, tuple) else (key, None)
        found = [i for i in self.items if i["kind"] == kind
                 and name in (None, i["metadata"]["name"])]
        assert len(found) == 1, (key, [i["metadata"]["name"] for i in found])
        return found[0]

    def kinds(self):
        return sorted(item["kind"] for item in self.items)

    def pod(self):
        return self["Deployment"]["spec"]["template"]["spec"]

    def container(self):
        container, = self.pod()["containers"]
        return container

    def arguments(self):
        """{flag: value}"""
        return dict(a.removeprefix("--").split("=", 1) for a in self.container()["args"])


def refusal(values, *words, **options):
    """What helm says when it does not render."""
    done = template(values, *words, **options)
    assert done.returncode != 0, done.stdout
    return done.stderr
