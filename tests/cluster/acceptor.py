# SPDX-License-Identifier: Apache-2.0
"""Listens on a free port of this machine, for servers of tests."""

import socket
import threading


class Acceptor:
    def __init__(self, attend):
        """attend(connection) runs in a thread of its own."""
        self.attend = attend
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.attend, args=(connection,), daemon=True).start()

    def close(self):
        # One that still accepts would do so for the next owner of the descriptor.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
