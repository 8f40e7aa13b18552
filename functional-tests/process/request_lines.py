"""The log's lines about requests: the caller, the trace, the refusal of a claim, slow requests; the formats; no
secrets.
"""

import json
import re
import time

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, claim, prepare
from functional_tests.process.configuration import names
from functional_tests.process.locked import consumer
from functional_tests.process.log_lines import GLOBAL, requests_in
from functional_tests.process.placet_process import Placet, run
from functional_tests.process.raw_http import RawConnection, request

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HOST = rf"{HOSTS[0]} \({HOSTS[0]}\)"  # its name is its uuid
FORMATS = ("text", "json", "oslo")


def too_much():
    """A claim that no provider has room for."""
    return claim(HOSTS[0]) | {"allocations": {HOSTS[0]: {"resources": {"VCPU": 1_000_000}}}}


@case("the line of a request has user, project and user agent; without a token it has none")
def callers():
    with folder() as here, Placet(here, {}) as placet:
        placet.rest("GET", "/traits", headers={"x-auth-token": "alice:my lab", "User-Agent": 'curl "x"\\y'})
        placet.rest("GET", "/", headers={"User-Agent": "x" * 1000})
        placet.stop()
        first, second = requests_in(placet.log())
        equal((first["user"], first["project"], first["agent"]), ("alice", "my_lab", 'curl \\"x\\"\\\\y'))
        equal((second["user"], second["project"], second["agent"]), ("-", "-", "x" * 128))


