"""Serves OpenStack Placement, as installed from PyPI, as the reference.

    python -m functional_tests.lib.upstream CONFIG_FILE PORT

Its WSGI application runs behind the standard library's server, with a thread for each connection. It is a reference for
behaviour, not for speed.
"""

import os
import socketserver
import sys
from wsgiref import simple_server


class Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self):
        # The standard library resolves the host's name here, which is slow and not needed.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]
        self.setup_environ()


class Handler(simple_server.WSGIRequestHandler):
    def get_environ(self):
        # The standard library sets text/plain if a request has no Content-Type.
        environ = super().get_environ()
        if self.headers.get("content-type") is None:
            environ.pop("CONTENT_TYPE", None)
        return environ

    def log_message(self, *_):
        pass


def check_each_schema_once(kind):
    """jsonschema checks a schema at each validation, which is half of the processor time of a request.

    OpenStack Placement's schemas are constants. Each schema is kept, so that no other object gets its id.
    """
    check, checked = kind.check_schema, {}

    def check_once(schema, **more):
        if id(schema) not in checked:
            check(schema, **more)
            checked[id(schema)] = schema

    kind.check_schema = check_once


def main():
    config, port = sys.argv[1:]
    os.environ["OS_PLACEMENT_CONFIG_DIR"] = os.path.dirname(os.path.abspath(config))
    sys.argv = sys.argv[:1]
    import jsonschema
    from placement import wsgi

    check_each_schema_once(jsonschema.Draft202012Validator)
    server = Server(("127.0.0.1", int(port)), Handler)
    server.set_app(wsgi.init_application())
    print(f"OpenStack Placement listens on http://127.0.0.1:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
