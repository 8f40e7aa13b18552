"""Two processes with kolla-ansible's pool before, in and after outages: they leave connections for others.

    python -m functional_tests.connection_pool.outages [--binary PATH] [--engine postgresql|mariadb|galera]

The processes reach the server through proxies, which count their attempts. At the same time another client connects to
the server directly, again and again, and must never find all connections taken.
"""

import contextlib
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from functional_tests.connection_pool.faulty_proxy import FaultyProxy
from functional_tests.connection_pool.quoted_errors import only_the_log_quotes
from functional_tests.connection_pool.run import HOST, SESSIONS, ask
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import databases
from functional_tests.lib.test_counts import TestCounts
from functional_tests.metrics import scrape

# Fewer than the two processes may open by their configuration.
SERVER_CONNECTIONS = 40
KOLLA = {"max_pool_size": "1", "max_overflow": "1000", "sync_on_startup": "true"}
AT_REST = 3  # of one process: the writer, the follower, one reader
OUTAGE_SECONDS = 10
# An idle process makes an attempt a second. Requests make none beside those.
ATTEMPTS_A_SECOND = 3
ANSWER_SECONDS = 10
# Of both processes, after an outage: those at rest, and one for each of the three requests that `recovers` sends.
AFTER_OUTAGE = 2 * (AT_REST + 3)


class OtherClient:
    """Connects to the server once in 50 ms while it is entered, and keeps the errors."""

    def __init__(self, database):
        self.database, self.errors, self.connected = database, [], 0

    def __enter__(self):
        self.left = threading.Event()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.left.set()
        self.thread.join()

    def _work(self):
        while not self.left.wait(0.05):
            try:
                self.database.connect().close()
                self.connected += 1
            except Exception as error:  # the two drivers have no class in common
                self.errors.append(error)

    def check(self):
        assert self.connected and not self.errors, f"{self.connected} connected, {len(self.errors)} not: {self.errors[:1]}"


class Cloud:
    """Two processes on one database, each behind a proxy of its own."""

    def __init__(self, engine, binary, stack):
        self.node, self.database = engine.nodes[0], engine.create()
        self.proxies, self.services, self.rests = [], [], []
        through = {"postgresql": databases.postgresql, "mariadb": databases.mariadb}[self.database.engine]
        for _ in range(2):
            proxy = stack.enter_context(FaultyProxy(self.node.port))
            options = {"placement_database": KOLLA, "placet": {"commit_timeout": "5"}}
            service = live.Service("placet", options, binary, through(proxy.port, self.database.name))
            self.proxies.append(proxy)
            self.services.append(stack.enter_context(service))
            self.rests.append(Rest(service.port))
        self.rests[0].must("POST", "/resource_providers", {"name": "host", "uuid": HOST})

    def sessions(self):
        return len(self.database.query(SESSIONS[self.database.engine], [self.database.name]))

    def comes_to_rest(self):
        eventually(lambda: f"{self.sessions()} sessions, and at rest there are {2 * AT_REST}",
                   lambda: self.sessions() <= 2 * AT_REST, pause=0.5)

    def load(self, seconds):
        """Reads of rows by 80 clients, 40 for each process; returns the statuses."""
        end = time.monotonic() + seconds

        def client(number):
            statuses = set()
            while time.monotonic() < end:
                statuses.add(ask(self.rests[number % 2]))
            return statuses

        with ThreadPoolExecutor(80) as clients:
            return set().union(*clients.map(client, range(80)))

    def attempts(self):
        return [proxy.attempts for proxy in self.proxies]

    def attempts_since(self, before):
        """How often each process has tried to connect since `before`, a result of `attempts`."""
        return [now - earlier for now, earlier in zip(self.attempts(), before, strict=True)]

    def check_attempts(self, before, began):
        """Each process has tried at most ATTEMPTS_A_SECOND since `before`, a result of `attempts` at this time."""
        made, seconds = self.attempts_since(before), time.monotonic() - began
        print(f"        {made} attempts in {seconds:.1f} s")
        assert all(attempts <= ATTEMPTS_A_SECOND * seconds for attempts in made), f"{made} attempts in {seconds:.1f} s"
        return made

    def requests(self, rest):
        """A search, a read of rows and a write, each a function that returns whether the process answers."""
        return (lambda: rest("GET", "/allocation_candidates?resources=VCPU:1").status == 200,
                lambda: ask(rest) == 200,
                lambda: rest("POST", "/resource_providers", {"name": str(uuid.uuid4())}).status == 200)

    def recovers(self):
        """Both processes answer searches, reads of rows and writes within ANSWER_SECONDS."""
        began = time.monotonic()
        requests = [request for rest in self.rests for request in self.requests(rest)]
        with ThreadPoolExecutor(len(requests)) as clients:
            for client in [clients.submit(eventually, "placet answers", request, pause=0.1) for request in requests]:
                client.result()
        took = time.monotonic() - began
        print(f"        answered {took:.1f} s after the database")
        assert took < ANSWER_SECONDS, f"answered {took:.1f} s after the database"


