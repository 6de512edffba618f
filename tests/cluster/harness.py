# SPDX-License-Identifier: Apache-2.0
"""A real API server and our control plane beside it, for tests.

The API server's audit log is the witness of what was asked of it, and a watch
of its own that of what changed.  Nothing here knows the inside of the control
plane but its log, its HTTP port and its process tree.
"""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCAL = ROOT / "deploy" / "local"
PROGRAM = pathlib.Path(
    os.environ.get("MOKKA_PROGRAM", ROOT / "build" / "release" / "control-plane"))
WORKERS = ("informer", "placer", "projector", "elector", "web")
GROUP = "/apis/mokka.nvidia.com/v1alpha1"
NAMESPACE = "mokka-system"
LEASE = (f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/"
         "control-plane.mokka.nvidia.com")
USER = f"system:serviceaccount:{NAMESPACE}:mokka-control-plane"  # as in the chart
ASSIGNED = "mokka.nvidia.com/sgpu-assigned"
CLIQUE = "nvidia.com/gpu.clique"
ASSIGNMENT = "mokka.nvidia.com/sgpu-assignment"
REVIEWS = "selfsubjectaccessreviews"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


def wait_for(what, seconds, question):
    """Asks until the answer is true; returns it. Fails with what it waited for."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}; last: {answer!r}")
        time.sleep(0.02)


def all_true(item, count):
    """The object has so many conditions, all True of its present generation."""
    conditions = item.get("status", {}).get("conditions", [])
    return len(conditions) == count and all(
        c["status"] == "True"
        and c["observedGeneration"] == item["metadata"]["generation"]
        for c in conditions)


class Refused(Exception):
    """An answer of the API server that is no success."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:300]!r}")
        self.status = status


class Api:
    """Requests to the API server as the administrator."""

    def __init__(self, directory):
        pki = directory / "pki"
        self.context = ssl.create_default_context(cafile=pki / "ca.crt")
        self.context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self.port = int((directory / "port").read_text())

    def connect(self, timeout=30):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=self.context, timeout=timeout)

    def ask(self, method, path, body=None, kind="application/json"):
        """The answer as JSON. A server that is not yet ready (429 for a CRD just
        made) is asked again."""
        for _ in range(20):
            try:
                return self.ask_once(method, path, body, kind)
            except Refused as refused:
                if refused.status != 429:
                    raise
            time.sleep(0.25)
        return self.ask_once(method, path, body, kind)

    def ask_once(self, method, path, body, kind):
        connection = self.connect()
        headers = {"Content-Type": kind} if body is not None else {}
        connection.request(method, path, None if body is None else json.dumps(body),
                           headers)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        if response.status >= 300:
            raise Refused(response.status, data)
        return json.loads(data)

    def get(self, path):
        return self.ask("GET", path)

    def items(self, path):
        return self.get(path)["items"]

    def create(self, path, body):
        return self.ask("POST", path, body)

    def merge(self, path, body):
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        return self.ask("DELETE", path)


class NodeWatch(threading.Thread):
    """Counts each change of each Node from its start on."""

    def __init__(self, api):
        super().__init__(daemon=True)
        listed = api.get("/api/v1/nodes")
        self.changes = collections.Counter()
        self.connection = api.connect(timeout=None)
        self.connection.request(
            "GET", "/api/v1/nodes?watch=1&resourceVersion="
            + listed["metadata"]["resourceVersion"])
        self.response = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            for line in self.response:
                event = json.loads(line)
                if event["type"] == "MODIFIED":
                    self.changes[event["object"]["metadata"]["name"]] += 1
        except (OSError, ValueError, AttributeError):
            pass  # stopped


