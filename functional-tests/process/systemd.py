"""systemd's protocols: readiness, status, stopping, the watchdog, and a listening socket that is handed over."""

import contextlib
import signal
import socket
import statistics
import time

from functional_tests.lib import live, ports
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.supervisor import Supervisor, listening_socket
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import binary, environment


@contextlib.contextmanager
def supervised(sockets=(), watchdog_seconds=None, arguments=(), **placet):
    with folder() as here:
        config = live.write_config(here, {"placet": placet}, here / "placet.sqlite")
        command = [binary(), "--config-file", config, *arguments]
        with Supervisor(here, command, environment(here), list(sockets), watchdog_seconds) as unit:
            yield unit


def lines(unit):
    return [line for _, line in unit.messages]


@case("systemd is notified of READY when the API is served, of the address as STATUS, and of STOPPING at SIGTERM")
def notified():
    with supervised(arguments=("--bind", "127.0.0.1:0")) as unit:
        unit.start()
        status = next(line for line in lines(unit) if line.startswith("STATUS="))
        port = int(status.rpartition(":")[2])
        check(f"http://127.0.0.1:{port}" in status, status)
        equal(Rest(port)("GET", "/resource_providers").status, 200)
        check("WATCHDOG=1" not in lines(unit), lines(unit))
        equal(unit.stop(), 0, "exit code")
        check("STOPPING=1" in lines(unit), lines(unit))
        check(lines(unit).index("READY=1") < lines(unit).index("STOPPING=1"), lines(unit))


def beats_of(unit):
    return [at for at, line in unit.messages if line == "WATCHDOG=1"]


@case("the watchdog is notified about twice in each period, and not while the process is stopped")
def watchdog():
    period = 2.0
    with supervised(arguments=("--bind", "127.0.0.1:0"), watchdog_seconds=period) as unit:
        unit.start()
        beats = eventually("six beats", lambda: beats_of(unit)[5:] and beats_of(unit))
        # On a busy machine one beat may be late.
        gap = statistics.median(later - at for at, later in zip(beats, beats[1:]))
        check(period / 4 < gap < period, f"a beat every {gap:.2f} s")
        unit.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        seen = len(unit.messages)
        time.sleep(2 * period)
        equal(unit.messages[seen:], [], "notifications of a stopped process")
        unit.process.send_signal(signal.SIGCONT)
        unit.wait_for("WATCHDOG=1", seen=seen)
        equal(unit.stop(), 0, "exit code")


@case("a notification socket that is gone is a warning, and the API is served")
def no_manager():
    listener = listening_socket()
    port = listener.getsockname()[1]
    with supervised([listener]) as unit:
        unit.environment["NOTIFY_SOCKET"] = str(unit.folder / "gone")
        unit.launch()
        equal(Rest(port)("GET", "/resource_providers").status, 200)
        eventually(lambda: f"a warning: {unit.log()}", lambda: "Cannot notify systemd" in unit.log())
        equal(unit.stop(), 0, "exit code")


@case("a socket that is handed over is served instead of [placet] bind, and requests wait in it between two processes")
def handed_over():
    listener = listening_socket()
    port = listener.getsockname()[1]
    unused = ports.free_port()
    with supervised([listener], bind=f"127.0.0.1:{unused}") as unit:
        for _ in range(2):
            # Connected before there is a process.
            waiting = socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)
            waiting.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            unit.start()
            check(waiting.recv(100).startswith(b"HTTP/1.1 200"), "the waiting request")
            waiting.close()
            equal(Rest(port)("GET", "/resource_providers").status, 200)
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", unused)).close()
                check(False, "the address in [placet] bind is served too")
            equal(unit.stop(), 0, "exit code")


@case("a handed over socket on an address that other machines can reach is refused with noauth2, and so are two sockets")
def refused_sockets():
    everywhere = socket.create_server(("0.0.0.0", 0))
    two = [listening_socket(), listening_socket()]
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    for sockets, sentence in [
        ([everywhere], "allow_noauth2_anywhere"),
        (two, "is one of 2"),
        ([datagrams], "is not a listening TCP socket"),
    ]:
        with supervised(sockets) as unit:
            unit.launch()
            equal(unit.process.wait(HANG_SECONDS), 1, "exit code")
            check(sentence in unit.log(), unit.log())


@case("hostile 16: a handed over socket that is bound and does not listen is refused, since no client could connect")
def hostile_16_bound_socket():
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.bind(("127.0.0.1", 0))
    with supervised([bound]) as unit:
        unit.launch()
        equal(unit.process.wait(HANG_SECONDS), 1, "exit code")
        check("is not a listening TCP socket (it is bound, and does not listen)" in unit.log(), unit.log())
