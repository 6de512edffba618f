# SPDX-License-Identifier: Apache-2.0
"""A small API server in this process, which can be told to misbehave.

It keeps the objects of a few resources, lists and watches them (Nodes as
metadata in protobuf), takes creates, updates, deletes and applies, counts
versions as the real one does, and notes each request.  It speaks plain HTTP;
TLS is not what it is for.

    api = Api()
    api.put("nodes", node("a"))
    api.answer("GET /api/v1/nodes", status(429, retry_after=1), times=2)

From then on the first two requests that begin so are refused.  Other replies:
cut, stall, late, raw, changed, reset, pieces, compressed.  A watch that is open is cut, fed with
bytes, expired, made deaf or sent a bookmark by cut_watches, say, expire, deafen
and bookmark; api.lag["nodes"] = 0.5 makes those of a resource late.

Lists come whole, whatever limit says, and streaming lists are refused (such a
request is not noted), as by a server that does not know them; Api(pages=True)
and Api(streaming=True) offer them.  Questions of what is allowed are answered
with yes, but for what stands in denied, and are noted in asked_access alone.
"""

import collections
import ctypes
import itertools
import json
import re
import select
import socket
import struct
import threading
import time
import urllib.parse
import uuid
import zlib

import owners
from acceptor import Acceptor

GROUP = "mokka.nvidia.com/v1alpha1"
MANAGER = "mokka-controller"
PROTOBUF = "application/vnd.kubernetes.protobuf"
KINDS = {
    "sgpurackprofiles": (GROUP, "SGPURackProfile"),
    "sgpuinventories": (GROUP, "SGPUInventory"),
    "sgpuracks": (GROUP, "SGPURack"),
    "leases": ("coordination.k8s.io/v1", "Lease"),
    "nodes": ("v1", "Node"),
    "events": ("v1", "Event"),
}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PATH = re.compile(r"/apis?/(?:[\w.]+/)?v1(?:alpha1)?/(?:namespaces/[\w.-]+/)?"
                  r"(\w+)(?:/([\w.-]+))?(?:/(status))?$")


# --- protobuf ---

def varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A field of a message: text, bytes or a number; nothing for None."""
    if value is None:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def pairs(number, items):
    return b"".join(field(number, field(1, key) + field(2, value))
                    for key, value in (items or {}).items())


def moment(text):
    if text is None:
        return None
    return field(1, int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))))


def object_meta(meta):
    return (field(1, meta["name"]) + field(5, meta.get("uid"))
            + field(6, meta.get("resourceVersion"))
            + field(7, meta.get("generation"))
            + field(8, moment(meta.get("creationTimestamp")))
            + field(9, moment(meta.get("deletionTimestamp")))
            + pairs(11, meta.get("labels")) + pairs(12, meta.get("annotations"))
            + b"".join(field(17, managed(m)) for m in meta.get("managedFields", [])))


def managed(entry):
    return (field(1, entry["manager"]) + field(2, entry["operation"])
            + field(3, entry["apiVersion"]) + field(6, "FieldsV1")
            + field(7, field(1, json.dumps(entry["fieldsV1"])))
            + field(8, entry.get("subresource")))


def envelope(version, kind, message):
    return b"k8s\0" + field(1, field(1, version) + field(2, kind)) + field(2, message)


def metadata(item):
    """An object as PartialObjectMetadata."""
    return envelope("meta.k8s.io/v1", "PartialObjectMetadata",
                    field(1, object_meta(item["metadata"])))


def metadata_list(items, version, more=None):
    return envelope(
        "meta.k8s.io/v1", "PartialObjectMetadataList",
        field(1, field(2, version) + field(3, more))
        + b"".join(field(2, field(1, object_meta(i["metadata"]))) for i in items))


def metadata_event(kind, item):
    if kind == "ERROR":
        content = envelope("v1", "Status", field(2, item["status"])
                           + field(3, item["message"]) + field(4, item["reason"])
                           + field(6, item["code"]))
    else:
        content = metadata(item)
    event = field(1, kind) + field(2, field(1, content))
    return struct.pack(">I", len(event)) + event


# --- objects ---

def node(name, **labels):
    return {"metadata": {"name": name, "labels": {
        "mokka.nvidia.com/sgpu-node": "true", "mokka.nvidia.com/pool": "demo",
        **labels}}}


def failure(code, reason, message="as asked for", **details):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure",
            "message": message, "reason": reason, "code": code, **details}


class Refusal(Exception):
    def __init__(self, code, reason, message="no", **details):
        super().__init__(message)
        self.code = code
        self.body = failure(code, reason, message, **details)


# --- replies ---

def status(code, reason="Asked", message="as asked for", retry_after=None, **details):
    """Refuses with a Status."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def reply(exchange):
        exchange.send(code, json.dumps(failure(code, reason, message, **details)),
                      headers=headers)
    return reply