class Cluster:
    """An API server with our CRDs and RBAC, in a folder of its own."""

    def __init__(self, audit="Metadata"):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mokka-test-"))
        self.state = self.directory / "cluster"
        environment = dict(os.environ, AUDIT_LEVEL=audit)
        self.kubeconfig = self.run(LOCAL / "up", self.state, env=environment)
        self.bin = self.run(LOCAL / "build")
        self.api = Api(self.state)
        self.user = self.run(LOCAL / "user", self.state, USER)

    @staticmethod
    def run(*command, **options):
        return subprocess.run(
            [str(word) for word in command], check=True, text=True,
            stdout=subprocess.PIPE, **options).stdout.strip()

    def kubectl(self, *arguments, **options):
        environment = dict(os.environ, KUBECONFIG=self.kubeconfig)
        return self.run(f"{self.bin}/kubectl", *arguments, env=environment, **options)

    def install(self):
        self.kubectl("apply", "-f", ROOT / "crds", "-f", LOCAL / "rbac.yaml")
        self.kubectl("wait", "--for=condition=Established", "crd", "--all")

    def down(self):
        subprocess.run([str(LOCAL / "down"), "--purge", str(self.state)], check=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    # Objects

    def add_nodes(self, count, prefix="sim", pool="demo", **labels):
        for i in range(count):
            self.api.create("/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": f"{prefix}-{i:03d}",
                             "labels": {"mokka.nvidia.com/sgpu-node": "true",
                                        "mokka.nvidia.com/pool": pool, **labels}}})

    def add_samples(self, *names):
        for name in names:
            self.kubectl("apply", "-f", ROOT / "crds" / "samples" / f"{name}.yaml")

    def reset(self):
        """Removes every object of ours and every Node, by force."""
        for plural in ("sgpuinventories", "sgpuracks", "sgpurackprofiles"):
            for item in self.api.items(f"{GROUP}/{plural}"):
                path = f"{GROUP}/{plural}/{item['metadata']['name']}"
                try:
                    self.api.merge(path, {"metadata": {"finalizers": None}})
                    self.api.delete(path)
                except Refused as refused:
                    if refused.status != 404:
                        raise
        self.api.delete("/api/v1/nodes")
        try:
            self.api.delete(LEASE)
        except Refused as refused:
            if refused.status != 404:
                raise

    def projected(self):
        """The Nodes that carry an assignment."""
        return [n for n in self.api.items("/api/v1/nodes")
                if n["metadata"]["labels"].get(ASSIGNED) == "true"]

    def projected_slots(self):
        """{rack index: [Node names in the order of slots]}"""
        return {r["spec"]["identity"]["rackIndex"]: [
            s["nodeRef"]["name"] for s in r["spec"]["nodes"] if "nodeRef" in s]
            for r in self.api.items(f"{GROUP}/sgpuracks")}

    def audit_writes_of(self, resource):
        return sum(e["objectRef"]["resource"] == resource and e["verb"] in WRITES
                   for e in self.audit())

    def condition(self, inventory, kind):
        status = self.api.get(f"{GROUP}/sgpuinventories/{inventory}").get("status", {})
        for condition in status.get("conditions", []):
            if condition["type"] == kind:
                return condition
        return {"status": None}

    def converged(self, inventory="demo"):
        """The inventory's four conditions are True, and every rack is Ready."""
        item = self.api.get(f"{GROUP}/sgpuinventories/{inventory}")
        return all_true(item, 4) and all(
            all_true(rack, 1) for rack in self.api.items(f"{GROUP}/sgpuracks"))

    # The witness

    def mark(self):
        """A point in the audit log, for audit()."""
        path = self.state / "audit.log"
        return path.stat().st_size if path.exists() else 0

    def audit(self, since=0, user=USER):
        """The requests of a user since a mark, one dict each; a watch twice, when
        it begins and when it ends.  Questions of what it is allowed are left out."""
        with open(self.state / "audit.log", "rb") as log:
            log.seek(since)
            events = [json.loads(line) for line in log if line.endswith(b"\n")]
        return [e for e in events if e["user"]["username"] == user
                and e["objectRef"]["resource"] != REVIEWS
                and (e["stage"] == "ResponseComplete"
                     or e["stage"] == "ResponseStarted" and e["verb"] == "watch")]

    def writes(self, since=0, lease=False):
        """Writes that were carried out, those of the Lease and of Events
        apart."""
        return [e for e in self.audit(since) if e["verb"] in WRITES
                and e["responseStatus"]["code"] < 300
                and e["objectRef"]["resource"] != "events"
                and (e["objectRef"]["resource"] == "leases") == lease]

    def event_writes(self, since=0):
        """Requests about Events, whatever came of them."""
        return [e for e in self.audit(since)
                if e["objectRef"]["resource"] == "events"]

    def events(self, namespace="default"):
        """{(reason, message): Event}"""
        return {(e["reason"], e["message"]): e
                for e in self.api.items(f"/api/v1/namespaces/{namespace}/events")}

    def lists(self, since=0):
        """Of either form: in pages (that is, each page), or as a stream."""
        return [e for e in self.audit(since) if e["verb"] == "list"
                or e["stage"] == "ResponseStarted"
                and "sendInitialEvents=true" in e["requestURI"]]