def load_leaves_connections(cloud):
    with OtherClient(cloud.database) as other:
        statuses, most = set(), 0
        with ThreadPoolExecutor(1) as thread:
            loading = thread.submit(cloud.load, 5)
            while not loading.done():
                most = max(most, cloud.sessions())
                time.sleep(0.05)
            statuses = loading.result()
    other.check()
    assert statuses == {200}, statuses
    assert 2 * AT_REST < most <= SERVER_CONNECTIONS // 2 + 2 * AT_REST, f"{most} sessions under load"
    print(f"        {most} sessions under load")


def outage(cloud, mode, comes_back):
    """The proxies stop forwarding, while requests arrive."""
    with OtherClient(cloud.database) as other:
        before, began = cloud.attempts(), time.monotonic()
        for proxy in cloud.proxies:
            proxy.fail(mode)
        with ThreadPoolExecutor(40) as clients:
            statuses = set(clients.map(lambda number: ask(cloud.rests[number % 2]), range(40)))
        assert statuses == {503}, statuses
        time.sleep(max(0, began + OUTAGE_SECONDS - time.monotonic()))
        made = cloud.check_attempts(before, began)
        for proxy in cloud.proxies:
            proxy.mode = comes_back
            proxy.break_all()
        try:
            cloud.recovers()
            after = cloud.sessions()
        finally:
            for proxy in cloud.proxies:
                proxy.mode = "open"
    other.check()
    print(f"        {after} sessions after the outage")
    assert min(made) >= 1, f"{made} attempts"
    assert after <= AFTER_OUTAGE, f"{after} sessions after the outage"


def only_the_log_has_the_address(cloud, mode):
    """Found N7: the proxies stop forwarding, and no answer has the address of the database."""
    for proxy in cloud.proxies:
        proxy.fail(mode)
    try:
        for service, proxy in zip(cloud.services, cloud.proxies, strict=True):
            expected = [str(proxy.port), "Lost connection", "server closed", "did not answer", "timeout", "timed out"]
            only_the_log_quotes(service.port, HOST, service.database.url, service.log, expected)
    finally:
        for proxy in cloud.proxies:
            proxy.mode = "open"
            proxy.break_all()
    cloud.recovers()


def restart(cloud):
    """The server itself is killed, is away, and starts. A node of Galera joins its cluster again."""
    before, began = cloud.attempts(), time.monotonic()
    cloud.node.kill()
    time.sleep(OUTAGE_SECONDS)
    cloud.node.restart()
    with OtherClient(cloud.database) as other:
        cloud.recovers()
        after = cloud.sessions()
    other.check()
    cloud.check_attempts(before, began)
    assert after <= AFTER_OUTAGE, f"{after} sessions after the restart"


def out_of_connections(cloud):
    """Other clients take every connection of the server, those of placet are lost, and then the others leave."""
    before, began = cloud.attempts(), time.monotonic()
    with contextlib.ExitStack() as others:
        def take_all():
            with contextlib.suppress(Exception):  # the two drivers have no class in common
                while True:
                    others.callback(cloud.database.connect().close)

        take_all()
        for proxy in cloud.proxies:
            proxy.break_all()
        while time.monotonic() < began + OUTAGE_SECONDS:
            take_all()
            time.sleep(0.2)
        statuses = {ask(rest) for rest in cloud.rests}
        failures = [scrape.read(rest.port).sum("placet_database_connect_failures_total") for rest in cloud.rests]
        assert statuses == {503} or min(failures) > 0, (statuses, failures)
        made = cloud.check_attempts(before, began)
    cloud.recovers()
    assert min(made) >= 1, f"{made} attempts"
    assert cloud.sessions() <= AFTER_OUTAGE


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql", "mariadb", "galera"), default="postgresql")
    arguments = parser.parse_args()
    tests, engine = TestCounts(), arguments.engine
    settings = {"max_connections": SERVER_CONNECTIONS}
    with engines.Engine(engine, settings=settings) as server, contextlib.ExitStack() as stack:
        cloud = Cloud(server, arguments.binary, stack)
        tests.step(f"found N1: idle processes hold {AT_REST} connections each", cloud.comes_to_rest)
        tests.step("found N1: another client connects at every moment of a load", load_leaves_connections, cloud)
        for mode, comes_back in (("refuse", "open"), ("hang", "open"), ("refuse", "slow")):
            tests.step(f"found N1: a server that does not answer ({mode}), and comes back ({comes_back})",
                       outage, cloud, mode, comes_back)
        for mode in ("refuse", "hang"):
            tests.step(f"found N7: no answer quotes the driver, and the log does ({mode})",
                       only_the_log_has_the_address, cloud, mode)
        tests.step("found N1: a server that is killed and started", restart, cloud)
        tests.step("found N1: a server without a free connection", out_of_connections, cloud)
        tests.step(f"found N1: processes that are idle again hold {AT_REST} connections each", cloud.comes_to_rest)
    tests.finish()


if __name__ == "__main__":
    main()
