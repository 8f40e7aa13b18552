"""The log: one line per request, the configured verbosity, and no lines forged by clients."""

import re
import signal
import subprocess

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.configuration import SERVABLE, conf, names
from functional_tests.process.placet_process import LOGGED, Placet, run
from functional_tests.process.raw_http import RawConnection, once, request

LINE = re.compile(
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  \[placet::access\] "
    r"(?P<id>req-[0-9a-f-]{36})(?: \(global (?P<global>\S+)\))?(?: \(trace (?P<trace>\S+ \S+)\))? (?P<remote>\S+) "
    r'"(?P<method>[^ "]+) (?P<path>[^ "]+)" status: (?P<status>\d{3}) len: (?P<length>\d+) '
    r"microversion: (?P<version>\d\.\d+|-) time: (?P<ms>\d+\.\d+) ms "
    r'user: (?P<user>\S+) project: (?P<project>\S+) agent: "(?P<agent>(?:[^"\\]|\\.)*)"(?: (?P<decided>granted|released|refused): (?P<text>.*))?$')
GLOBAL = "req-3875499c-74fd-4723-ac9a-c34bbb5f9738"


def requests_in(log):
    """The fields of each request's line."""
    lines = [line for line in log.split("\n") if "[placet::access]" in line]
    for line in lines:
        check(LINE.match(line), "not the form of a request's line:", line)
    return [LINE.match(line).groupdict() for line in lines]


@case("each request is logged in one line: id, method, path, status, length, microversion, milliseconds")
def one_line_each():
    with folder() as here, Placet(here, {}) as placet:
        sent = [
            ("GET", "/", None, "1.0"), ("GET", "/resource_providers?name=x%20y", None, "1.14"),
            ("POST", "/resource_providers", {"name": "logged"}, "1.20"), ("POST", "/resource_providers", {}, "1.39"),
            ("GET", "/nowhere", None, "latest"), ("PUT", "/traits/CUSTOM_LOGGED", None, "1.6"),
        ]
        answers = [placet.rest(*each) for each in sent]
        unnegotiated = placet.rest("GET", "/traits", None, "9.9")
        placet.stop()
        lines = requests_in(placet.log())
        equal(len(lines), len(sent) + 1, "lines of requests")
        for (method, path, _, version), answer, line in zip(sent, answers, lines, strict=False):
            request_id = answer.headers["x-openstack-request-id"]
            wanted = (method, path, str(answer.status), str(len(answer.raw)), request_id)
            equal(tuple(line[n] for n in ("method", "path", "status", "length", "id")), wanted)
            equal(line["version"], "1.39" if version == "latest" else version, path)
            equal(line["remote"], "127.0.0.1")
            check(0 < float(line["ms"]) < 30000, line)
        equal((lines[-1]["status"], lines[-1]["version"]), (str(unnegotiated.status), "-"))
        check(len({line["id"] for line in lines}) == len(lines), "request ids repeat")


@case("a valid X-Openstack-Request-Id is logged as the global id, and any other text is not")
def global_ids():
    with folder() as here, Placet(here, {}) as placet:
        ids = [GLOBAL, "req-none", GLOBAL[4:], GLOBAL + "0", GLOBAL.upper(), GLOBAL + " x"]
        answers = [placet.rest("GET", "/", headers={"X-Openstack-Request-Id": each}) for each in ids]
        placet.stop()
        equal([line["global"] for line in requests_in(placet.log())], [GLOBAL] + [None] * (len(ids) - 1))
        given = {answer.headers["x-openstack-request-id"] for answer in answers}
        check(not given & set(ids), "an answer has the client's id")


def levels(options=None, **extra):
    """The levels in the log of a service that answered one request, and the log itself."""
    with folder() as here, Placet(here, options or {}, extra=extra) as placet:
        placet.alive()
        placet.stop()
        return {line.split()[1] for line in placet.log().splitlines()}, placet.log()


@case("[DEFAULT] debug and RUST_LOG set the verbosity, and RUST_LOG overrides debug")
def verbosity():
    equal(levels()[0], {"INFO"})
    debug = {"DEFAULT": {"debug": "true"}}
    check("DEBUG" in levels(debug)[0], "[DEFAULT] debug shows nothing more")
    equal(levels(debug, RUST_LOG="warn")[0], set())
    check("DEBUG" in levels(RUST_LOG="debug")[0], "RUST_LOG=debug shows nothing more")
    only = levels(RUST_LOG="placet::access=info")[1]
    equal(len(only.splitlines()), len(requests_in(only)), only)
    check(only, "RUST_LOG=placet::access=info shows nothing")