def cut(count=20):
    """So many bytes of the right answer, then the end of the connection; 0:
    carried out, but not answered."""
    def reply(exchange):
        exchange.limit = count
        exchange.serve()
        exchange.close()
    return reply


def stall(exchange):
    """No answer, for as long as the client waits."""
    exchange.wait_closed()
    exchange.close()


def late(seconds):
    """The right answer, when that time is over."""
    def reply(exchange):
        time.sleep(seconds)
        exchange.serve()
    return reply


def raw(data):
    """These bytes, be they HTTP or not, then the end of the connection."""
    def reply(exchange):
        exchange.connection.sendall(data)
        exchange.close()
    return reply


def changed(function):
    """The right answer with its body changed."""
    def reply(exchange):
        exchange.change = function
        exchange.serve()
    return reply


def reset(exchange):
    """Takes the request, then resets the connection instead of an answer."""
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
    exchange.close()


def pieces(size=1):
    """The right answer, a few bytes at a time; a stream in chunks of so many."""
    def reply(exchange):
        exchange.piece = size
        exchange.serve()
    return reply


def compressed(exchange):
    """The right answer, compressed though nobody asked for it."""
    exchange.packer = zlib.compressobj(wbits=31)
    exchange.serve()


class Exchange:
    """A request and what becomes of it."""

    def __init__(self, api, connection, method, target, headers, body):
        self.api = api
        self.connection = connection
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        parts = urllib.parse.urlsplit(target)
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        self.open = True
        self.limit = None
        self.piece = None
        self.packer = None
        self.change = None
        self.status = None
        self.time = time.monotonic()

    def __repr__(self):
        return f"{self.method} {self.target} -> {self.status}"

    def json(self):
        return json.loads(self.body)

    def send(self, code, body, kind="application/json", headers=None):
        if isinstance(body, str):
            body = body.encode()
        if self.change is not None:
            body = self.change(body)
        self.status = code
        body = self.packed(body)
        head = [f"HTTP/1.1 {code} Whatever", f"Content-Length: {len(body)}",
                f"Content-Type: {kind}", *self.encoding(),
                *(f"{key}: {value}" for key, value in (headers or {}).items())]
        data = "\r\n".join(head + ["", ""]).encode() + body
        for part in self.parts(data if self.limit is None else data[:self.limit]):
            self.connection.sendall(part)

    def parts(self, data):
        size = self.piece or len(data) or 1
        return [data[at:at + size] for at in range(0, len(data), size)]

    def encoding(self):
        return [] if self.packer is None else ["Content-Encoding: gzip"]

    def packed(self, data):
        if self.packer is None:
            return data
        return self.packer.compress(data) + self.packer.flush(zlib.Z_SYNC_FLUSH)

    def begin_stream(self, kind):
        self.status = 200
        head = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked",
                f"Content-Type: {kind}", *self.encoding(), "", ""]
        self.connection.sendall("\r\n".join(head).encode())

    def send_chunk(self, data):
        for part in self.parts(self.packed(data)):
            self.connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))

    def deafen(self):
        """From now on nothing that the client sends is taken, not even by the
        kernel: as behind a firewall that forgot the connection."""
        nothing = (ctypes.c_char * 8).from_buffer_copy(struct.pack("HBBI", 0x06, 0, 0, 0))
        program = struct.pack("HxxxxxxP", 1, ctypes.addressof(nothing))
        SO_ATTACH_FILTER = 26
        self.connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    def wait_closed(self, seconds=60):
        select.select([self.connection], [], [], seconds)

    def close(self):
        self.open = False

    def serve(self):
        try:
            self.api.route(self)
        except Refusal as refusal:
            self.send(refusal.code, json.dumps(refusal.body))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.send(422, json.dumps(failure(422, "Invalid", repr(error))))


