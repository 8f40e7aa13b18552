"""The systems that are compared: placet, OpenStack Placement in the best deployment that we know, and two baselines.

The baselines do only the unavoidable part of the work. `canned_server` answers every request with the same bytes, and
`sql_baseline` executes the minimal SQL. Both are commands of the load generator.
"""

import contextlib
import http.client
import os
import pathlib
import time

from functional_tests.lib import live
from functional_tests.lib.root import ROOT, TARGET

SYSTEMS = ("placet", "upstream", "canned_server", "sql_baseline")
# How tables name the system that is the baseline.
BASELINE_NAMES = {"canned_server": "HTTP", "sql_baseline": "SQL"}
UPSTREAM_PROCESSES, UPSTREAM_THREADS = 2, 4
# Log lines of each request would cost OpenStack Placement time.
UPSTREAM_OPTIONS = {"DEFAULT": {"default_log_levels": "placement=WARNING,oslo=WARNING"}}


class Placet(live.Service):
    """placet with its default configuration."""

    def __init__(self, database, binary=None, options=None):
        super().__init__("placet", options, binary or TARGET / "dist/placet", database)


class Upstream(live.Service):
    """OpenStack Placement behind uWSGI: one process of several threads, behind uWSGI's own HTTP router.

    Several of these servers share the clients. With two processes behind one router, half of the time one process gets
    two requests while the other is idle.

    The router keeps the connections of clients open, while each thread serves one request after the other. With
    `http11-socket` a thread serves one connection until it ends, and 32 clients starve on 8 threads.
    """

    is_forked = False

    def __init__(self, database):
        super().__init__("upstream", UPSTREAM_OPTIONS, database=database)
        self.venv = pathlib.Path(os.environ.get("PLACET_BENCH_VENV") or ROOT / ".tox/bench-venv")

    def _launch(self):
        self.environment = {"OS_PLACEMENT_CONFIG_DIR": str(self.folder)}
        super()._launch()

    def command(self):
        return [str(self.venv / "bin/uwsgi"), "--http", f"127.0.0.1:{self.port}", "--http-keepalive",
                "--module", "placement.wsgi.api:application", "--virtualenv", str(self.venv), "--master",
                "--die-on-term",
                "--processes", "1", "--threads", str(UPSTREAM_THREADS), "--enable-threads",
                "--lazy-apps", "--listen", "128", "--buffer-size", "65535", "--http-buffer-size", "65535",
                "--add-header", "Connection: keep-alive", "--disable-logging", "--thunder-lock",
                "--so-keepalive", "--http-timeout", "600", "--socket-timeout", "600"]

    def _listens(self):
        """Polls GET / until it is answered, because uWSGI prints no line when the application serves."""
        deadline = time.monotonic() + live.START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/")
                connection.getresponse().read()
                return True
            connection.close()
            time.sleep(0.02)
        return False


def upstream_deployment():
    """How OpenStack Placement runs, for a sentence."""
    return (f"{UPSTREAM_PROCESSES} uWSGI servers that share the clients, each one process of {UPSTREAM_THREADS} threads "
            "behind uWSGI's own HTTP router, with keep-alive connections")
