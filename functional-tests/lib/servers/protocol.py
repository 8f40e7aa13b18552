"""A database protocol as the proxy needs it: whole requests of the client, and whole answers of the server."""

import contextlib
import dataclasses
import select
import socket


class ConnectionClosed(OSError):
    """The client or the server has closed its connection."""


@dataclasses.dataclass
class Request:
    """The bytes that a client sends before it waits for an answer. `text` is the SQL, also of a prepared statement."""

    raw: bytes
    text: str = ""
    executes: bool = False  # False if it only prepares, closes or pings
    number: int | None = None  # the proxy's count of statements on connections that write
    inside: bool = False  # whether it belongs to a transaction that writes, its BEGIN and its end included

    def starts(self, *words):
        """Whether a statement that it executes begins with one of these words."""
        return self.executes and any(each.strip().upper().startswith(words) for each in self.text.split(";"))

    def begins_to_write(self):
        return self.starts("BEGIN", "START TRANSACTION") and "READ ONLY" not in self.text.upper()


class Protocol:
    """Both sides of one connection. A subclass implements the login and parses requests and answers."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.from_client, self.from_server = bytearray(), bytearray()
        self.texts = {}  # the protocol's name of a prepared statement -> its SQL

    def log_in(self):
        """Passes messages on until the server waits for the first statement."""
        raise NotImplementedError

    def take_request(self):
        """Takes the next request from the client's buffer; None if it is incomplete."""
        raise NotImplementedError

    def answer(self, request):
        """Reads the server's whole answer, and returns its bytes."""
        raise NotImplementedError

    def error(self, code, message):
        """The bytes of an answer that refuses a request with this error."""
        raise NotImplementedError

    def next_request(self):
        """Waits for the next request, and passes on what the server sends in between."""
        while (request := self.take_request()) is None:
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
    """Takes `size` bytes from the buffer, and waits until they are there."""
    while len(buffer) < size:
        buffer += receive(connection)
    taken = bytes(buffer[:size])
    del buffer[:size]
    return taken


def close(connection):
    """Closes a connection, and wakes threads that wait for it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
