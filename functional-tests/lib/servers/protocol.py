"""What the proxy needs of a protocol: whole requests of the client, and whole answers of the server."""

import contextlib
import dataclasses
import select
import socket


class ConnectionClosed(OSError):
    """One of the two hung up."""


@dataclasses.dataclass
class Request:
    """What a client sends before it waits. `text` is the statement's, of a prepared one too."""

    raw: bytes
    text: str = ""
    executes: bool = False  # and does not only prepare, close, or ping
    number: int | None = None  # as the proxy counts
    inside: bool = False  # a transaction that writes, its BEGIN and its end included

    def starts(self, *words):
        """Whether one of these words begins one of the statements that it executes."""
        return self.executes and any(each.strip().upper().startswith(words) for each in self.text.split(";"))

    def begins_to_write(self):
        return self.starts("BEGIN", "START TRANSACTION") and "READ ONLY" not in self.text.upper()


class Protocol:
    """One connection on both its sides. A protocol says how it logs in, and what a request and an answer are."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.from_client, self.from_server = bytearray(), bytearray()
        self.texts = {}  # of prepared statements, by what the protocol calls them

    def log_in(self):
        """Until the server waits for the first statement."""
        raise NotImplementedError

    def cut_request(self):
        """The next whole request of what the client has sent, taken from it; None if it is not whole yet."""
        raise NotImplementedError

    def answer(self, request):
        """Reads the server's whole answer, and returns its bytes."""
        raise NotImplementedError

    def next_request(self):
        """Waits for it; what the server says meanwhile, or its end, is passed on."""
        while (request := self.cut_request()) is None:
            readable, _, _ = select.select([self.client, self.server], [], [])
            if self.server in readable:
                self.client.sendall(receive(self.server))
            if self.client in readable:
                self.from_client += receive(self.client)
        return request


def receive(connection):
    data = connection.recv(65536)
    if not data:
        raise ConnectionClosed
    return data


def take(connection, buffer, size):
    """So many bytes, waited for."""
    while len(buffer) < size:
        buffer += receive(connection)
    taken = bytes(buffer[:size])
    del buffer[:size]
    return taken


def close(connection):
    """Wakes whoever waits for it, too."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
