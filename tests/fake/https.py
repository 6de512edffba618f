#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small HTTPS server that behaves as each request asks for.

usage: https.py FOLDER

Makes certificates in FOLDER (with openssl) and listens on free ports of
127.0.0.1; prints "NAME PORT" for each listener, then "ready", and serves until
its standard input ends.

Listeners: good (certificate for localhost, 127.0.0.1 and ::1), six (the same
on ::1), other (its certificate is for other.example), stale (its certificate
has expired), client (wants a client certificate), plain (http), proxy (an
HTTP proxy for CONNECT), dead (a port where nothing listens), mute (accepts,
then says nothing), text (answers whatever comes with a line of text).

Paths:
  /echo               what was received, as JSON
  /status/N           status N with a Status body; ?retry=S, ?text= for a page
  /redirect           302 to /echo
  /large?n=N          N bytes
  /stream?n=N&ms=M    N lines, M ms between them, in chunks
  /bytes?n=N          N bytes, each in a chunk of its own
  /slow?ms=M          answers after M ms
  /cut?n=N            N bytes of a longer answer, then closes
  /cutchunk?n=N       N chunks, then closes without the last one
  /stall?n=N          N chunks, then nothing more
  /drop               reads the request, then closes without a byte
  /dropreused         as /drop if the connection served before, else /echo
  /last               an answer with Connection: close
  /junk               something that is not HTTP
  /reset              reads the request, then resets the connection
  /gzip?n=N           N bytes, compressed without being asked for; ?as=X: said
                      to be in encoding X
  /apis/authorization.k8s.io/v1/selfsubjectaccessreviews
                      whether a verb is allowed: not if FOLDER/denied has a
                      line "VERB RESOURCE", see review()