@case("commands other than the service log to stderr, so that the log file is not theirs")
def other_commands():
    with folder() as here:
        log = here / "placet.log"
        path = conf(here, SERVABLE.format(here=here) + f"[DEFAULT]\nlog_file = {log}\n")
        for command in (["db", "sync"], ["db", "version"], ["db", "online_data_migrations"], ["status", "upgrade", "check"]):
            done = run(here, "--config-file", path, *command, extra={"RUST_LOG": "trace"})
            equal(done.code, 0, done)
            check(LOGGED.match(done.err), command, "has logged nothing to stderr:", done)
            check(not log.exists(), command, "has made the log of the service")
        with Placet(here, arguments=["--config-file", path]) as placet:
            placet.stop()
        check("serving on" in log.read_text() and not placet.log(), placet.log())


@case("[DEFAULT] log_file and log_dir redirect the log from stderr to a file, and append to it")
def log_file():
    with folder() as here:
        (here / "logs").mkdir()
        for _ in range(2):
            with Placet(here, {"DEFAULT": {"log_dir": str(here / "logs"), "log_file": "mine.log"}}) as placet:
                placet.alive()
                placet.stop()
                equal(placet.log(), "")
        equal(len(requests_in((here / "logs" / "mine.log").read_text())), 2)


@case("a log that is not read delays neither requests nor the end of the process, and no line is lost if it is read later")
def unread_log():
    for is_read in (False, True):
        with folder() as here, Placet(here, {}, stderr=subprocess.PIPE) as placet, placet.process.stderr as log:
            # A pipe holds 64 KB, which is less than 1000 lines.
            for _ in range(1000):
                equal(placet.rest("GET", "/").status, 200)
            placet.signal(signal.SIGTERM)
            lines = log.read().decode() if is_read else ""
            equal(placet.ended(), 0, "exit code")
            if is_read:
                equal(len(requests_in(lines)), 1000, "lines")
                check("stopped" in lines.splitlines()[-1], lines[-300:])


@case("a long request line and an unreadable request are one short line of the log each")
def long_requests():
    with folder() as here, Placet(here, {}) as placet:
        for data in (request("GET", "/" + "a" * 50_000), request("A" * 50_000, "/"), b"NO HTTP\r\n\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
            once(placet.port, data)
        placet.stop()
        lines = [line for line in placet.log().splitlines() if "placet::access" in line]
        equal(len(lines), 4, lines)
        check(all(len(line) < 2000 for line in lines), [len(line) for line in lines])
        check(" ERROR " not in placet.log(), placet.log()[-1000:])


@case("no client can forge a line or put control characters into the log")
def forgery():
    forged = "2026-01-01T00:00:00.000Z INFO  [placet::access] forged"
    options = {"oslo_middleware": {"enable_proxy_headers_parsing": "true"}}
    with folder() as here, Placet(here, options, extra={"RUST_LOG": "debug"}) as placet:
        for target in ("/%0a" + forged.replace(" ", "%20"), "/\x1b[2J", "/a\tb", "/\xc2\x85x", '/"x" status: 200'):
            once(placet.port, request("GET", target).decode("latin-1").encode("latin-1"))
        for name in ("X-Forwarded-For", "X-Openstack-Request-Id", "User-Agent", "X-Auth-Token", "Forwarded",
                     "OpenStack-API-Version", "Accept", "Content-Type", "X-Roles"):
            for value in ("x\x1b[2Jy", f'x" status: 200\t{forged}', "x\n" + forged, "x\r\n " + forged,
                          "\xc2\x85\x9b1m", "\xe2\x80\xa8"):
                data = f"GET /traits HTTP/1.1\r\nHost: x\r\nX-Auth-Token: admin\r\n{name}: {value}\r\n\r\n"
                once(placet.port, data.encode("latin-1"))
        for body in ({"name": "x\n" + forged}, {"name\n" + forged: 1}, {"name": "x", "uuid": "\n" + forged}):
            placet.rest("POST", "/resource_providers", body)
        placet.rest("GET", "/allocation_candidates?resources=VCPU:1%0A" + forged.replace(" ", "%20"))
        placet.rest("DELETE", "/resource_classes/CUSTOM_X%0A" + forged.replace(" ", "%20"))
        with RawConnection(placet.port) as raw:
            raw.send(f"GET\x1b / HTTP/1.1\r\n\n{forged}\r\n\r\n")
            raw.reply_or_end()
        placet.alive()
        placet.stop()
        log = (here / "log").read_bytes().decode("utf-8", "strict")
        strange = {c for c in log if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160}
        equal(strange, set(), "control characters in the log")
        for line in log.removesuffix("\n").split("\n"):
            check(LOGGED.match(line), "not a line of placet:", line)
            check(not line.startswith(forged), "forged:", line)
        check(len(log.splitlines()) > 50, "nothing was logged")


@case("a refused request is logged with its status and its id")
def errors_are_logged():
    with folder() as here, Placet(here, {"placet": {"max_body_size": "10"}}) as placet:
        answer = placet.rest("POST", "/resource_providers", {"name": "longer than ten bytes"})
        equal(answer.status, 413)
        placet.stop()
        names(placet.log(), answer.headers["x-openstack-request-id"], "status: 413")
