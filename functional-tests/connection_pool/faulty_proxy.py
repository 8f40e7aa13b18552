"""A TCP proxy before a database server, which can refuse connections, accept them and stay silent, or be slow."""

import contextlib
import select
import socket
import threading
import time

SLOW_SECONDS = 2


class FaultyProxy:
    """Forwards a free port of loopback to `target`. Use it as a context manager.

    `mode` is `open`, `refuse` (the connection is closed at once), `hang` (no byte is answered), or `slow` (as `open`,
    after SLOW_SECONDS). `attempts` counts the connections that clients opened.
    """

    def __init__(self, target):
        self.target, self.mode, self.attempts = target, "open", 0
        self.clients = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.break_all()

    def fail(self, mode):
        """Takes a mode in which nothing is forwarded, and breaks every connection."""
        self.mode = mode
        self.break_all()

    def break_all(self):
        for client in list(self.clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.attempts += 1
                threading.Thread(target=self._serve, args=(client, self.mode), daemon=True).start()

    def _serve(self, client, mode):
        with client, contextlib.suppress(OSError):
            self.clients.add(client)
            if mode == "refuse":
                return
            if mode == "hang":
                while client.recv(65536):
                    pass
                return
            if mode == "slow":
                time.sleep(SLOW_SECONDS)
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                forward(client, server)
        self.clients.discard(client)


def forward(client, server):
    """Forwards both ways until one side ends."""
    while True:
        readable, _, _ = select.select([client, server], [], [])
        for source, target in ((client, server), (server, client)):
            if source in readable:
                data = source.recv(65536)
                if not data:
                    return
                target.sendall(data)
