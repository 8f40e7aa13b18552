"""Runs the compiled load generator (`benches/load/`)."""

import json
import pathlib
import subprocess

from functional_tests.lib.root import TARGET

TIMEOUT_SECONDS = 600


class LoadGenerator:
    def __init__(self, binary=None):
        self.binary = pathlib.Path(binary or TARGET / "dist/load").resolve()

    def run(self, command, **options):
        """Runs one of its commands to the end; returns the JSON that it prints."""
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        run = subprocess.run(
            [self.binary, command, *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"load {command} {' '.join(words)} failed:\n{run.stdout}{run.stderr}")
        return json.loads(run.stdout)

    def run_on_canned_server(self, body_bytes, **options):
        """The HTTP load on a canned server whose responses have this many bytes of body."""
        server = subprocess.Popen(
            [self.binary, "canned-server", f"--bytes={body_bytes}"], stdout=subprocess.PIPE, text=True)
        try:
            return self.run("http", port=int(server.stdout.readline()), **options)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