class ControlPlane:
    """One instance of ours, as a child process.  What its placer takes and says
    is recorded, unless record is False; stop() has it replayed, and fails if it
    says anything else."""

    def __init__(self, cluster, *arguments, kubeconfig=None, environment=None,
                 name="control-plane", program=(PROGRAM,), record=True):
        self.cluster = cluster
        self.log = cluster.directory / f"{name}-{time.monotonic_ns()}.log"
        self.error = self.log.with_suffix(".err")
        self.recording = self.log.with_suffix(".recording")
        self.placer = pathlib.Path(program[-1]).with_name("placer")
        if record and self.placer.exists() and "--record" not in arguments:
            arguments = ("--record", str(self.recording), *arguments)
        self.socket = self.log.with_suffix(".sock")
        if "--shadow" not in arguments:
            arguments = ("--leader-election-namespace", NAMESPACE, *arguments)
        command = [*map(str, program), "--kubeconfig", kubeconfig or cluster.user,
                   "--control-socket", str(self.socket),
                   "--listen-addr", "127.0.0.1:0", *arguments]
        with open(self.log, "wb") as out, open(self.error, "wb") as err:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=err,
                env=dict(os.environ, **(environment or {})))
        self.pid = self.process.pid

    def lines(self, **wanted):
        """Log lines whose fields equal those given."""
        found = []
        for raw in self.log.read_text(errors="replace").splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if all(line.get(key) == value for key, value in wanted.items()):
                found.append(line)
        return found

    def address(self):
        return wait_for("the address of the HTTP port", 10, lambda: [
            line["addr"] for line in self.lines(msg="HTTP listening")])[0]

    def http(self, path, method="GET"):
        connection = http.client.HTTPConnection(self.address(), timeout=5)
        with contextlib.closing(connection):
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def metrics(self):
        """The page as {series: number}."""
        connection = http.client.HTTPConnection(self.address(), timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            response = connection.getresponse()
            text = response.read().decode()
        assert response.status == 200, text
        return {series: float(number) for series, _, number in (
            line.rpartition(" ") for line in text.splitlines()
            if not line.startswith("#"))}

    def ready(self):
        try:
            return self.http("/readyz")[0] == 200
        except OSError:
            return False

    def wait_ready(self, seconds=30):
        try:
            wait_for("/readyz", seconds, self.ready)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from error

    def worker(self, name):
        """(pid, generation) of the present process of a worker."""
        line = self.lines(msg="worker running", worker=name)[-1]
        return line["pid"], line["generation"]

    def kill(self, name, number=signal.SIGKILL):
        """Kills a worker; returns its generation and the time."""
        pid, generation = self.worker(name)
        os.kill(pid, number)
        return generation, time.monotonic()

    def wait_back(self, name, generation, seconds=15):
        """Until the worker runs in a later generation; returns the moment."""
        wait_for(f"{name} to be back", seconds, lambda: [
            line for line in self.lines(msg="worker running", worker=name)
            if line["generation"] > generation])
        return time.monotonic()

    def stop(self, seconds=20):
        """TERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"no end {seconds} s after TERM\n{self.tail()}")
        self.replay()
        return self.process.returncode

    def replay(self):
        """The placer, on what was recorded, says what it said; the verdict."""
        if not self.recording.exists() or self.recording.stat().st_size == 0:
            return ""
        done = subprocess.run(
            [self.placer, "--replay", self.recording, "-o", "none"], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=120, check=False)
        if done.returncode != 0:
            raise AssertionError(f"the replay ends with {done.returncode}: {done.stderr}")
        return done.stderr.strip()

    def wait_exit(self, seconds=20):
        self.process.wait(seconds)
        return self.process.returncode, self.error.read_text()

    def tail(self, count=25):
        text = self.log.read_text(errors="replace").splitlines()[-count:]
        return "\n".join(text) + self.error.read_text()



def tell_failed(test, plane):
    """After a failure: what the control plane logged last, and what it is at."""
    result = test._outcome.result
    if all(failed is not test for failed, _ in result.failures + result.errors):
        return
    print(f"-- {test.id()}: the control plane's last lines\n{plane.tail(60)}")
    for asked in (("status",), ("dump", "projector"), ("dump", "placer")):
        try:
            told = subprocess.run(
                [PROGRAM.with_name("mokkactl"), *asked, "--socket", str(plane.socket)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, timeout=20, check=False).stdout
        except subprocess.TimeoutExpired:
            told = "(no answer)"
        print(f"-- mokkactl {' '.join(asked)}\n{told[:6000]}", flush=True)


def look_after(test, plane, end=None):
    """Ends it (or has end do that) with the test, which tells of it if it failed."""
    test.addCleanup(end or plane.stop)
    test.addCleanup(tell_failed, test, plane)
    return plane


class Estate(unittest.TestCase):
    """Tests that begin with an empty cluster of their own and declare the sample
    inventory of 54 Nodes."""
    NODES = 54

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()

    def setUp(self):
        self.cluster.reset()
        self.mark = self.cluster.mark()

    def plane(self, *arguments, **options):
        return look_after(self, ControlPlane(self.cluster, *arguments, **options))

    def declare(self, nodes=NODES):
        self.cluster.add_nodes(nodes)
        self.cluster.add_samples("profile-nvl72", "inventory-54")

    def converge(self, plane, nodes=NODES):
        try:
            wait_for("convergence", 60, lambda: self.cluster.converged()
                     and len(self.cluster.projected()) == nodes)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{plane.tail()}") from error


def written_objects(events):
    """How often each object was written: {(resource, subresource, name): n}."""
    return collections.Counter(
        (e["objectRef"]["resource"], e["objectRef"].get("subresource", ""),
         e["objectRef"].get("name") or name_in_uri(e)) for e in events)


def name_in_uri(event):
    match = re.search(r"/sgpuracks/([^/?]+)", event["requestURI"])
    return match.group(1) if match else ""