class Api:
    def __init__(self, streaming=False, pages=False):
        self.streaming = streaming
        self.pages = pages
        self.denied = set()  # "update sgpuracks/status"
        self.asked_access = []
        self.lock = threading.Condition(threading.RLock())
        self.version = itertools.count(100)
        self.objects = {plural: {} for plural in KINDS}
        self.history = {plural: [] for plural in KINDS}  # (version, type, object)
        self.moments = {}  # when a version of the history came about
        self.lag = collections.defaultdict(float)  # seconds until watches tell
        self.expired = collections.Counter()  # histories begin after this version
        self.watches = {plural: [] for plural in KINDS}
        self.script = []
        self.requests = []
        self.connections = set()
        self.acceptor = Acceptor(self.attend)
        self.port = self.acceptor.port

    def kubeconfig(self, path):
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {
                "server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "fake", "user": {"token": "fake"}}],
            "contexts": [{"name": "fake", "context": {
                "cluster": "fake", "user": "fake"}}]}))
        return str(path)

    def close(self):
        self.acceptor.close()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.lock.notify_all()

    # What a test says and asks

    def answer(self, begins, reply, times=1 << 30):
        """Requests that begin so ("GET /api/v1/nodes") get this reply; what was
        said last counts first."""
        with self.lock:
            self.script.insert(0, [begins, reply, times])

    def behave(self):
        """From now on it does as it should."""
        with self.lock:
            self.script.clear()

    def put(self, plural, item):
        """Creates or replaces an object, as somebody else."""
        with self.lock:
            name = item["metadata"]["name"]
            old = self.objects[plural].get(name)
            return self.store(plural, item, old)

    def remove(self, plural, name):
        with self.lock:
            item = self.objects[plural].pop(name)
            self.record(plural, "DELETED", item)

    def get(self, plural, name):
        with self.lock:
            return self.objects[plural].get(name)

    def asked(self, begins):
        """The requests that begin so."""
        with self.lock:
            return [r for r in self.requests
                    if f"{r.method} {r.target}".startswith(begins)]

    def cut_watches(self, plural):
        with self.lock:
            for exchange in self.watches[plural]:
                exchange.connection.shutdown(socket.SHUT_RDWR)

    def deafen(self, plural):
        with self.lock:
            for exchange in self.watches[plural]:
                exchange.deafen()

    def bookmark(self, plural):
        """Says to the open watches of a resource where it stands."""
        with self.lock:
            for exchange in self.watches[plural]:
                exchange.send_chunk(self.event(plural, "BOOKMARK", self.mark(plural)))

    def say(self, plural, data):
        """Sends bytes into the open watches of a resource."""
        with self.lock:
            for exchange in self.watches[plural]:
                exchange.send_chunk(data)

    def expire(self, plural):
        """Forgets what happened up to now, and ends the watches with a 410."""
        with self.lock:
            self.expired[plural] = next(self.version)
            self.history[plural].clear()
            gone = failure(410, "Expired", "too old resource version")
            for exchange in self.watches[plural]:
                exchange.send_chunk(self.event(plural, "ERROR", gone))

    # Connections

    def attend(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.connections.add(connection)
        stream = connection.makefile("rb")
        try:
            while True:
                exchange = self.read(connection, stream)
                if exchange is None:
                    break
                self.reply_to(exchange)(exchange)
                if not exchange.open:
                    break
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.connections.discard(connection)
            stream.close()
            connection.close()

    def read(self, connection, stream):
        line = stream.readline()
        if not line:
            return None
        method, target, _ = line.decode("latin-1").split(" ", 2)
        headers = {}
        while (line := stream.readline().decode("latin-1").strip()):
            key, _, value = line.partition(":")
            headers[key.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", "0")))
        exchange = Exchange(self, connection, method, target, headers, body)
        with self.lock:
            if self.aside(exchange) is None:
                self.requests.append(exchange)
        return exchange

    def aside(self, exchange):
        """The reply to requests that are not noted, nor subject to the script."""
        if exchange.path == REVIEWS:
            return self.review
        if "sendInitialEvents" in exchange.query and not self.streaming:
            return status(422, "Invalid", "sendInitialEvents: Forbidden")
        return None

    def review(self, exchange):
        asked = exchange.json()["spec"]["resourceAttributes"]
        text = f"{asked['verb']} {asked['resource']}"
        if "subresource" in asked:
            text += "/" + asked["subresource"]
        with self.lock:
            self.asked_access.append(text)
            allowed = text not in self.denied
        exchange.send(201, json.dumps({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "status": {"allowed": allowed}}))

    def reply_to(self, exchange):
        with self.lock:
            aside = self.aside(exchange)
            if aside is not None:
                return aside
            for row in self.script:
                begins, reply, _ = row
                if not f"{exchange.method} {exchange.target}".startswith(begins):
                    continue
                row[2] -= 1
                if row[2] == 0:
                    self.script.remove(row)
                return reply
        return Exchange.serve

    # The objects

    def record(self, plural, kind, item):
        version = int(item["metadata"]["resourceVersion"])
        if kind == "DELETED":
            version = next(self.version)
            item = {**item, "metadata": {**item["metadata"],
                                         "resourceVersion": str(version)}}
        self.history[plural].append((version, kind, item))
        self.moments[version] = time.monotonic()
        self.lock.notify_all()

    def store(self, plural, item, old):
        version, kind = KINDS[plural]
        meta = dict(item["metadata"])
        before = old["metadata"] if old else {}
        meta["uid"] = before.get("uid") or str(uuid.uuid4())
        meta["creationTimestamp"] = (before.get("creationTimestamp")
                                     or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        meta["generation"] = before.get("generation", 0) + (
            not old or old.get("spec") != item.get("spec"))
        meta["resourceVersion"] = str(next(self.version))
        item = {"apiVersion": version, "kind": kind, **item, "metadata": meta}
        self.objects[plural][meta["name"]] = item
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            self.remove(plural, meta["name"])
        else:
            self.record(plural, "MODIFIED" if old else "ADDED", item)
        return item

    def route(self, exchange):
        match = PATH.match(exchange.path)
        if match is None or match.group(1) not in KINDS:
            raise Refusal(404, "NotFound")
        plural, name, part = match.groups()
        if exchange.method == "GET" and name is None:
            if "watch" in exchange.query:
                self.watch(exchange, plural)
            else:
                self.list(exchange, plural)
            return
        verb = {"GET": self.read_one, "POST": self.create, "PUT": self.update,
                "PATCH": self.apply, "DELETE": self.delete}[exchange.method]
        with self.lock:
            code, item = verb(exchange, plural, name, part)
            if plural == "nodes":
                body, kind = metadata(item), PROTOBUF
            else:
                body, kind = json.dumps(item), "application/json"
        exchange.send(code, body, kind)

    def need(self, plural, name):
        item = self.objects[plural].get(name)
        if item is None:
            raise Refusal(404, "NotFound", f'{plural} "{name}" not found')
        return item

    def page(self, exchange, plural):
        """The items asked for, the version of the list, the continue token."""
        items = list(self.objects[plural].values())
        version, begin = str(next(self.version)), 0
        if not self.pages or "limit" not in exchange.query:
            return items, version, None
        if "continue" in exchange.query:
            version, begin = exchange.query["continue"].split(".")
        end = int(begin) + int(exchange.query["limit"])
        return (items[int(begin):end], version,
                f"{version}.{end}" if end < len(items) else None)

    def list(self, exchange, plural):
        with self.lock:
            items, version, more = self.page(exchange, plural)
        if plural == "nodes":
            exchange.send(200, metadata_list(items, version, more), PROTOBUF)
            return
        group, kind = KINDS[plural]
        exchange.send(200, json.dumps({
            "kind": kind + "List", "apiVersion": group,
            "metadata": {"resourceVersion": version, **({"continue": more} if more else {})},
            "items": items}))

    def event(self, plural, kind, item):
        if plural == "nodes":
            return metadata_event(kind, item)
        return json.dumps({"type": kind, "object": item}).encode() + b"\n"

    def mark(self, plural, **annotations):
        """The object of a bookmark."""
        version, kind = KINDS[plural]
        return {"apiVersion": version, "kind": kind, "metadata": {
            "name": "", "resourceVersion": str(next(self.version)),
            "annotations": annotations}}

    def initial_events(self, exchange, plural):
        """Every object, and the bookmark that says so; returns its version."""
        for item in self.objects[plural].values():
            exchange.send_chunk(self.event(plural, "ADDED", item))
        end = self.mark(plural, **{"k8s.io/initial-events-end": "true"})
        exchange.send_chunk(self.event(plural, "BOOKMARK", end))
        return int(end["metadata"]["resourceVersion"])

    def watch(self, exchange, plural):
        seen = int(exchange.query.get("resourceVersion", 0))
        with self.lock:
            if "sendInitialEvents" not in exchange.query and seen < self.expired[plural]:
                raise Refusal(410, "Expired", "too old resource version")
            exchange.begin_stream(PROTOBUF if plural == "nodes" else "application/json")
            if "sendInitialEvents" in exchange.query:
                seen = self.initial_events(exchange, plural)
            self.watches[plural].append(exchange)
        try:
            self.follow(exchange, plural, seen)
        finally:
            exchange.close()
            with self.lock:
                self.watches[plural].remove(exchange)

    def follow(self, exchange, plural, seen):
        while not select.select([exchange.connection], [], [], 0)[0]:
            with self.lock:
                told = time.monotonic() - self.lag[plural]
                news = [e for e in self.history[plural]
                        if e[0] > seen and self.moments[e[0]] <= told]
                for version, kind, item in news:
                    exchange.send_chunk(self.event(plural, kind, item))
                    seen = version
                self.lock.wait(0.1)

    def read_one(self, exchange, plural, name, part):
        return 200, self.need(plural, name)

    def create(self, exchange, plural, name, part):
        item = exchange.json()
        name = item["metadata"]["name"]
        if name in self.objects[plural]:
            raise Refusal(409, "AlreadyExists", f'{plural} "{name}" already exists')
        self.own(exchange, item)
        return 201, self.store(plural, item, None)

    @staticmethod
    def own(exchange, item):
        """Notes the writer as the owner of the spec, as far as anybody asks."""
        if "fieldManager" in exchange.query:
            item["metadata"]["managedFields"] = [{
                "manager": exchange.query["fieldManager"], "operation": "Update",
                "apiVersion": item["apiVersion"], "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {}}}]

    def update(self, exchange, plural, name, part):
        item = exchange.json()
        old = self.need(plural, name)
        for key in ("uid", "resourceVersion"):
            if item["metadata"].get(key, old["metadata"][key]) != old["metadata"][key]:
                raise Refusal(409, "Conflict", f"{key} is another")
        if part == "status":
            item = {**old, "status": item.get("status")}
        else:
            item = {**item, "status": old.get("status")}
            item["metadata"].setdefault("managedFields",
                                        old["metadata"].get("managedFields", []))
            self.own(exchange, item)
        if {**item, "metadata": {**old["metadata"], **item["metadata"]}} == old:
            return 200, old
        return 200, self.store(plural, item, old)

    def delete(self, exchange, plural, name, part):
        item = self.need(plural, name)
        if item["metadata"].get("finalizers"):
            meta = {**item["metadata"], "deletionTimestamp": time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            return 200, self.store(plural, {**item, "metadata": meta}, item)
        self.remove(plural, name)
        return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def merge(self, exchange, plural, name):
        """A merge patch of plain members."""
        old = self.need(plural, name)
        return 200, self.store(plural, {**old, **exchange.json()}, old)

    def apply(self, exchange, plural, name, part):
        """Server-side apply of labels and annotations."""
        if exchange.headers["content-type"] == "application/merge-patch+json":
            return self.merge(exchange, plural, name)
        wanted = exchange.json()["metadata"]
        old = self.objects[plural].get(name)
        if old is None:
            raise Refusal(409, "Conflict", "uid mismatch: the object is gone")
        if wanted.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise Refusal(422, "Invalid", "uid is another", details={
                "causes": [{"field": "metadata.uid", "reason": "FieldValueInvalid"}]})
        manager = exchange.query["fieldManager"]
        causes = owners.conflicts(old["metadata"], manager, wanted)
        if causes and exchange.query.get("force") != "true":
            raise Refusal(409, "Conflict", "Apply failed", details={"causes": causes})
        meta = owners.applied(old["metadata"], manager, wanted)
        if meta == old["metadata"]:
            return 200, old
        return 200, self.store(plural, {**old, "metadata": meta}, old)

    def edit(self, name, manager, labels=None, annotations=None):
        """A Node as somebody else leaves it: these values, None takes one off."""
        with self.lock:
            old = self.need("nodes", name)
            meta = owners.edited(old["metadata"], manager, {
                "labels": labels or {}, "annotations": annotations or {}})
            return self.store("nodes", {**old, "metadata": meta}, old)

    def share(self, name, manager, *keys):
        """Somebody applied, to a Node, the values that keys (("labels", key),
        ...) have already."""
        with self.lock:
            old = self.need("nodes", name)
            meta = owners.shared(old["metadata"], manager, set(keys))
            return self.store("nodes", {**old, "metadata": meta}, old)
