"""Two processes behind HAProxy with contrib/haproxy/placement.cfg: a fault takes out no more than it has to."""

import collections
import contextlib
import pathlib
import tempfile
import threading
import time

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.lib.rest import Rest
from functional_tests.readiness.servers import OPTIONS, SEARCH, of_plain_user, read_only, silent, stopped, write
from functional_tests.readiness.states import ALL_READY, NONE_READY, becomes, degraded, stays
from functional_tests.rolling.run import Balancer, all_up

# As contrib/haproxy/placement.cfg demands.
DRAINED = {"drain_time": "3"}
# No Keystone listens on this port.
NO_KEYSTONE = {
    "auth_url": "http://127.0.0.1:1/v3", "auth_type": "password", "username": "placement", "password": "wrong",
    "user_domain_name": "Default", "project_name": "service", "project_domain_name": "Default",
    "http_connect_timeout": "2", "http_request_max_retries": "0"}


class Searches:
    """A client that searches through the balancer all the time: how often each status was answered."""

    def __init__(self, port, token="admin"):
        self.rest, self.statuses, self.ended = Rest(port, token), collections.Counter(), threading.Event()
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def _work(self):
        while not self.ended.is_set():
            try:
                self.statuses[self.rest("GET", SEARCH).status] += 1
            except OSError as error:
                self.statuses[repr(error)] += 1
            time.sleep(0.02)

    def check(self):
        """All searches since the start were answered, and there were more of them than at the last check."""
        before = self.statuses.total()
        eventually("a client searches", lambda: self.statuses.total() > before + 5)
        assert set(self.statuses) == {200}, self.statuses


class Pair:
    """Two processes on one database, HAProxy before them, and a client."""

    def __init__(self, binary, database, **options):
        self.binary, self.database, self.options = binary, database, {"placet": OPTIONS | DRAINED | options}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.services = [stack.enter_context(self.service()) for _ in range(2)]
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="placet-test-")))
            self.balancer = stack.enter_context(Balancer(folder, [each.port for each in self.services]))
            self.balancer.wait_for(all_up)
            self.rest = Rest(self.balancer.port)
            assert write(self.rest) == 200
            self.searches = stack.enter_context(Searches(self.balancer.port))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def service(self, more=None):
        return live.Service("placet", self.options | (more or {}), self.binary, self.database)

    def become(self, expected):
        for each in self.services:
            becomes(each.port, expected)

    def stay_up(self, expected):
        """Both keep this state, are seen as up, and answer every search."""
        self.become(expected)
        for each in self.services:
            stays(each.port, expected)
        assert all_up(self.balancer.servers()), self.balancer.servers()
        self.searches.check()


def behind_a_balancer_searches_go_on_while_the_server_is_read_only(binary, engine):
    with Pair(binary, of_plain_user(engine, engine.create()), stale_reads_seconds="600") as pair:
        with read_only(engine):
            for each in pair.services:
                assert write(Rest(each.port)) == 503
            pair.stay_up(degraded("read_only"))
        pair.stay_up(ALL_READY)
        assert write(pair.rest) == 200


def behind_a_balancer_searches_go_on_while_the_server_is_away(binary, engine):
    with Pair(binary, engine.create(), stale_reads_seconds="600") as pair:
        with stopped(engine):
            pair.stay_up(degraded("stale_reads"))
        pair.stay_up(ALL_READY)


def behind_a_balancer_searches_go_on_while_the_server_is_silent(binary, engine):
    with Pair(binary, engine.create(), stale_reads_seconds="600") as pair:
        with silent(engine):
            pair.stay_up(degraded("stale_reads"))
        pair.stay_up(ALL_READY)


def behind_a_balancer_a_restart_with_a_broken_file_takes_no_request(binary, engine):
    """The second process gets credentials that no Keystone accepts, and then a file that cannot be read at all."""
    with Pair(binary, engine.create()) as pair:
        second = pair.services[1]
        right = second.config.read_text()
        keystone = "".join(f"{name} = {value}\n" for name, value in NO_KEYSTONE.items())
        wrong = right.replace("auth_strategy = noauth2", "auth_strategy = keystone")
        second.stop()
        second.config.write_text(f"{wrong}\n[keystone_authtoken]\n{keystone}")
        second.restart()
        stays(second.port, NONE_READY)
        pair.searches.check()
        second.stop()
        second.config.write_text(f"{wrong}\n[placet]\nworkers = many\n")
        with contextlib.suppress(RuntimeError):
            second.restart()
        assert second.process.wait(HANG_SECONDS) > 0, second.log_end()
        pair.searches.check()
        second.config.write_text(right)
        second.restart()
        pair.balancer.wait_for(all_up)
        pair.searches.check()


CASES = [
    behind_a_balancer_searches_go_on_while_the_server_is_read_only,
    behind_a_balancer_searches_go_on_while_the_server_is_away,
    behind_a_balancer_searches_go_on_while_the_server_is_silent,
    behind_a_balancer_a_restart_with_a_broken_file_takes_no_request,
]
