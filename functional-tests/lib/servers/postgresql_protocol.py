"""PostgreSQL's protocol 3: messages with a type letter and a length. A request ends with Query, Sync or Terminate."""

import struct

from functional_tests.lib.servers import protocol

ENCRYPTION = (80877103, 80877104)  # by TLS, by GSSAPI
ASKS_CLIENT = (3, 5, 10, 11)  # for a password: in clear text, by MD5, and in two steps of SASL


class PostgresqlProtocol(protocol.Protocol):
    def log_in(self):
        self.server.sendall(self._startup())
        while True:
            kind, raw = self._message(self.server, self.from_server)
            self.client.sendall(raw)
            if kind == b"R" and struct.unpack("!I", raw[5:9])[0] in ASKS_CLIENT:
                self.server.sendall(self._message(self.client, self.from_client)[1])
            elif kind == b"Z":
                return

    def _startup(self):
        """The client's startup message, which has no type letter. Requests for encryption before it are refused."""
        while True:
            head = protocol.take(self.client, self.from_client, 8)
            size, code = struct.unpack("!II", head)
            rest = protocol.take(self.client, self.from_client, size - 8)
            if code not in ENCRYPTION:
                return head + rest
            self.client.sendall(b"N")

    @staticmethod
    def _message(connection, buffer):
        head = protocol.take(connection, buffer, 5)
        return head[:1], head + protocol.take(connection, buffer, struct.unpack("!I", head[1:])[0] - 4)

    def take_request(self):
        text, executes, at = "", False, 0
        while len(self.from_client) >= at + 5:
            kind = self.from_client[at:at + 1]
            end = at + 1 + struct.unpack("!I", self.from_client[at + 1:at + 5])[0]
            if len(self.from_client) < end:
                return None
            body, at = bytes(self.from_client[at + 5:end]), end
            if kind == b"Q":
                text, executes = body.rstrip(b"\0").decode(errors="replace"), True
            elif kind == b"P":
                name, sql, _ = body.split(b"\0", 2)
                text = self.texts[name] = sql.decode(errors="replace")
            elif kind == b"B":
                text = self.texts.get(body.split(b"\0", 2)[1], "")
            elif kind == b"E":
                executes = True
            if kind in (b"Q", b"S", b"X"):
                raw = bytes(self.from_client[:end])
                del self.from_client[:end]
                return protocol.Request(raw, text, executes)
        return None

    def answer(self, request):
        answer = bytearray()
        while not request.raw.startswith(b"X"):
            kind, raw = self._message(self.server, self.from_server)
            answer += raw
            if kind == b"Z":
                break
        return bytes(answer)
