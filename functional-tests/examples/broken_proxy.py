"""A proxy before a service that fails requests in chosen ways: refused with 503 or 409, or carried out without an
answer.
"""

import contextlib
import http.client
import http.server
import json
import threading

from functional_tests.lib.patience import HANG_SECONDS


def refusal(call):
    """The answer to a claim that finds no room."""
    reason = {"code": "placet.no_room", "detail": "1 resource providers have too little room for VCPU."}
    consumers = [{"uuid": it["uuid"], "granted": False, "reasons": [reason]} for it in call["consumers"]]
    return json.dumps({"errors": [{"code": "placet.claim_refused"}], "consumers": consumers}).encode()


class BrokenProxy:
    """Fails the first writes on `path`, one for each item of `faults`: "busy", "cut" or "early". Use it as a context
    manager.

    "early" is the refusal of a repetition that is decided before the first call is committed.
    """

    def __init__(self, port, path, faults):
        self.service_port, self.path, self.faults = port, path, list(faults)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def fault(self, method, path):
        is_chosen = method != "GET" and path.startswith(self.path) and self.faults
        return self.faults.pop(0) if is_chosen else None

    def forward(self, method, path, body, headers):
        """Returns the service's status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.service_port, timeout=HANG_SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, body, {name: headers[name] for name in headers if name != "Host"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def _handler(proxy):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fault = proxy.fault(self.command, self.path)
                status, answer = 503, b"{}"
                if fault == "early":
                    status, answer = 409, refusal(json.loads(body))
                elif fault != "busy":
                    status, answer = proxy.forward(self.command, self.path, body, self.headers)
                if fault == "cut":
                    self.close_connection = True
                    return
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        return Handler
