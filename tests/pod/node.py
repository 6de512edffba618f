# SPDX-License-Identifier: Apache-2.0
"""A cluster with a real kubelet and containerd, and our image in a pod of it.

MOKKA_POD_IMAGES names a folder with mokka.tar and debug.tar, to be taken as they
are; without it both are built from the sources as they stand.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
from harness import LOCAL, NAMESPACE, ROOT, USER, wait_for  # noqa: E402, F401

LEASE = "control-plane.mokka.nvidia.com"
DEPLOYMENT = "deploy/mokka-control-plane"
CONTAINER = "control-plane"
DEBUG_IMAGE = "localhost/mokka-control-plane:debug"
NODES = 54


class Node:
    """The cluster, in a folder of its own."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mokka-pod-"))
        self.state = self.directory / "cluster"
        images = [self.image("mokka.tar"), self.image("debug.tar", "--target", "debug")]
        self.local("node/up", self.state, *images)
        self.cgroups = (self.state / "cgroups").read_text().split()

    def local(self, script, *arguments):
        done = subprocess.run(
            [LOCAL / script, *arguments], text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise AssertionError(f"{script} ends with {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    def image(self, name, *options):
        if "MOKKA_POD_IMAGES" in os.environ:
            return pathlib.Path(os.environ["MOKKA_POD_IMAGES"], name)
        self.local("image", *options, self.directory / name)
        return self.directory / name

    def command(self, *words):
        """What runs a command inside the cluster."""
        return [LOCAL / "node" / "in", self.state, *words]

    def environment(self, **more):
        """With kubectl mokka in PATH, and the programs of this build."""
        path = f"{ROOT / 'deploy'}:{ROOT / 'build' / 'release'}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "HOME": str(self.directory), **more}

    def run(self, *words, status=0, **options):
        """(stdout, stderr) of a command inside that ends as it must."""
        done = subprocess.run(
            self.command(*words), text=True, check=False, env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=300, **options)
        if done.returncode != status:
            raise AssertionError(
                f"{words} ends with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def kubectl(self, *arguments, **options):
        """Its output; the context's namespace is that of the control plane."""
        return self.run("kubectl", *arguments, **options)[0]

    def get(self, *arguments):
        return json.loads(self.kubectl("get", "-o", "json", *arguments))

    def install(self):
        self.kubectl("config", "set-context", "--current", "--namespace", NAMESPACE)
        self.kubectl("apply", "-f", ROOT / "crds", "-f", LOCAL / "rbac.yaml")
        self.kubectl("label", "namespace", NAMESPACE,
                     "pod-security.kubernetes.io/enforce=restricted")
        self.kubectl("wait", "--for=condition=Established", "crd", "--all")
        self.kubectl("apply", "-f", ROOT / "deploy" / "pod.yaml")
        self.kubectl("rollout", "status", DEPLOYMENT, "--timeout=120s")

    def add_nodes(self):
        """Plain objects that nothing runs on."""
        file = self.directory / "nodes.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": f"sim-{i:03d}",
                "labels": {"mokka.nvidia.com/sgpu-node": "true",
                           "mokka.nvidia.com/pool": "demo"}}} for i in range(NODES)]}))
        self.kubectl("create", "-f", file)
        for name in ("profile-nvl72", "inventory-54"):
            self.kubectl("apply", "-f", ROOT / "crds" / "samples" / f"{name}.yaml")

    def projected(self):
        return len(self.kubectl("get", "nodes", "-o", "name", "--selector",
                                "mokka.nvidia.com/sgpu-assigned=true").split())

    def pod(self):
        """The name of the pod that runs."""
        pods = self.get("pods", "--selector", "app.kubernetes.io/name=mokka-control-plane")
        names = [p["metadata"]["name"] for p in pods["items"]
                 if "deletionTimestamp" not in p["metadata"]]
        assert len(names) == 1, names
        return names[0]

    def log(self):
        """Every line of the control plane's log, as kubectl shows it."""
        return [json.loads(line) for line in self.kubectl(
            "logs", self.pod(), "--container", CONTAINER).splitlines()]

    def status(self):
        return json.loads(self.kubectl(
            "exec", self.pod(), "--container", CONTAINER, "--",
            "mokkactl", "status", "-o", "json"))

    def audit(self):
        """What our control plane asked of the API server, in order."""
        with open(self.state / "audit.log", encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
        return [e for e in events if e["user"]["username"] == USER]

    def down(self):
        self.local("node/down", self.state)
        left = [d for d in self.cgroups if pathlib.Path(d).exists()]
        for process in pathlib.Path("/proc").glob("[0-9]*/cwd"):
            try:
                if process.readlink().is_relative_to(self.state):
                    left.append(process)
            except OSError:
                continue
        shutil.rmtree(self.directory)
        assert not left, f"left behind: {left}"
