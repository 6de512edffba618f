# SPDX-License-Identifier: Apache-2.0
"""Several instances of ours on one API server, each with an identity of its own
to the server, so that its audit log tells whose write was when; and what makes
work for them, and trouble."""

import collections
import contextlib
import datetime
import json
import os
import pathlib
import random
import select
import signal
import socket
import sys
import threading
import time
import unittest

import harness
from harness import GROUP, LEASE, NAMESPACE, WRITES, ControlPlane, Refused, wait_for

sys.path.append(str(harness.ROOT / "tests" / "bench"))
import estate  # noqa: E402

A, B, C = "replica-a", "replica-b", "replica-c"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODES = "/api/v1/nodes"
# Lease times for tests; a record holds whole seconds.
LEASE_SECONDS = 3
QUICK = ("--leader-election-lease-duration", f"{LEASE_SECONDS}s",
         "--leader-election-renew-deadline", "2s",
         "--leader-election-retry-period", "400ms")


def admit(cluster, *users, watch=True):
    """What deploy/local/rbac.yaml grants, for other users; without watch only
    what the Lease cannot do without."""
    role = "mokka-control-plane"
    if not watch:
        role = "poll-the-lease"
        make(cluster, f"{RBAC}/namespaces/{NAMESPACE}/roles", {
            "metadata": {"name": role}, "rules": [{
                "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                "verbs": ["get", "create", "update"]}]})
    for user in users:
        subject = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
        make(cluster, f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": user}, "subjects": subject,
            "roleRef": {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io",
                        "name": "control-plane.mokka.nvidia.com"}})
        make(cluster, f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", {
            "metadata": {"name": user}, "subjects": subject,
            "roleRef": {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io",
                        "name": role}})


def make(cluster, path, body):
    try:
        cluster.api.create(path, body)
    except Refused as refused:
        if refused.status != 409:
            raise


def declare(cluster, nodes):
    """An inventory for so many Nodes, in racks of 100."""
    for item, plural in zip(estate.declarations(nodes),
                            ("sgpurackprofiles", "sgpuinventories")):
        cluster.api.create(f"{GROUP}/{plural}", item)


def holder(cluster):
    """The identity in the Lease; "" if nobody holds it."""
    try:
        return cluster.api.get(LEASE)["spec"]["holderIdentity"]
    except Refused:
        return ""


class Replica(ControlPlane):
    """One instance, as a user of its own."""

    def __init__(self, cluster, user, *arguments, kubeconfig=None, times=QUICK, **options):
        self.user = user
        super().__init__(
            cluster, *times, *arguments, name=user,
            kubeconfig=kubeconfig or cluster.run(harness.LOCAL / "user", cluster.state, user),
            **options)

    def identity(self):
        lines = self.lines(msg="joining the election")
        return lines[-1]["identity"] if lines else None

    def leads(self):
        identity = self.identity()
        return identity is not None and holder(self.cluster) == identity

    def wait_leading(self, seconds=30):
        try:
            wait_for(f"{self.user} to lead", seconds, self.leads)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from error

    def readiness(self):
        """(status, body) of /readyz; (0, {}) if nobody answers."""
        try:
            return self.http("/readyz")
        except OSError:
            return 0, {}

    def wait_reason(self, wanted, seconds=20, status=503):
        """Until /readyz says so; returns its body."""
        def says():
            code, body = self.readiness()
            return code == status and wanted in json.dumps(body) and body
        try:
            return wait_for(f"/readyz to say {wanted!r}", seconds, says)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from error

    def tree(self):
        """The pids of the supervisor and its workers."""
        path = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children")
        try:
            return [self.pid, *map(int, path.read_text().split())]
        except OSError:
            return [self.pid]

    def signal_tree(self, number):
        for pid in self.tree():
            send_signal(pid, number)

    def kill_tree(self):
        """All at once, as when the node dies; returns the moment."""
        moment = time.time()
        self.signal_tree(signal.SIGKILL)
        self.process.wait()
        return moment

    def end(self):
        """Whatever state it is in."""
        if self.process.poll() is None:
            self.signal_tree(signal.SIGCONT)
            self.kill_tree()

    def check_started_once(self, test):
        for name in harness.WORKERS:
            test.assertEqual(len(self.lines(msg="worker running", worker=name)), 1,
                             self.tail())


def send_signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


# The witness

def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


Write = collections.namedtuple("Write", "user begin end verb resource name code at")


class Audit:
    """The mutating requests in an audit log, each line read once; at is where it
    stands there."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.writes = []

    def read(self):
        with open(self.path, "rb") as log:
            log.seek(self.offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self.take(line)
                self.offset += len(line)
        return self.writes

    def take(self, line):
        event = json.loads(line)
        if event["verb"] not in WRITES or event["stage"] not in ("ResponseComplete", "Panic"):
            return
        ref = event["objectRef"]
        if ref["resource"] == harness.REVIEWS:
            return  # a question
        self.writes.append(Write(
            event["user"]["username"], moment(event["requestReceivedTimestamp"]),
            moment(event["stageTimestamp"]), event["verb"],
            ref["resource"] + "/" + ref.get("subresource", ""),
            ref.get("name") or harness.name_in_uri(event),
            event["responseStatus"]["code"], self.offset))


def mutations(cluster, users, since=0, leases=False):
    """Mutating requests of these users in the order they came, whatever their
    answer, those for Leases apart.  Events are no writes of a term: whoever is
    not leader sends them, too."""
    if not hasattr(cluster, "mutating"):
        cluster.mutating = Audit(cluster.state / "audit.log")
    return sorted((w for w in cluster.mutating.read()
                   if w.user in users and w.at >= since
                   and w.resource != "events/"
                   and (w.resource == "leases/") == leases), key=lambda w: w.begin)


def overlaps(writes):
    """Pairs of writes of two users of which one began before the other ended."""
    found, last, latest = [], None, {}
    for write in writes:
        for user, other in latest.items():
            if user != write.user and write.begin < other.end:
                found.append((other, write))
        last = latest.get(write.user)
        if last is None or write.end > last.end:
            latest[write.user] = write
    return found


def gaps(writes):
    """Seconds between a write and the next one, each time it is another's."""
    return [b.begin - a.end for a, b in zip(writes, writes[1:]) if a.user != b.user]


class Witness:
    """Watches Nodes and racks: which Node was changed how often, and how often
    each was put into a slot.  Both have to be once."""

    def __init__(self, cluster):
        self.changes = collections.Counter()  # by name: names are used once
        self.bound = collections.Counter()  # by Node uid
        self.slots = {}
        self.wrong = []
        self.connections = []
        for path, take in ((NODES, self.take_node), (f"{GROUP}/sgpuracks", self.take_rack)):
            threading.Thread(target=self.follow, args=(self.open(cluster.api, path), take),
                             daemon=True).start()

    def open(self, api, path):
        version = api.get(path)["metadata"]["resourceVersion"]
        connection = api.connect(timeout=None)
        self.connections.append(connection)
        connection.request("GET", f"{path}?watch=1&resourceVersion={version}"
                                  "&timeoutSeconds=3600")
        return connection.getresponse()

    def follow(self, stream, take):
        try:
            for line in stream:
                event = json.loads(line)
                take(event["type"], event["object"])
        except (OSError, ValueError, AttributeError, KeyError) as error:
            self.wrong.append(repr(error))

    def close(self):
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def take_node(self, kind, node):
        if kind == "MODIFIED":
            self.changes[node["metadata"]["name"]] += 1

    def take_rack(self, kind, rack):
        name = rack["metadata"]["name"]
        before = self.slots.get(name, {})
        now = {} if kind == "DELETED" else {
            slot["index"]: slot["nodeRef"]["uid"]
            for slot in rack["spec"]["nodes"] if "nodeRef" in slot}
        for index, uid in now.items():
            if before.get(index) != uid:
                self.bound[uid] += 1
        self.slots[name] = now

    def twice(self):
        """What was done more than once."""
        return ([f"Node {n} changed {c} times" for n, c in self.changes.items() if c > 1]
                + [f"Node {u} bound {c} times" for u, c in self.bound.items() if c > 1])


# Work, and trouble

class Load(threading.Thread):
    """Creates Nodes, some of which leave again, until it is told to stop."""

    def __init__(self, cluster, pause=0.02, leaving=0.0, limit=None, seed=0, prefix="load"):
        super().__init__(daemon=True)
        self.api = cluster.api
        self.pause = pause
        self.leaving = leaving
        self.limit = limit
        self.dice = random.Random(seed)
        self.prefix = prefix
        self.present, self.count = [], 0
        self.enough = threading.Event()
        self.error = None
        self.start()

    def run(self):
        try:
            with contextlib.closing(self.api.connect()) as connection:
                while not self.enough.is_set():
                    self.step(connection)
                    time.sleep(self.pause)
        except Exception as error:  # told by stop()
            self.error = error

    def step(self, connection):
        full = self.limit is not None and len(self.present) >= self.limit
        if self.present and (full or self.dice.random() < self.leaving):
            name = self.present.pop(self.dice.randrange(len(self.present)))
            self.ask(connection, "DELETE", f"{NODES}/{name}", None)
            return
        name = f"{self.prefix}-{self.count:06d}"
        self.count += 1
        self.ask(connection, "POST", NODES, {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
                estate.ELIGIBLE: "true", "pool": "large"}}})
        self.present.append(name)

    @staticmethod
    def ask(connection, method, path, body):
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        if response.status >= 300:
            raise Refused(response.status, text)

    def stop(self):
        self.enough.set()
        self.join()
        if self.error is not None:
            raise self.error


