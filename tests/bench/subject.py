# SPDX-License-Identifier: Apache-2.0
"""What the control plane costs with so many Nodes on a real API server: one run
from a cold start through the projection of all, a minute of events that change
nothing, deaths of workers and a second pass.  Beside it, the same reading and
the same patches without any control plane, for ratios."""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import figures  # noqa: E402
import harness  # noqa: E402
from harness import ControlPlane, wait_for  # noqa: E402
from replicas import moment  # noqa: E402

PER_RACK = 18
CHURN = 100  # events a second that change nothing
CHURN_SECONDS = 15
IN_FLIGHT = 16  # of the raw patches
PROTOBUF = "application/vnd.kubernetes.protobuf"
STRATEGIC = "application/strategic-merge-patch+json"
STREAM = ("/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
          "&resourceVersionMatch=NotOlderThan&timeoutSeconds=60"
          "&labelSelector=mokka.nvidia.com%2Fsgpu-node%3Dtrue")


def cpu(pids):
    """CPU seconds that processes have used so far."""
    return sum(map(figures.cpu_seconds, pids))


def memory_kb(pids):
    """Proportional set sizes, so that shared pages count once."""
    return sum(map(figures.proportional_kb, pids))


def node(number):
    """A Node as a kubelet makes it, some 10 kB."""
    name = f"sim-{number:06d}"
    images = [{"names": [f"registry.example.com/team-{i}/service-{i}@sha256:{i:064x}",
                         f"registry.example.com/team-{i}/service-{i}:v1.{i}.0"],
               "sizeBytes": 100_000_000 + i} for i in range(20)]
    conditions = [{"type": t, "status": s, "reason": r, "message": f"kubelet has {r}",
                   "lastHeartbeatTime": "2026-01-02T03:04:05Z",
                   "lastTransitionTime": "2026-01-02T03:04:05Z"} for t, s, r in (
                       ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                       ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                       ("PIDPressure", "False", "KubeletHasSufficientPID"),
                       ("Ready", "True", "KubeletReady"))]
    amounts = {"cpu": "128", "memory": "1056Gi", "pods": "110",
               "ephemeral-storage": "3750Gi", "hugepages-2Mi": "0"}
    labels = {"mokka.nvidia.com/sgpu-node": "true", "mokka.nvidia.com/pool": "demo",
              "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
              "kubernetes.io/arch": "arm64"}
    labels.update({f"feature.node.kubernetes.io/cpu-cpuid.F{i}": "true"
                   for i in range(30)})
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"images": images, "conditions": conditions, "capacity": amounts,
                       "allocatable": amounts, "addresses": [
                           {"type": "InternalIP", "address": f"10.0.{number // 250}."
                                                             f"{number % 250}"},
                           {"type": "Hostname", "address": name}]}}


class Client(threading.local):
    """A kept connection for each thread."""

    def __init__(self, api):
        self.connection = api.connect()

    def ask(self, method, path, body, kind):
        self.connection.request(method, path, json.dumps(body), {"Content-Type": kind})
        response = self.connection.getresponse()
        data = response.read()
        if response.status >= 300:
            raise harness.Refused(response.status, data)


