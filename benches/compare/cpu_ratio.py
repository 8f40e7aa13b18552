"""The CPU time of the same requests to two services that differ in one option, in alternation (A B B A …).

The CPU time is the services' own, to the nanosecond. Rounds are short, so that other work on the machine disturbs both
alike. Two processes of one program differ by some percent from where their memory lies, so both are started many times:
the ratio is the median over pairs of processes of the median of their rounds.
"""

import contextlib
import http.client
import statistics
import time

WARM_UP_REQUESTS = 500
CPUCLOCK_SCHED = 2  # of linux/posix-timers.h
PATH = "/resource_providers?name=no-such-host"  # a cheap request, so that a difference shows


class Client:
    """One connection to a service, and the service's CPU time."""

    def __init__(self, service, token="admin", path=PATH):
        self.pid = service.process.pid
        self.path, self.headers = path, {"x-auth-token": token, "openstack-api-version": "placement 1.39"}
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        self.microseconds(WARM_UP_REQUESTS)

    def microseconds(self, requests):
        """The CPU time of each of this many requests."""
        before = self.cpu_nanoseconds()
        for _ in range(requests):
            self.ask("GET", self.path)
        return (self.cpu_nanoseconds() - before) / requests / 1000

    def ask(self, method, path, body=None, status=(200,)):
        headers = self.headers | ({"content-type": "application/json"} if body else {})
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        response.read()
        if response.status not in status:
            raise RuntimeError(f"{method} {path} was answered with {response.status}")

    def cpu_nanoseconds(self):
        """The CPU time of the process so far, with its threads that have ended: clock_getcpuclockid(3)."""
        return time.clock_gettime_ns(~self.pid << 3 | CPUCLOCK_SCHED)


def measured(starts, arguments):
    """The median ratio and both median times of each pair of processes.

    `starts` are two functions: each starts a service, and returns it as a context manager with the token of its client.
    """
    for number in range(arguments.starts):
        with contextlib.ExitStack() as stack:
            clients = {}
            for which in (0, 1) if number % 2 else (1, 0):
                service, token = starts[which]()
                clients[which] = Client(stack.enter_context(service), token)
            pairs = list(rounds(clients[0], clients[1], arguments))
        yield [statistics.median(ours / other for ours, other in pairs),
               *(statistics.median(times) for times in zip(*pairs, strict=True))]


def rounds(ours, other, arguments):
    """Pairs of microseconds of a request, one pair for each round."""
    for number in range(arguments.rounds):
        if number % 2:
            second = other.microseconds(arguments.requests)
            yield ours.microseconds(arguments.requests), second
        else:
            yield ours.microseconds(arguments.requests), other.microseconds(arguments.requests)


def report(names, found, most):
    """Prints both times and their ratio; whether the ratio is at most `most`."""
    ratios, *times = zip(*found, strict=True)
    for name, each in zip(names, times, strict=True):
        print(f"{name}: {statistics.median(each):.1f} microseconds of CPU for a request")
    ratio = statistics.median(ratios)
    quarter, _, three_quarters = statistics.quantiles(ratios)
    print(f"ratio: {ratio:.3f} (half of the pairs: {quarter:.3f} to {three_quarters:.3f}; at most {most} is wanted)")
    return ratio <= most


def arguments(parser):
    """The options of these benches."""
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--starts", type=int, default=20, help="pairs of processes")
    parser.add_argument("--rounds", type=int, default=40, help="of each pair")
    parser.add_argument("--requests", type=int, default=200, help="in each round, to each service")
    return parser.parse_args()
