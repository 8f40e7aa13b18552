"""MariaDB's protocol: packets with a length and a number. A client's request is one packet, a command.

The proxy hides capabilities that make answers harder to parse: TLS, compression, results without EOF packets, and
MariaDB's own extensions. Packets of 16 MiB and more are not supported.
"""

import struct

from functional_tests.lib.servers import protocol

COMPRESS, TLS, NO_EOF = 1 << 5, 1 << 11, 1 << 24
QUIT, QUERY, PREPARE, EXECUTE, LONG_DATA, CLOSE = 0x01, 0x03, 0x16, 0x17, 0x18, 0x19
OK, MORE, SWITCH, EOF, ERROR = 0x00, 0x01, 0xFE, 0xFE, 0xFF
FAST = b"\x01\x03"  # "fast authentication success": the client sends no further packet
MORE_RESULTS, CURSOR = 0x08, 0x40


class MariadbProtocol(protocol.Protocol):
    def log_in(self):
        self.client.sendall(without_unsupported_capabilities(self._packet()))
        self.server.sendall(self._from_client())
        while True:
            packet = self._packet()
            self.client.sendall(packet)
            if packet[4] == OK:
                return
            if packet[4] == ERROR:
                raise protocol.ConnectionClosed
            if packet[4] == SWITCH or packet[4] == MORE and packet[4:6] != FAST:
                self.server.sendall(self._from_client())

    def _packet(self):
        return packet(self.server, self.from_server)

    def _from_client(self):
        return packet(self.client, self.from_client)

    def take_request(self):
        if len(self.from_client) < 4 or len(self.from_client) < 4 + length(self.from_client):
            return None
        raw = self._from_client()
        command, body = raw[4], raw[5:]
        if command in (QUERY, PREPARE):
            return protocol.Request(raw, body.decode(errors="replace"), command == QUERY)
        if command == EXECUTE:
            return protocol.Request(raw, self.texts.get(body[:4], ""), True)
        return protocol.Request(raw)

    def answer(self, request):
        answer, command = bytearray(), request.raw[4]
        if command in (QUIT, LONG_DATA, CLOSE):
            return b""
        if command in (QUERY, EXECUTE):
            while self._result(answer) & MORE_RESULTS:
                pass
        elif command == PREPARE:
            self._prepared(answer, request.text)
        else:
            self._next(answer)
        return bytes(answer)

    def error(self, code, message):
        body = bytes([ERROR]) + struct.pack("<H", code) + b"#HY000" + message.encode()
        return len(body).to_bytes(3, "little") + b"\1" + body

    def _next(self, answer):
        raw = self._packet()
        answer += raw
        return raw[4:]

    def _prepared(self, answer, text):
        first = self._next(answer)
        if first[0] == ERROR:
            return
        self.texts[first[1:5]] = text
        for count in struct.unpack("<HH", first[5:9]):  # columns and parameters: a packet for each, and then EOF
            for _ in range(count + 1 if count else 0):
                self._next(answer)

    def _result(self, answer):
        """Reads one result; returns the server's status after it."""
        first = self._next(answer)
        if first[0] == ERROR:
            return 0
        if first[0] == OK:
            at = 1 + sizes_number(first, 1)
            at += sizes_number(first, at)
            return struct.unpack("<H", first[at:at + 2])[0]
        status = self._until_eof(answer)  # the columns
        return status if status & CURSOR else self._until_eof(answer)

    def _until_eof(self, answer):
        while True:
            each = self._next(answer)
            if each[0] == EOF and len(each) < 9:
                return struct.unpack("<H", each[3:5])[0]
            if each[0] == ERROR:
                return 0


def length(buffer):
    return int.from_bytes(buffer[:3], "little")


def packet(connection, buffer):
    head = protocol.take(connection, buffer, 4)
    return head + protocol.take(connection, buffer, length(head))


def sizes_number(data, at):
    """The number of bytes of a length-encoded integer."""
    return {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(data[at], 1)


def without_unsupported_capabilities(greeting):
    """The server's greeting without the capabilities that the proxy does not support."""
    at = greeting.index(b"\0", 5) + 1 + 4 + 8 + 1  # version, thread, the first part of the challenge
    low, charset, status, high = struct.unpack("<HBHH", greeting[at:at + 7])
    offered = (low | high << 16) & ~(COMPRESS | TLS | NO_EOF)
    kept = struct.pack("<HBHH", offered & 0xFFFF, charset, status, offered >> 16)
    # The length of the challenge, six reserved bytes, and MariaDB's own capabilities, which are set to zero.
    return greeting[:at] + kept + greeting[at + 7:at + 14] + bytes(4) + greeting[at + 18:]
