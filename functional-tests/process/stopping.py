"""SIGTERM and SIGINT: no new connections, in-flight requests are finished, exit code 0, in bounded time."""

import signal
import socket
import subprocess
import time

from functional_tests.lib.patience import HANG_SECONDS, IN_TIME_SECONDS, SERVICE_SECONDS, eventually
from functional_tests.metrics import scrape
from functional_tests.process.cases import case, chance, check, equal, folder, settings
from functional_tests.process.claims import HOSTS, ClientGroup, audit, claim, prepare
from functional_tests.process.locked import Claims, consumer, held, serving, write_lock
from functional_tests.process.placet_process import Placet, binary, environment
from functional_tests.process.raw_http import RawConnection, request

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
# Signals whose default action kills the process, and that have no meaning here.
IGNORED_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
                   signal.SIGPWR, signal.SIGSTKFLT, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGRTMIN, signal.SIGRTMAX)


def refuses_connections(port):
    """Waits until new connections are refused."""
    def refuses():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
        return False

    eventually("new connections are refused", refuses)


def requests_arrive(placet, count):
    """Waits until this many requests of other connections are being answered, or their bodies read."""
    eventually(f"{count} requests have arrived", lambda: scrape.read(placet.port).sum(
        "placet_http_requests_in_flight") >= count)


@case("an idle service ends at once, even if clients keep connections open")
def idle():
    for number in STOP_SIGNALS:
        with folder() as here, Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
            kept = [RawConnection(placet.port) for _ in range(5)]
            for raw in kept:
                raw.send(request("GET", "/"))
                equal(raw.reply().status, 200)
            began = time.monotonic()
            placet.signal(number)
            equal(placet.ended(), 0, "exit code")
            check(time.monotonic() - began < IN_TIME_SECONDS, f"it took {time.monotonic() - began:.1f} s")
            check(all(raw.is_closed() for raw in kept))
            check("stopped" in placet.log().splitlines()[-1], placet.log()[-300:])


