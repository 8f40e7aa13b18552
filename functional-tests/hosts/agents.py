"""Agents that report for hosts, each on a thread of its own."""

import threading
import time

from functional_tests.lib.rest import KeptRest

LEASE_SECONDS = 5
REPORT_SECONDS = 1


class Agents:
    """Use it as a context manager. Each report goes through another process than the last one."""

    def __init__(self, ports, hosts):
        self.ports, self.ended = list(ports), threading.Event()
        self.silent, self.problem = set(), None
        self.reporting = {host: threading.Lock() for host in hosts}
        self.threads = [threading.Thread(target=self._report, args=(host,), daemon=True) for host in hosts]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        assert self.problem is None, self.problem

    def silence(self, host):
        """Returns when the last report of the host has been answered."""
        with self.reporting[host]:
            self.silent.add(host)

    def speak(self, host):
        self.silent.discard(host)

    def leave(self, port):
        """No report goes through this process any more."""
        self.ports.remove(port)

    def _report(self, host):
        connections, number = {}, 0
        while not self.ended.wait(REPORT_SECONDS):
            number += 1
            port = self.ports[number % len(self.ports)]
            with self.reporting[host]:
                if host in self.silent:
                    continue
                rest = connections.setdefault(port, KeptRest(port))
                body = {"holder": f"agent of {host}", "boot": "boot", "number": time.monotonic_ns(),
                        "lease": LEASE_SECONDS}
                try:
                    answer = rest("PUT", f"/v1/hosts/{host}/report", body)
                except OSError:
                    connections.pop(port, None)
                    continue
            if answer.status not in (200, 503):
                self.problem = f"{host}: {answer}"
                return