"""

import gzip
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

connections = 0
lock = threading.Lock()


def openssl(*args):
    subprocess.run(("openssl",) + args, check=True, capture_output=True)


def make_ca(folder, name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "3650", "-subj",
            "/CN=" + name, "-keyout", f"{folder}/{name}.key", "-out",
            f"{folder}/{name}.crt")


def make_cert(folder, ca, name, names, days="3650"):
    extensions = f"{folder}/{name}.ext"
    with open(extensions, "w") as out:
        out.write("basicConstraints=CA:FALSE\n")
        if names:
            out.write(f"subjectAltName={names}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-subj", "/CN=" + name, "-keyout",
            f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr")
    openssl("x509", "-req", "-in", f"{folder}/{name}.csr", "-CA",
            f"{folder}/{ca}.crt", "-CAkey", f"{folder}/{ca}.key",
            "-CAcreateserial", "-days", days, "-extfile", extensions, "-out",
            f"{folder}/{name}.crt")


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target = method, target
        self.headers, self.body = headers, body
        parts = urllib.parse.urlsplit(target)
        self.path = parts.path
        query = urllib.parse.parse_qs(parts.query)
        self.query = {key: values[0] for key, values in query.items()}

    def number(self, key, default):
        return int(self.query.get(key, default))


def read_request(stream):
    line = stream.readline()
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while True:
        line = stream.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            break
        key, _, value = line.partition(":")
        headers[key.strip().lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


def answer(conn, status, body, headers=()):
    head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
    if not any(line.startswith("Content-Type") for line in headers):
        head.append("Content-Type: application/json")
    conn.sendall("\r\n".join(head + list(headers) + ["", ""]).encode() + body)


def start_chunks(conn):
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json;"
                 b"stream=watch\r\nTransfer-Encoding: chunked\r\n\r\n")


def chunk(conn, data):
    conn.sendall(b"%x\r\n%s\r\n" % (len(data), data))


def do_echo(conn, request, served):
    text = {"method": request.method, "target": request.target,
            "headers": request.headers, "body": request.body.decode(),
            "served": served, "connections": connections,
            "cipher": conn.cipher() if hasattr(conn, "cipher") else None,
            "alpn": getattr(conn, "selected_alpn_protocol", lambda: None)()}
    answer(conn, 200, json.dumps(text).encode())
    return True


def do_status(conn, request, served):
    code = int(request.path.split("/")[2])
    headers = []
    if "retry" in request.query:
        headers.append("Retry-After: " + request.query["retry"])
    if "text" in request.query:
        headers.append("Content-Type: text/html")
        body = request.query["text"].encode()
    else:
        body = json.dumps({"kind": "Status", "apiVersion": "v1",
                           "status": "Failure", "message": "as asked for",
                           "reason": "Asked", "code": code}).encode()
    answer(conn, code, body, headers)
    return True


def do_redirect(conn, request, served):
    answer(conn, 302, b"", ["Location: /echo"])
    return True


def do_large(conn, request, served):
    answer(conn, 200, b"x" * request.number("n", 0))
    return True


def do_stream(conn, request, served):
    start_chunks(conn)
    for i in range(request.number("n", 3)):
        chunk(conn, b'{"line":%d}\n' % i)
        time.sleep(request.number("ms", 0) / 1000)
    chunk(conn, b"")
    return True


def do_bytes(conn, request, served):
    start_chunks(conn)
    for _ in range(request.number("n", 10)):
        chunk(conn, b"b")
    chunk(conn, b"")
    return True


def do_slow(conn, request, served):
    time.sleep(request.number("ms", 0) / 1000)
    return do_echo(conn, request, served)


def do_cut(conn, request, served):
    n = request.number("n", 10)
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" %
                 (n + 100, b"c" * n))
    return False


def do_cutchunk(conn, request, served):
    start_chunks(conn)
    for _ in range(request.number("n", 3)):
        chunk(conn, b"chunk\n")
    return False


def do_stall(conn, request, served):
    start_chunks(conn)
    for _ in range(request.number("n", 1)):
        chunk(conn, b"chunk\n")
    time.sleep(60)
    return False


def do_drop(conn, request, served):
    return False


def do_dropreused(conn, request, served):
    return served == 0 and do_echo(conn, request, served)


def do_last(conn, request, served):
    answer(conn, 200, b"{}", ["Connection: close"])
    return False


def do_junk(conn, request, served):
    conn.sendall(b"220 mail.example ESMTP\r\n")
    return False


def do_reset(conn, request, served):
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    os.close(conn.detach())
    return False


def do_gzip(conn, request, served):
    data = gzip.compress(b"z" * request.number("n", 2))
    answer(conn, 200, data,
           ["Content-Encoding: " + request.query.get("as", "gzip")])
    return True


def review(body):
    """The verb and the resource that a question is about, as one line:
    "update sgpuracks.mokka.nvidia.com/status in NAMESPACE named NAME"."""
    asked = json.loads(body)["spec"]["resourceAttributes"]
    text = asked["verb"] + " " + asked["resource"]
    for key, form in (("group", ".{}"), ("subresource", "/{}"),
                      ("namespace", " in {}"), ("name", " named {}")):
        text += form.format(asked[key]) if key in asked else ""
    return text


def do_apis(conn, request, served):
    """FOLDER/denied may also hold one number: the status to answer with."""
    try:
        with open(f"{sys.argv[1]}/denied") as lines:
            denied = lines.read().splitlines()
    except FileNotFoundError:
        denied = []
    if denied and denied[0].isdigit():
        answer(conn, int(denied[0]), b"{}")
        return True
    asked = review(request.body)
    with open(f"{sys.argv[1]}/asked", "a") as out:
        out.write(asked + "\n")
    answer(conn, 201, json.dumps({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "status": {"allowed": asked not in denied}}).encode())
    return True


def pump(source, sink):
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def do_connect(conn, request):
    """Stands between the client and whom it names."""
    host, _, port = request.target.rpartition(":")
    other = socket.create_connection((host.strip("[]"), int(port)))
    conn.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\n")
    threading.Thread(target=pump, args=(other, conn), daemon=True).start()
    pump(conn, other)
    return False


HANDLERS = {name[3:]: value for name, value in list(globals().items())
            if name.startswith("do_") and name != "do_connect"}


def greet(conn):
    """What a server that speaks no TLS says to a client that does."""
    conn.recv(65536)
    conn.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
    conn.close()


def serve(conn, context):
    global connections
    served = 0
    try:
        if context is not None:
            conn = context.wrap_socket(conn, server_side=True)
        with lock:
            connections += 1
        stream = conn.makefile("rb")
        while True:
            request = read_request(stream)
            if request is None:
                break
            if request.method == "CONNECT":
                do_connect(conn, request)
                break
            handler = HANDLERS.get(request.path.split("/")[1], do_echo)
            if not handler(conn, request, served):
                break
            served += 1
    except (OSError, ValueError):
        pass
    finally:
        try:
            conn.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        conn.close()


def accept(listener, handler, args):
    while True:
        conn, _ = listener.accept()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=handler, args=(conn,) + args,
                         daemon=True).start()


def listen(name, context, family=socket.AF_INET, handler=serve):
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    listener.listen(256)
    args = (context,) if handler is serve else ()
    threading.Thread(target=accept, args=(listener, handler, args),
                     daemon=True).start()
    print(name, listener.getsockname()[1])


def tls(folder, name, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.crt", f"{folder}/{name}.key")
    context.set_alpn_protocols(["h2", "http/1.1"])
    if client_ca is not None:
        context.load_verify_locations(f"{folder}/{client_ca}.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def listen_specially():
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))
    print("dead", dead.getsockname()[1])
    mute = socket.socket()
    mute.bind(("127.0.0.1", 0))
    mute.listen(64)
    print("mute", mute.getsockname()[1])
    return dead, mute


def main():
    folder = sys.argv[1]
    make_ca(folder, "ca")
    make_ca(folder, "otherca")
    local = "DNS:localhost,IP:127.0.0.1,IP:::1"
    make_cert(folder, "ca", "good", local)
    make_cert(folder, "ca", "other", "DNS:other.example")
    make_cert(folder, "ca", "stale", local, days="-1")
    make_cert(folder, "ca", "user", None)
    listen("good", tls(folder, "good"))
    listen("six", tls(folder, "good"), socket.AF_INET6)
    listen("other", tls(folder, "other"))
    listen("stale", tls(folder, "stale"))
    listen("client", tls(folder, "good", client_ca="ca"))
    listen("plain", None)
    listen("proxy", None)
    listen("text", None, handler=greet)
    keep = listen_specially()
    print("ready", os.getpid(), flush=True)
    sys.stdin.read()
    del keep


main()
