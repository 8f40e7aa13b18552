"""A TLS terminator on loopback: HTTP/1.1 by TLS before a service that speaks plain HTTP."""

import contextlib
import http.client
import http.server
import ssl
import threading

from functional_tests.lib.patience import HANG_SECONDS

# These are of one connection. The answer is read whole, so its length is set again.
OF_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "content-length")


class TlsFront:
    """Serves a port of this machine by TLS. Use it as a context manager.

    With `client_authority` (PEM) a client must present a certificate of that authority.
    """

    def __init__(self, target, certificate, key, client_authority=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if client_authority:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=client_authority.decode())
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.target, self.server.context = target, context
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):
        # In the connection's own thread: a silent client stops no other. A failed handshake is the client's to report.
        request.settimeout(HANG_SECONDS)
        with contextlib.suppress(OSError):
            super().finish_request(self.context.wrap_socket(request, server_side=True), client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        sent = {name: value for name, value in self.headers.items() if name.lower() not in OF_CONNECTION}
        target = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=HANG_SECONDS)
        with contextlib.closing(target):
            target.request(self.command, self.path, body or None, sent | {"x-forwarded-proto": "https"})
            answer = target.getresponse()
            data = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in OF_CONNECTION:
                self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = forward  # noqa: N815

    def log_message(self, *_):
        pass
