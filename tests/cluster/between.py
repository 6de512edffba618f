# SPDX-License-Identifier: Apache-2.0
"""Stands between a client and a real API server, and does to the bytes what a
network does: cuts, holds up, and changes what is asked.  The client speaks
plain HTTP to it; it speaks TLS to the server, in that client's name."""

import json
import re
import select
import socket
import ssl
import threading

from acceptor import Acceptor


class Between:
    def __init__(self, cluster, user):
        """user: whose certificate of the cluster's folder it shows."""
        self.context = ssl.create_default_context(cafile=cluster.state / "pki" / "ca.crt")
        self.context.load_cert_chain(cluster.state / "pki" / f"{user}.crt",
                                     cluster.state / "pki" / f"{user}.key")
        self.server = cluster.api.port
        self.rewrites = []  # [pattern, replacement, times]
        self.asked = []  # request lines, as they went on
        self.pairs = []  # (client, server, the request line last seen)
        self.lock = threading.Lock()
        self.acceptor = Acceptor(self.attend)
        self.port = self.acceptor.port

    def kubeconfig(self, path):
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "between",
            "clusters": [{"name": "between", "cluster": {
                "server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "between", "user": {}}],
            "contexts": [{"name": "between", "context": {
                "cluster": "between", "user": "between"}}]}))
        return str(path)

    def close(self):
        self.acceptor.close()
        self.cut("")

    def rewrite(self, pattern, replacement, times=1):
        """The next requests whose line matches are changed so; of several that
        match, what was said first counts."""
        with self.lock:
            self.rewrites.append([re.compile(pattern), replacement, times])

    def cut(self, pattern):
        """Ends the connections whose last request line matches; returns how many
        there were."""
        with self.lock:
            found = [p for p in self.pairs if re.search(pattern, p[2])]
        for client, server, _ in found:
            for end in (client, server):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        return len(found)

    def changed(self, line):
        with self.lock:
            for row in self.rewrites:
                if row[0].search(line):
                    row[2] -= 1
                    if row[2] == 0:
                        self.rewrites.remove(row)
                    line = row[0].sub(row[1], line)
                    break
            self.asked.append(line.strip())
        return line

    def attend(self, client):
        try:
            server = self.context.wrap_socket(
                socket.create_connection(("127.0.0.1", self.server)),
                server_hostname="127.0.0.1")
        except OSError:
            client.close()
            return
        pair = [client, server, ""]
        with self.lock:
            self.pairs.append(pair)
        try:
            self.pass_on(client, server, pair)
        except (OSError, ValueError):
            pass
        with self.lock:
            self.pairs.remove(pair)
        for end in (client, server):
            end.close()

    def pass_on(self, client, server, pair):
        """In one thread: a TLS connection is not to be used by two at once."""
        asked = b""
        while True:
            ready = [server] if server.pending() else select.select(
                [client, server], [], [])[0]
            for end in ready:
                data = end.recv(65536)
                if not data:
                    return
                if end is server:
                    client.sendall(data)
                    continue
                asked += data
                while (whole := self.request(asked)) is not None:
                    head, asked = asked[:whole], asked[whole:]
                    line, rest = head.split(b"\r\n", 1)
                    pair[2] = self.changed(line.decode("latin-1"))
                    server.sendall(pair[2].encode("latin-1") + b"\r\n" + rest)

    @staticmethod
    def request(data):
        """The length of the request that data begins with; None: not whole."""
        head, end, _ = data.partition(b"\r\n\r\n")
        if not end:
            return None
        found = re.search(rb"(?im)^content-length: *(\d+)", head)
        length = len(head) + 4 + (int(found[1]) if found else 0)
        return length if len(data) >= length else None
