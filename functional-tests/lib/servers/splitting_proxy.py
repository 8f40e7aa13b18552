"""A proxy before two MariaDB servers that splits reads from writes, as MaxScale and ProxySQL do.

SELECTs outside of transactions go to the second server, all else to the first. A client logs in to both with the same
packet, so its user has no password.
"""

import contextlib
import socket
import threading

SELECTS = (b"SELECT", b"select")
QUERY, PREPARE, EXECUTE, CLOSE = 0x03, 0x16, 0x17, 0x19


class SplittingProxy:
    def __init__(self, writer_port, reader_port):
        self.ports = writer_port, reader_port

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client):
        writer, reader = (socket.create_connection(("127.0.0.1", port)) for port in self.ports)
        with client, writer, reader, contextlib.suppress(OSError, EOFError):
            client.sendall(packet(writer))
            packet(reader)
            login = packet(client)
            for server in (writer, reader):
                server.sendall(login)
            client.sendall(packet(writer))
            packet(reader)
            for server in (writer, reader):
                threading.Thread(target=carry, args=[server, client], daemon=True).start()
            split(client, writer, reader)


def split(client, writer, reader):
    """Passes on each command to one server. The answers are carried back by threads."""
    inside, prepared = False, writer  # `prepared`: where the last statement was prepared
    while True:
        command = packet(client)
        kind, text = command[4], command[5:].lstrip()
        server = writer
        if kind in (QUERY, PREPARE):
            if b"START TRANSACTION" in text:
                inside = True
            elif b"COMMIT" in text or b"ROLLBACK" in text:
                inside = False
            elif text.startswith(SELECTS) and not inside:
                server = reader
        if kind == PREPARE:
            prepared = server
        server = prepared if kind in (EXECUTE, CLOSE) else server
        server.sendall(command)


def packet(connection):
    """One packet with its header."""
    header = exactly(connection, 4)
    return header + exactly(connection, int.from_bytes(header[:3], "little"))


def exactly(connection, count):
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def carry(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
