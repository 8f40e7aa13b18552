"""Those that are compared: placet, OpenStack Placement in the best deployment that we know, and the bounds of both."""

import os
import pathlib
import sys

from generator import ROOT, TARGET

sys.path.insert(0, str(ROOT / "functional-tests"))

import live  # noqa: E402

PROCESSES, THREADS = 2, 4
# What it logs of each request would cost it time.
QUIET = {"DEFAULT": {"default_log_levels": "placement=WARNING,oslo=WARNING"}}


class Placet(live.Service):
    """As it is configured by default."""

    def __init__(self, database, binary=None, options=None):
        super().__init__("placet", options, binary or TARGET / "release/placet", database)


class Upstream(live.Service):
    """OpenStack Placement behind uwsgi: a process of several threads, and uwsgi's own HTTP router before it. Several of them
    share the clients: of two processes behind one router the same one gets two requests at once half of the time, while the
    other has nothing to do.

    The router keeps clients' connections open while threads serve whoever asks: with `http11-socket` a thread belongs
    to a connection until it ends, and 32 clients starve on 8 threads.
    """

    def __init__(self, database):
        super().__init__("upstream", QUIET, database=database)
        self.venv = pathlib.Path(os.environ.get("PLACET_BENCH_VENV") or ROOT / ".tox/bench-venv")

    def command(self):
        self.environment = {"OS_PLACEMENT_CONFIG_DIR": str(self.folder)}
        return [str(self.venv / "bin/uwsgi"), "--http", f"127.0.0.1:{self.port}", "--http-keepalive",
                "--module", "placement.wsgi.api:application", "--virtualenv", str(self.venv), "--master",
                "--die-on-term",
                "--processes", "1", "--threads", str(THREADS), "--enable-threads",
                "--lazy-apps", "--listen", "128", "--buffer-size", "65535", "--http-buffer-size", "65535",
                "--add-header", "Connection: keep-alive", "--disable-logging", "--thunder-lock",
                "--so-keepalive", "--http-timeout", "600", "--socket-timeout", "600"]


def told():
    """How OpenStack Placement runs, in a sentence."""
    return (f"{PROCESSES} uwsgi that share the clients, each a process of {THREADS} threads behind uwsgi's own HTTP router, "
            "connections kept open")
