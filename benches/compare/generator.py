"""The compiled load generator (`benches/load/`), and the stub that it serves itself."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
PATIENCE = 600


class Generator:
    def __init__(self, binary=None):
        self.binary = pathlib.Path(binary or TARGET / "release/load").resolve()

    def run(self, what, **options):
        """One run; what it measured."""
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        done = subprocess.run(
            [self.binary, what, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"load {what} {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def wire(self, size, **options):
        """The same load on a server that answers everything at once with so many bytes."""
        stub = subprocess.Popen([self.binary, "stub", f"--bytes={size}"], stdout=subprocess.PIPE, text=True)
        try:
            return self.run("http", port=int(stub.stdout.readline()), **options)
        finally:
            stub.kill()
            stub.wait()
            stub.stdout.close()
