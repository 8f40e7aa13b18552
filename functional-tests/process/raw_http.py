"""An HTTP client on raw sockets, for requests that no HTTP library sends."""

import contextlib
import json
import socket

from functional_tests.lib.patience import HANG_SECONDS

HEAD = "X-Auth-Token: admin\r\nOpenStack-API-Version: placement latest\r\nHost: placet\r\n"


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self):
        """The first error of a refusal in JSON; raises if the body is not one."""
        return json.loads(self.body)["errors"][0]

    def __str__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"


class RawConnection:
    """A connection on which anything can be sent. As a context manager it is closed at the end.

    `source` is the client's address.
    """

    def __init__(self, port, timeout=HANG_SECONDS, source="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout, source_address=(source, 0))
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends all of it; False if the peer has closed the connection."""
        try:
            self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        except OSError:
            return False
        return True

    def _more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                raise ConnectionError(f"closed after {self.buffer[:200]!r}")
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def _exactly(self, length):
        while len(self.buffer) < length:
            if not self._more():
                raise ConnectionError(f"closed {length - len(self.buffer)} bytes early")
        data, self.buffer = self.buffer[:length], self.buffer[length:]
        return data

    def reply(self, method="GET"):
        """The next response."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        headers = {n.lower(): v.strip() for n, v in (line.split(":", 1) for line in lines[1:])}
        body = b""
        if method != "HEAD" and status >= 200 and status not in (204, 304):
            if headers.get("transfer-encoding") == "chunked":
                while length := int(self._until(b"\r\n"), 16):
                    body += self._exactly(length)
                    self._until(b"\r\n")
                self._until(b"\r\n")
            else:
                body = self._exactly(int(headers.get("content-length", 0)))
        return Reply(status, headers, body)

    def reply_or_end(self, method="GET"):
        """The next response, or None if the connection ends without one."""
        with contextlib.suppress(ConnectionError):
            return self.reply(method)
        return None

    def is_closed(self):
        """Reads until the peer closes the connection, and returns True."""
        with contextlib.suppress(ConnectionError):
            while self._more():
                pass
        return True


def request(method, path, body=None, headers=""):
    """The bytes of a valid request."""
    head = f"{method} {path} HTTP/1.1\r\n{HEAD}{headers}"
    if body is None:
        return (head + "\r\n").encode()
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def once(port, data, method="GET"):
    """Sends `data` on a new connection; returns the response, or None."""
    with RawConnection(port) as raw:
        raw.send(data)
        return raw.reply_or_end(method)