def create_nodes(cluster, count, prefix="sim", threads=4):
    """Many Nodes for declare(), quickly."""
    def some(first):
        with contextlib.closing(cluster.api.connect()) as connection:
            for i in range(first, count, threads):
                item = estate.node(i)
                item["metadata"]["name"] = f"{prefix}-{i:06d}"
                Load.ask(connection, "POST", NODES, item)
    workers = [threading.Thread(target=some, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


class Probe(threading.Thread):
    """Asks /readyz of some replicas again and again."""

    def __init__(self, *replicas, pause=0.02):
        super().__init__(daemon=True)
        self.replicas = list(replicas)
        self.pause = pause
        self.seen = []  # one {user: status} each time
        self.bodies = []
        self.enough = threading.Event()
        self.start()

    def run(self):
        while not self.enough.is_set():
            answers = {r.user: r.readiness() for r in list(self.replicas)}
            self.seen.append({user: status for user, (status, _) in answers.items()})
            self.bodies.extend(body for status, body in answers.values() if status != 200)
            time.sleep(self.pause)

    def stop(self):
        self.enough.set()
        self.join()
        return self.seen


class Forwarder:
    """A way to the API server that can be cut, for one replica."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.target = ("127.0.0.1", cluster.api.port)
        self.pairs = []
        self.listener = None
        with socket.create_server(("127.0.0.1", 0)) as first:
            self.port = first.getsockname()[1]
        self.open()

    def kubeconfig(self, user):
        path = pathlib.Path(self.cluster.run(harness.LOCAL / "user", self.cluster.state, user))
        changed = path.with_name(f"{user}-{self.port}.kubeconfig")
        changed.write_text(path.read_text().replace(f":{self.cluster.api.port}",
                                                    f":{self.port}"))
        return str(changed)

    def open(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self.target)
            except OSError:
                return
            self.pairs.append((near, far))
            threading.Thread(target=self.pump, args=(near, far), daemon=True).start()

    @staticmethod
    def pump(near, far):
        try:
            while True:
                for end in select.select([near, far], [], [])[0]:
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    (far if end is near else near).sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            near.close()
            far.close()

    def cut(self):
        """Nobody listens there, and what was open is gone."""
        listener, self.listener = self.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []

    def close(self):
        if self.listener is not None:
            self.cut()


class ReplicaTest(unittest.TestCase):
    """Users A, B and C may be replicas; C may not watch the Lease."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.install()
        admit(cls.cluster, A, B)
        admit(cls.cluster, C, watch=False)

    def setUp(self):
        self.cluster.reset()
        self.mark = self.cluster.mark()

    def replica(self, user, *arguments, **options):
        replica = Replica(self.cluster, user, *arguments, **options)
        return harness.look_after(self, replica, replica.end)

    def pair(self, first=A, second=B, **options):
        """A leader and a standby, both ready."""
        leader = self.replica(first, **options)
        leader.wait_ready()
        leader.wait_leading()
        standby = self.replica(second)
        standby.wait_reason(leader.identity(), status=200)
        return leader, standby

    def load(self, **options):
        declare(self.cluster, 1000)
        load = Load(self.cluster, **options)
        self.addCleanup(load.enough.set)
        return load

    def forwarder(self):
        forwarder = Forwarder(self.cluster)
        self.addCleanup(forwarder.close)
        return forwarder

    def spec(self):
        return self.cluster.api.get(LEASE)["spec"]

    def writes(self, *users, leases=False):
        return mutations(self.cluster, users or (A, B), self.mark, leases)

    def wait_writes(self, user, more=1):
        count = len(self.writes(user)) + more
        wait_for(f"writes of {user}", 20, lambda: len(self.writes(user)) >= count)

    def wait_projected(self, load):
        load.stop()
        wait_for("every Node to be projected", 60, lambda: len(
            self.cluster.projected()) == len(load.present) and self.cluster.converged("large"))

    def check_no_overlap(self):
        self.assertEqual(overlaps(self.writes()), [])