@case("a service that is stopped as soon as it prints that it listens exits with 0")
def stopped_at_its_start():
    with folder() as here:
        for _ in range(20):
            with subprocess.Popen(
                    [binary(), "serve", "--bind", "127.0.0.1:0"], cwd=here, env=environment(here),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                for line in process.stdout:
                    if b"listens on" in line:
                        break
                process.terminate()
                try:
                    equal(process.wait(HANG_SECONDS), 0, "exit code")
                finally:
                    process.kill()


@case("a process that ends runs no exit handler of a library, whose data another thread may use")
def without_exit_handlers():
    with folder() as here:
        traced = environment(here) | {"LD_DEBUG": "libs"}  # the loader reports initializers and finalizers
        trace = here / "trace"
        with open(trace, "wb") as stderr, subprocess.Popen(
                [binary(), "serve", "--bind", "127.0.0.1:0"], cwd=here, env=traced,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr) as process:
            next(line for line in process.stdout if b"listens on" in line)
            process.terminate()
            equal(process.wait(HANG_SECONDS), 0, "exit code")
        lines = trace.read_text()
        check("calling init: " in lines, lines[:300])
        check("calling fini: " not in lines, lines[-300:])


@case("requests that had arrived at the signal are answered, on new connections and on idle ones")
def arrived_requests():
    count = 300 if settings["full"] else 100
    for number in STOP_SIGNALS:
        with folder() as here, Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
            prepare(placet.rest)
            kept = [RawConnection(placet.port) for _ in range(count)]
            for raw in kept:
                raw.send(request("GET", "/"))
                equal(raw.reply().status, 200)
            for each, raw in enumerate(kept):
                raw.send(request("PUT", f"/allocations/{consumer(each)}", claim(HOSTS[each % len(HOSTS)])))
            new = [RawConnection(placet.port) for _ in range(count)]
            for each, raw in enumerate(new):
                raw.send(request("PUT", f"/allocations/{consumer(count + each)}", claim(HOSTS[each % len(HOSTS)])))
            placet.signal(number)
            replies = [raw.reply_or_end() for raw in kept + new]
            equal([reply and reply.status for reply in replies], [204] * 2 * count)
            equal(placet.ended(), 0, "exit code")
            equal(len(held(placet)), 2 * count, "stored claims")


@case("signals other than those to stop end nothing, and are logged")
def other_signals():
    with folder() as here, Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
        for count, number in enumerate(IGNORED_SIGNALS, 1):
            placet.signal(number)
            eventually(f"{number!r} is logged", lambda count=count: placet.log().count(": ignored. ") == count)
        placet.alive()
        placet.stop()


@case("SIGHUP opens the log file again, and reads the log level and the policy again")
def hangup():
    with folder() as here:
        log, policy = here / "placet.log", here / "policy.yaml"
        options = serving(shutdown_timeout=SERVICE_SECONDS) | {
            "DEFAULT": {"log_file": str(log), "debug": "false"}, "oslo_policy": {"policy_file": str(policy)}}
        policy.write_text("")
        with Placet(here, options) as placet:
            placet.alive()
            log.rename(here / "placet.log.1")
            config = here / "placement.conf"
            config.write_text(config.read_text().replace("debug = false", "debug = true"))
            placet.signal(signal.SIGHUP)
            eventually("a new log file", lambda: log.exists() and "SIGHUP" in log.read_text())
            placet.alive()
            # The options are logged again, at debug.
            eventually("the level is debug", lambda: " DEBUG " in log.read_text())
            eventually("the policy is read", lambda: "SIGHUP: the policy files were loaded again" in log.read_text())
            check("SIGHUP" not in (here / "placet.log.1").read_text(), "the former file is still written")
            # With a configuration that cannot be used the file is opened again, and everything else stays.
            log.rename(here / "placet.log.2")
            config.write_text(config.read_text() + "[placet]\nnonsense = 1\n")
            placet.signal(signal.SIGHUP)
            eventually("an error", lambda: log.exists() and "cannot be used" in log.read_text())
            placet.alive()
            eventually("the level stays", lambda: "the log level is debug" in log.read_text())
            # A folder that cannot be written keeps the former file.
            log.unlink()
            log.mkdir()
            placet.signal(signal.SIGHUP)
            time.sleep(0.2)
            placet.alive()
            placet.stop()


@case("SIGHUP before placet serves does not end it")
def early_hangup():
    with folder() as here:
        for _ in range(5):
            with subprocess.Popen(
                    [binary(), "serve", "--bind", "127.0.0.1:0"], cwd=here, env=environment(here),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                try:
                    # The database's lock is made after the signals are ignored, and before placet serves.
                    eventually("a lock", lambda: process.poll() is not None or list(here.glob("*-placet-lock")))
                    process.send_signal(signal.SIGHUP)
                    check(any(b"listens on" in line for line in process.stdout), "exit code", process.poll())
                    process.terminate()
                    equal(process.wait(HANG_SECONDS), 0, "exit code")
                finally:
                    process.kill()
            for file in here.iterdir():
                file.unlink()


@case("a claim whose body is still arriving is finished and answered, and new connections are refused")
def a_slow_request():
    for number in STOP_SIGNALS:
        with folder() as here, Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
            prepare(placet.rest)
            data = request("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0]))
            with RawConnection(placet.port) as raw:
                raw.send(data[:-60])
                requests_arrive(placet, 1)
                placet.signal(number)
                refuses_connections(placet.port)
                equal(placet.process.poll(), None, "exit code with a request in flight")
                raw.send(data[-60:-30])
                time.sleep(0.3)
                raw.send(data[-30:])
                equal(raw.reply().status, 204)
                check(raw.is_closed())
            equal(placet.ended(), 0, "exit code")
            equal(held(placet), {consumer(0)})


@case("a request that never ends is aborted after shutdown_timeout, and the exit code is 0")
def an_endless_request():
    with folder() as here, Placet(here, serving(shutdown_timeout=2)) as placet:
        prepare(placet.rest)
        halves = [RawConnection(placet.port) for _ in range(20)]
        for each, raw in enumerate(halves):
            data = request("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0]))
            raw.send(data[:-10] if each % 2 else b"GET /reso")
        requests_arrive(placet, len(halves) // 2)
        began = time.monotonic()
        placet.signal(signal.SIGTERM)
        equal(placet.ended(), 0, "exit code")
        took = time.monotonic() - began
        # The default of shutdown_timeout is 30 s, and a body may take 60 s.
        check(took < 10 * 2, f"it took {took:.1f} s")
        check(all(raw.is_closed() for raw in halves))
        equal(held(placet), set())


@case("claims that wait for the database's lock when the signal arrives are committed and answered")
def waiting_claims():
    with folder() as here, Placet(here, serving(shutdown_timeout=SERVICE_SECONDS, commit_timeout=SERVICE_SECONDS)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database) as release:
            claims = Claims(placet, range(8)).are_waiting()
            placet.signal(signal.SIGTERM)
            refuses_connections(placet.port)
            equal(claims.answers, {})
            release()
            claims.wait()
        equal(claims.statuses(), [204] * 8)
        equal(placet.ended(), 0, "exit code")
        equal(held(placet), {consumer(n) for n in range(8)})


@case("a lock that is never released delays the end by at most shutdown_timeout plus commit_timeout")
def an_endless_lock():
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.stop()
        with Placet(here, serving(shutdown_timeout=1, commit_timeout=2)) as placet, write_lock(placet.database):
            began = time.monotonic()
            with RawConnection(placet.port) as raw:
                raw.send(request("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0])))
                requests_arrive(placet, 1)
                placet.signal(signal.SIGTERM)
                equal(placet.ended(), 0, "exit code")
            took = time.monotonic() - began
        equal(held(placet), set())
        # By default it would be 40 s.
        check(took < 10 * (1 + 2), f"it took {took:.1f} s")


@case("stopped while 32 clients claim, placet has stored every acknowledged claim, and no claim in part")
def stopped_while_clients_claim():
    random = chance("stopping")
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.stop()
        clients = ClientGroup(random)
        for each in range(20 if settings["full"] else 4):
            with Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
                clients.start(placet.port)
                clients.wait_for_grants(1)
                time.sleep(random.uniform(0, 0.6))
                placet.signal(STOP_SIGNALS[each % 2])
                equal(placet.ended(), 0, "exit code")
                clients.finish()
            with Placet(here, {}) as placet:
                audit(clients, placet)
                clients.free_capacity(placet.rest)
                placet.stop()
        check(len(clients.granted) > 20, "too few claims")