@case("a valid traceparent is in every line of its request, and an invalid one in none")
def traces():
    valid = f"00-{TRACE}-{PARENT}-01"
    sent = [valid, valid.upper(), valid + "-x", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", "x"]
    with folder() as here, Placet(here, {}) as placet:
        for header in sent:
            placet.rest("GET", "/", headers={"traceparent": header})
        placet.stop()
        found = [line["trace"] for line in requests_in(placet.log())]
        equal(found, [f"{TRACE} {PARENT}"] + [None] * (len(sent) - 1))


def decided(log, how):
    """What the lines of requests say about claims that were `granted` or `refused`, and about what was `released`."""
    return [line["text"] for line in requests_in(log) if line["decided"] == how]


@case("found_u5: the line of a refused claim says which provider, which class, how much is requested, used and free")
def refused_claims():
    with folder() as here, Placet(here, {}) as placet:
        prepare(placet.rest)
        equal(placet.rest("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0])).status, 204)
        equal(placet.rest("PUT", f"/allocations/{consumer(1)}", too_much()).status, 409)
        query = {"consumers": [{"uuid": consumer(2), "query": "resources=VCPU:1000000"}]}
        equal(placet.rest("POST", "/v1/claims", query).status, 409)
        listed = {"uuid": consumer(3), "candidates": [{"allocations": too_much()["allocations"]}]}
        equal(placet.rest("POST", "/v1/claims", {"consumers": [listed]}).status, 409)
        placet.stop()
        reasons = decided(placet.log(), "refused")
        equal(len(reasons), 3, placet.log())
        check(re.fullmatch(rf"VCPU on {HOST}: 1000000 requested, \d+ used of a capacity of \d+", reasons[0]), reasons)
        names(reasons[1], consumer(2), "None of the 5 hosts can serve the query. 4 hosts are too small for VCPU: "
              "1000000 requested, at most 200.")
        check("more reasons" not in reasons[1], reasons)
        check(re.search(rf"placet.no_room VCPU on {HOST}: 1000000 requested, \d+ free$", reasons[2]), reasons)


@case("found_u6: the line of a granted write says who got what where, bounded, and a dry run grants nothing")
def granted_writes():
    with folder() as here, Placet(here, {}) as placet:
        prepare(placet.rest)
        placet.rest.must("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0]))
        many = {consumer(n): claim(HOSTS[0]) for n in (1, 2)} | {
            consumer(0): claim(HOSTS[0]) | {"allocations": {}, "consumer_generation": 1}}
        placet.rest.must("POST", "/allocations", many)
        query = {"id": consumer(90), "consumers": [
            {"uuid": consumer(n), "query": "resources=VCPU:1"} for n in range(10, 50)]}
        placet.rest.must("POST", "/v1/claims?dry_run=true", query)
        placet.rest.must("POST", "/v1/claims", query)
        placet.rest.must("POST", "/v1/claims", query)
        workload = {"generation": None, "name": "web", "roles": [{"name": "r", "count": 2, "query": "resources=VCPU:1"}]}
        placet.rest.must("PUT", f"/v1/workloads/{consumer(91)}?dry_run=true", workload)
        placed = placet.rest.must("PUT", f"/v1/workloads/{consumer(91)}", workload).json["replicas"][0]
        placet.stop()
        grants = decided(placet.log(), "granted")
        equal(len(grants), 4, grants)
        check(re.fullmatch(rf"consumer {consumer(0)}: .*VCPU:1 on {HOST}.*", grants[0]), grants[0])
        two = rf"2 consumers, the first {consumer(1)}: .*VCPU:1 on {HOST}.*; 1 released: {consumer(0)}"
        forty = rf"40 consumers, the first {consumer(10)}: VCPU:1 on \S+ \([0-9a-f-]{{36}}\)"
        check(re.fullmatch(two, grants[1]) and re.fullmatch(forty, grants[2]), grants)
        equal(grants[3], f"workload web ({consumer(91)}): 2 consumers, the first {placed['consumer']}: "
              f"VCPU:1 on {placed['host_name']} ({placed['host']}); 1 attempt")


@case("found_u6: the line of a release says who released what where, bounded, and a dry run releases nothing")
def released_writes():
    with folder() as here, Placet(here, {}) as placet:
        rest = placet.rest
        prepare(rest)
        body = claim(HOSTS[0]) | {"allocations": {HOSTS[0]: {"resources": {"VCPU": 2}}}}
        rest.must("PUT", f"/allocations/{consumer(0)}", body)
        rest.must("DELETE", f"/allocations/{consumer(0)}")
        rest("DELETE", f"/allocations/{consumer(0)}")
        workload = {"generation": None, "name": "web", "roles": [{"name": "r", "count": 3, "query": "resources=VCPU:1"}]}
        first = rest.must("PUT", f"/v1/workloads/{consumer(91)}", workload).json["replicas"][0]
        rest.must("DELETE", f"/v1/workloads/{consumer(91)}?dry_run=true")
        rest.must("DELETE", f"/v1/workloads/{consumer(91)}")
        placet.stop()
        released = decided(placet.log(), "released")
        equal(len(released), 2, placet.log())
        check(re.fullmatch(rf"consumer {consumer(0)}: VCPU:2 on {HOST}", released[0]), released)
        equal(released[1], f"workload web ({consumer(91)}): 3 consumers, the first {first['consumer']}: "
              f"VCPU:1 on {first['host_name']} ({first['host']})")


@case("found_u6: the line of a reshape says who has what where, who was released, and which inventories were replaced")
def reshapes():
    with folder() as here, Placet(here, {}) as placet:
        rest = placet.rest
        prepare(rest)
        for number in (0, 1):
            rest.must("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[0]))
        path = f"/resource_providers/{HOSTS[0]}/inventories"
        stands = rest.must("GET", path).json
        given = [claim(HOSTS[0]) | {"consumer_generation": 1}, claim(HOSTS[0]) | {"consumer_generation": 1, "allocations": {}}]
        body = {"inventories": {HOSTS[0]: stands}, "allocations": {consumer(n): given[n] for n in (0, 1)}}
        equal(rest("POST", "/reshaper", body, headers={"x-roles": "service"}).status, 204)
        placet.stop()
        line = decided(placet.log(), "granted")[-1]
        check(re.fullmatch(rf"consumer {consumer(0)}: .*VCPU:1 on {HOST}.*; 1 released: {consumer(1)}; "
                           rf"inventories of {HOST}", line), line)


@case("a slow request is logged once more as a warning with its ids, and says where the time went")
def slow_requests():
    with folder() as here, Placet(here, {"placet": {"slow_request_seconds": "1"}}) as placet:
        prepare(placet.rest)
        data = request("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0]))
        with RawConnection(placet.port) as raw:
            raw.send(data[:-10])
            time.sleep(1.3)
            raw.send(data[-10:])
            equal(raw.reply().status, 204)
        placet.stop()
        lines = [line for line in placet.log().splitlines() if "slow: " in line]
        equal(len(lines), 1, placet.log())
        match = re.search(r" WARN  \[\S+\] (req-\S+) slow: .* took (\d+\.\d+) s, .*: (\d+\.\d+) s until .*, (\d+\.\d+) s to answer",
                          lines[0])
        check(match and placet.log().count(match[1]) == 2, lines)
        whole, body, answer = (float(match[n]) for n in (2, 3, 4))
        check(1 <= body <= whole and answer < whole, lines)


@case("with log_format = json every line is an object, and that of a request has its ids and figures as fields")
def json_lines():
    with folder() as here, Placet(here, {"placet": {"log_format": "json"}, "DEFAULT": {"debug": "true"}}) as placet:
        prepare(placet.rest)
        answer = placet.rest("PUT", f"/allocations/{consumer(1)}", too_much(), headers={
            "X-Openstack-Request-Id": GLOBAL, "traceparent": f"00-{TRACE}-{PARENT}-01", "User-Agent": "a\\b\"c"})
        placet.stop()
        lines = [json.loads(line) for line in placet.log().splitlines()]
        check(all({"time", "level", "target", "message"} <= line.keys() for line in lines), lines[:3])
        (line,) = [line for line in lines if line.get("status") == 409]
        wanted = {"request_id": answer.headers["x-openstack-request-id"], "global_request_id": GLOBAL, "trace_id": TRACE,
                  "parent_id": PARENT, "method": "PUT", "path": f"/allocations/{consumer(1)}", "user_id": "admin",
                  "project_id": "admin", "user_agent": "a\\b\"c", "remote": "127.0.0.1", "length": len(answer.raw)}
        equal({name: line.get(name) for name in wanted}, wanted)
        check(0 < line["milliseconds"] < 30000 and "capacity" in line["refused"], line)


@case("with log_format = oslo the lines have the form of OpenStack's services, as fluentd parses them")
def oslo_lines():
    form = re.compile(
        r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (\d+) (DEBUG|INFO|WARNING|ERROR|TRACE) [\w.]+ "
        r"\[(-|(?:-|req-\S+) req-\S+ \S+ \S+ \S+ \S+ \S+)\] .+$")
    with folder() as here, Placet(here, {"placet": {"log_format": "oslo"}}) as placet:
        placet.rest("GET", "/traits", headers={"X-Openstack-Request-Id": GLOBAL})
        placet.stop()
        lines = placet.log().splitlines()
        for line in lines:
            check(form.match(line), "not the form:", line)
            equal(form.match(line)[1], str(placet.process.pid))
        check(any(f"placet.access [{GLOBAL} req-" in line and " admin admin - - -] " in line for line in lines), lines)


@case("no token and no password is in the log at any level, in any format")
def secrets():
    for form in FORMATS:
        with folder() as here, Placet(here, {"placet": {"log_format": form}}, extra={"RUST_LOG": "trace"}) as placet:
            prepare(placet.rest)
            secret = {name: f"hunter2-{'0' * 60}" for name in (
                "x-auth-token", "x-service-token", "authorization", "cookie", "x-subject-token")}
            for method, path, body in [("GET", "/traits", None), ("PUT", f"/allocations/{consumer(0)}", too_much()),
                                       ("GET", "/nothing", None), ("POST", "/resource_providers", {"name": 1})]:
                placet.rest(method, path, body, headers=secret)
                placet.rest(method, path, body, headers=secret | {"x-auth-token": "admin"})
            for head in ("GET /traits HTTP/1.1\r\nHost x\r\nX-Auth-Token: hunter2-broken\r\n\r\n",
                         "GET / HTTP/1.1\r\nX-Auth-Token: hunter2-endless\r\nContent-Length: x\r\n\r\n"):
                with RawConnection(placet.port) as raw:
                    raw.send(head)
                    raw.reply_or_end()
            placet.stop()
            log = placet.log().lower()
            check(" trace " in log or '"trace"' in log, "RUST_LOG=trace shows nothing")
            equal([line for line in log.splitlines() if "hunter2" in line], [], form)
        with folder() as here:
            url = "postgresql://placement:hunter2@127.0.0.1:1/placement"
            ended = run(here, "--bind", "127.0.0.1:0", extra={
                "RUST_LOG": "trace", "OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACET__LOG_FORMAT": form,
                "OS_PLACEMENT_DATABASE__CONNECTION": url, "OS_PLACEMENT_DATABASE__MAX_RETRIES": "1",
                "OS_KEYSTONE_AUTHTOKEN__PASSWORD": "hunter2"})
            equal(ended.code, 1, ended)
            check("hunter2" not in ended.out + ended.err, ended)