class Subject:
    def __init__(self, nodes):
        self.nodes = nodes
        self.racks = -(-nodes // PER_RACK)
        self.figures = {"n": nodes}
        self.cluster = harness.Cluster()
        self.client = Client(self.cluster.api)
        self.server = [int((self.cluster.state / "kube-apiserver.pid").read_text())]
        self.plane = None

    def close(self):
        if self.plane is not None:
            self.plane.stop()
        self.cluster.down()

    def each(self, threads, items, act):
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for done in pool.map(act, items):
                del done

    def start(self):
        """Until ready; returns how long that took."""
        began = time.monotonic()
        self.plane = ControlPlane(self.cluster, record=False)
        self.plane.wait_ready(120)
        return time.monotonic() - began

    def stop(self):
        self.plane.stop()
        self.plane = None

    def pids(self):
        return [self.plane.pid] + [self.plane.worker(w)[0] for w in harness.WORKERS]

    # The parts of a run

    def empty(self):
        """What it needs for nothing."""
        self.start()
        time.sleep(2)
        self.figures["base_kb"] = memory_kb(self.pids())
        self.figures["base_cpu_s"] = cpu(self.pids())
        self.stop()

    def populate(self):
        self.each(8, range(self.nodes), lambda i: self.client.ask(
            "POST", "/api/v1/nodes", node(i), "application/json"))
        self.cluster.add_samples("profile-nvl72")

    def read_raw(self):
        """What a client that reads whole Nodes as a protobuf stream costs the
        API server."""
        before = cpu(self.server)
        connection = self.cluster.api.connect()
        connection.request("GET", STREAM, headers={"Accept": PROTOBUF + ";stream=watch"})
        response = connection.getresponse()
        tail = b""
        while b"initial-events-end" not in tail:
            piece = response.read1(1 << 20)
            assert piece, "the stream ended"
            tail = tail[-64:] + piece
        connection.close()
        time.sleep(0.5)
        return cpu(self.server) - before

    def cold(self):
        """The best of two counts, as whatever else runs adds to it."""
        self.figures["raw_read_server_s"] = min(self.read_raw() for _ in range(3))
        server = []
        for _ in range(2):
            before = cpu(self.server)
            self.figures["cold_ready_s"] = self.start()
            time.sleep(2)
            server.append(cpu(self.server) - before)
            self.figures["cold_cpu_s"] = cpu(self.pids())
            if len(server) < 2:
                self.stop()
        self.figures["cold_server_s"] = min(server)

    def inventory(self):
        return {"apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
                "metadata": {"name": "demo"}, "spec": {"rackGroups": [{
                    "id": "train", "count": self.racks,
                    "profileRef": {"name": "nvl72"},
                    "placement": {"nodeSelector": {"matchLabels": {
                        "mokka.nvidia.com/pool": "demo"}}}}]}}

    def converge(self):
        before = [cpu([pid]) for pid in self.pids()]
        mark = self.cluster.mark()
        began = time.time()
        self.cluster.api.create(f"{harness.GROUP}/sgpuinventories", self.inventory())
        wait_for("convergence", 900, self.converged)
        time.sleep(3)
        used = [cpu([pid]) - b for pid, b in zip(self.pids(), before)]
        self.figures["cpu_s"] = sum(used)
        self.figures.update((f"cpu_{name}_s", s) for name, s in zip(
            ("supervisor", *harness.WORKERS), used))
        self.figures["memory_kb"] = memory_kb(self.pids())
        self.figures.update((f"memory_{name}_kb", memory_kb([pid])) for name, pid in zip(
            ("supervisor", *harness.WORKERS), self.pids()))
        writes = self.cluster.writes(mark)
        asked = [e for e in self.cluster.audit(mark)
                 if e["objectRef"]["resource"] not in ("leases", "events")
                 and e["verb"] != "watch"]
        patches = [e for e in writes if e["verb"] == "patch"]
        assert len({e["objectRef"]["name"] for e in patches}) == self.nodes
        self.figures.update(
            writes=len(writes), requests=len(asked),
            node_patches=len(patches),
            node_gets=sum(e["verb"] == "get" and e["objectRef"]["resource"] == "nodes"
                          for e in asked),
            total_s=max(moment(e["stageTimestamp"]) for e in patches) - began)

    def converged(self):
        """Asks seldom, and for one object as long as that tells: the API server has
        no more cores than those that it shares with us."""
        time.sleep(0.5)
        item = self.cluster.api.get(f"{harness.GROUP}/sgpuinventories/demo")
        return harness.all_true(item, 4) and self.cluster.converged()

    def churn(self):
        """Heartbeats of kubelets."""
        count = CHURN * CHURN_SECONDS
        before = cpu(self.pids())
        began = time.monotonic()

        def beat(i):
            time.sleep(max(0, began + i / CHURN - time.monotonic()))
            self.client.ask("PATCH", f"/api/v1/nodes/sim-{i % self.nodes:06d}/status", {
                "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime":
                                           time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                                         time.gmtime())}]}}, STRATEGIC)

        self.each(8, range(count), beat)
        time.sleep(1)
        self.figures.update(churn_events=count, churn_cpu_s=cpu(self.pids()) - before)

    def is_back(self, name, generation):
        """A later process of that worker does its work, and nothing is missing."""
        if name == "informer":
            listed = self.plane.lines(msg="resource listed", worker=name)
            return len({line["resource"] for line in listed
                        if line["generation"] > generation}) == 4 and self.plane.ready()
        try:
            page = self.plane.metrics()
        except (OSError, AssertionError):
            return False
        return (page.get(f'mokka_worker_generation{{worker="{name}"}}', 0) > generation
                and page.get("mokka_converged") == 1 and self.plane.ready())

    def deaths(self):
        """KILL until it is back."""
        for name in ("placer", "projector", "informer"):
            mark = self.cluster.mark()
            generation, killed = self.plane.kill(name)
            # Before that the page of metrics would wait a second for it.
            self.plane.wait_back(name, generation)
            wait_for(f"{name} to be back", 60,
                     lambda n=name, g=generation: self.is_back(n, g))
            self.figures[f"{name}_back_s"] = time.monotonic() - killed
            time.sleep(1)
            self.figures[f"{name}_lists"] = len(self.cluster.lists(mark))

    def second_pass(self):
        self.stop()
        mark = self.cluster.mark()
        self.figures["restart_ready_s"] = self.start()
        time.sleep(5)
        self.figures["second_pass_writes"] = len(self.cluster.writes(mark))
        self.stop()

    def raw(self):
        """As many patches of that size, by curl, nothing else running."""
        folder = self.cluster.directory
        pki = self.cluster.state / "pki"
        lines = []
        for i in range(self.nodes):
            name = f"sim-{i:06d}"
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": name, "labels": {harness.ASSIGNED: "true", harness.CLIQUE: "raw"},
                "annotations": {harness.ASSIGNMENT: "raw" * 180}}}
            path = folder / f"{name}.json"
            path.write_text(json.dumps(body))
            lines.append("\n".join((
                f'url = "https://127.0.0.1:{self.cluster.api.port}/api/v1/nodes/{name}'
                '?fieldManager=mokka-controller&force=true"',
                'request = "PATCH"', f'data-binary = "@{path}"',
                'header = "Content-Type: application/apply-patch+yaml"',
                'header = "Accept: application/json;as=PartialObjectMetadata;'
                'g=meta.k8s.io;v=v1"', 'output = "/dev/null"', "http1.1", "silent",
                f'cacert = "{pki}/ca.crt"', f'cert = "{pki}/admin.crt"',
                f'key = "{pki}/admin.key"', "fail")))
        (folder / "raw.conf").write_text("\nnext\n".join(lines) + "\n")
        began = time.monotonic()
        subprocess.run(["curl", "--parallel", "--parallel-max", str(IN_FLIGHT),
                        "--config", str(folder / "raw.conf")], check=True,
                       stderr=subprocess.DEVNULL)
        self.figures["raw_s"] = time.monotonic() - began

    def run(self):
        self.cluster.install()
        for part in (self.empty, self.populate, self.cold, self.converge, self.churn,
                     self.deaths, self.second_pass, self.raw):
            began = time.monotonic()
            part()
            print(f"# {part.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr,
                  flush=True)
        return self.figures


def measure(nodes):
    subject = Subject(nodes)
    try:
        return subject.run()
    finally:
        subject.close()


if __name__ == "__main__":
    print(" ".join(f"{k}={v:.6g}" for k, v in measure(int(sys.argv[1])).items()))
