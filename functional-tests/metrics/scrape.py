"""Reads `/metrics`, and starts a real Prometheus for scraping."""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse

from functional_tests.lib import ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import machine

CONTRIB = pathlib.Path(__file__).resolve().parents[2] / "contrib"
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """The samples of one scrape: a number for each name and set of labels."""

    def __init__(self, text):
        self.text = text
        self.samples = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, labels, value = SAMPLE.fullmatch(line).groups()
                key = name, frozenset(LABEL.findall(labels or ""))
                assert key not in self.samples, f"twice: {line}"
                self.samples[key] = float(value)

    def sum(self, name, **labels):
        """The sum of all samples with this name and these labels."""
        wanted = set(labels.items())
        return sum(value for (found, its), value in self.samples.items() if found == name and wanted <= its)

    def by(self, name, *labels):
        """The samples of this name: by the values of these labels, their sum."""
        sums = {}
        for (found, its), value in self.samples.items():
            if found == name:
                key = tuple(dict(its).get(label) for label in labels)
                key = key[0] if len(key) == 1 else key
                sums[key] = sums.get(key, 0) + value
        return sums


def get(port, headers=None, path="/metrics"):
    sent = {"x-auth-token": None, "openstack-api-version": None, "accept": None, **(headers or {})}
    return Rest(port)("GET", path, headers=sent)


def read(port, headers=None):
    answer = get(port, headers)
    assert answer.status == 200, answer
    return Metrics(answer.raw.decode())


def promtool(*arguments, text=None):
    """Runs promtool; returns its output, and raises if it fails."""
    done = subprocess.run([machine.program("promtool", "prometheus"), *map(str, arguments)],
                          input=text, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, f"promtool {arguments} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Prometheus:
    """A Prometheus with placet's alert rules, which scrapes these ports every second."""

    def __init__(self, targets, token=None):
        self.targets, self.token = targets, token

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-prometheus-"))
        self.port = ports.free_port()
        scrape = {"job_name": "placet", "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in self.targets]}]}
        if self.token:
            scrape["authorization"] = {"credentials_file": str(self.token)}
        rules = shutil.copy(CONTRIB / "prometheus" / "alerts.yml", self.folder)
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                  "rule_files": [rules], "scrape_configs": [scrape]}
        (self.folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [machine.program("prometheus", "prometheus"), f"--config.file={self.folder}/prometheus.yml",
                 f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            self.wait("it serves", lambda: self.get("/-/ready", raw=True))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(HANG_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)

    def get(self, path, raw=False, **query):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}")
            answer = connection.getresponse()
            body = answer.read()
        if raw:
            return answer.status == 200
        found = json.loads(body)
        assert found["status"] == "success", found
        return found["data"]

    def query(self, expression):
        """The samples of an instant query."""
        data = self.get("/api/v1/query", query=expression)
        return data["result"] if data["resultType"] == "vector" else [data["result"]]

    def wait(self, what, holds, seconds=HANG_SECONDS):
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if holds():
                    return
            log = (self.folder / "log").read_text(errors="replace")[-2000:]
            assert self.process.poll() is None and time.monotonic() < deadline, f"not {what} in {seconds} s:\n{log}"
            time.sleep(0.2)
