"""`placet agent`: real agents report to a real placet.

    python -m functional_tests.agent.run [--binary PATH] [CASE …]

placet and agents are restarted, killed and refused. Each refusal must have one line in the agent's log, with the reason
and an advice, and an agent must report again without a person when the cause is gone.
"""

import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import tempfile

from functional_tests.agent.agent_process import LEASE_SECONDS, AgentProcess
from functional_tests.lib import command_line, live, ports
from functional_tests.lib.certificates import Authority
from functional_tests.lib.patience import becomes, eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

STORED = "placet has stored the report of host"


def host(number):
    return f"a9e20000-0000-4000-8000-{number:012}"


def disk(number, total=100):
    """The report of a host with a disk, below the host."""
    return {"type": "compute", "domains": {"fault": "fd:/dc1/r7"}, "providers": [{
        "uuid": f"d15c0000-0000-4000-8000-{number:012}", "name": f"disk-{number}",
        "inventories": {"CUSTOM_VOLUME_GB": {"total": total}}}]}


def url(service):
    return f"http://127.0.0.1:{service.port}"


def made(service, number):
    """Makes a host as Nova makes hosts, with an uuid and a name."""
    Rest(service.port).must("POST", "/resource_providers", {"name": f"host-{number}", "uuid": host(number)})
    return host(number)


def health(service, uuid):
    answer = Rest(service.port)("GET", f"/v1/hosts/{uuid}")
    return answer.json["health"] if answer.status == 200 else answer.status


def is_up(service, number):
    becomes(f"the health of host {number}", "up", lambda: health(service, host(number)))


def lease(service, number):
    """The number of the last report, and until when the lease holds."""
    [row] = service.database.query(f"SELECT number, held_until, holder FROM placet_leases WHERE host = '{host(number)}'")
    return row


def renewed(service, number):
    """Waits for a further report, and returns its number."""
    before = lease(service, number)
    eventually("a further report", lambda: lease(service, number)[1] > before[1])
    return lease(service, number)[0]


@contextlib.contextmanager
def placet(binary, options=None):
    with live.Service("placet", options or {}, binary) as service:
        yield service


@contextlib.contextmanager
def with_tokens(binary):
    """placet with a token file, and a function that makes a token."""
    with tempfile.TemporaryDirectory(prefix="placet-tokens-") as folder:
        file = pathlib.Path(folder, "tokens")

        def create(*arguments):
            command = [live.placet_binary(binary), "token", "create", "--file", file, "--user", "agents", "--project", "lab",
                       "--expires", "1d", *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=True, env=live.clean_environment()).stdout.strip()

        create("--role", "reader")
        with placet(binary, {"placet": {"token_file": str(file)}}) as service:
            yield service, create


def equal(got, expected, *more):
    assert got == expected, (got, expected, *more)


def an_agent_reports_what_its_file_says_and_reads_changes(binary):
    with placet(binary) as service:
        with AgentProcess(binary, made(service, 1), url(service), disk(1)) as agent:
            is_up(service, 1)
            rest, inventory = Rest(service.port), f"/resource_providers/{disk(1)['providers'][0]['uuid']}/inventories"
            equal(rest.must("GET", inventory).json["inventories"]["CUSTOM_VOLUME_GB"]["total"], 100)
            equal(rest.must("GET", f"/v1/providers/{host(1)}").json["domains"], {"fault": "fd:/dc1/r7"})
            agent.write(disk(1, total=200))
            becomes("the total", 200, lambda: rest.must("GET", inventory).json["inventories"]["CUSTOM_VOLUME_GB"]["total"])
            agent.write({"providers": [{"uuid": "x"}]})
            agent.says("providers[0].uuid")
            renewed(service, 1)
            equal(rest.must("GET", inventory).json["inventories"]["CUSTOM_VOLUME_GB"]["total"], 200)
            agent.write({})
            becomes("the disk", 404, lambda: rest("GET", inventory).status)
            seen = agent.log().count("was read again")
            agent.process.send_signal(signal.SIGHUP)
            agent.says("agent.json was read again", times=seen + 1)
            renewed(service, 1)
            equal(agent.log().count(STORED), 1, agent.log())


def an_agent_goes_on_after_a_restart_of_placet_and_of_itself(binary):
    with placet(binary) as service:
        with AgentProcess(binary, made(service, 1), url(service), disk(1)) as agent:
            is_up(service, 1)
            service.kill()
            agent.says("No placet answers")
            service.restart()
            agent.says(STORED, times=2)
            before, _, holder = lease(service, 1)
            equal(agent.stop(), 0, "exit code")
            agent.start()
            assert renewed(service, 1) > before, "the number rises over a restart"
            equal(lease(service, 1)[2], holder, "the name of the agent stays")
            assert "older" not in agent.log() and "second agent" not in agent.log(), agent.log()


def a_killed_agent_leaves_an_unknown_host_which_comes_back(binary):
    with placet(binary) as service, contextlib.ExitStack() as stack:
        first, *_ = [stack.enter_context(AgentProcess(binary, made(service, number), url(service))) for number in (1, 2, 3)]
        for number in (1, 2, 3):
            is_up(service, number)
        first.process.kill()
        becomes("the health", "unknown", lambda: health(service, host(1)))
        first.process.wait()
        first.start()
        is_up(service, 1)


def a_second_agent_is_kept_out_and_says_so_until_the_first_ends(binary):
    with placet(binary) as service:
        uuid = made(service, 1)
        with AgentProcess(binary, uuid, url(service), disk(1)) as first:
            is_up(service, 1)
            with AgentProcess(binary, uuid, url(service)) as second:
                second.says(f"A second agent reports for host {uuid}")
                for _ in range(3):
                    renewed(service, 1)
                equal(second.log().count("A second agent reports"), 1, second.log())
                assert str(first.report) in second.log(), second.log()
                equal(Rest(service.port)("GET", f"/resource_providers/{disk(1)['providers'][0]['uuid']}").status, 200)
                first.stop()
                second.says(STORED)


def a_host_that_no_program_has_made_is_waited_for_by_name_and_by_uuid(binary):
    with placet(binary) as service:
        with AgentProcess(binary, "host-1", url(service)) as by_name, AgentProcess(binary, host(2), url(service)) as by_uuid:
            by_name.says("placet has no provider host-1 yet")
            by_uuid.says(f"placet has no provider {host(2)} yet")
            for number, agent in ((1, by_name), (2, by_uuid)):
                made(service, number)
                agent.says(STORED)
                is_up(service, number)


def a_refused_part_is_named_once_and_the_lease_is_renewed(binary):
    with placet(binary) as service:
        taken = disk(1)
        Rest(service.port).must("POST", "/resource_providers", {
            "uuid": taken["providers"][0]["uuid"], "name": "of a different client"})
        with AgentProcess(binary, made(service, 1), url(service), taken) as agent:
            agent.says("providers[0]")
            for _ in range(3):
                renewed(service, 1)
            equal(agent.log().count("providers[0]"), 1, agent.log())
            equal(agent.run("--once").returncode, 1)
            agent.write({})
            agent.says(STORED)
            equal(agent.run("--once").returncode, 0)


def if_a_process_does_not_answer_the_next_process_is_asked(binary):
    with placet(binary) as service:
        urls = f"http://127.0.0.1:{ports.free_port()}/, {url(service)}/"
        with AgentProcess(binary, made(service, 1), urls) as agent:
            is_up(service, 1)
            renewed(service, 1)
            assert "No placet answers" not in agent.log(), agent.log()


def the_token_of_a_host_suffices_and_a_new_token_counts_without_a_restart(binary):
    with with_tokens(binary) as (service, create):
        admin = Rest(service.port, token=create("--role", "admin"))
        for number in (1, 2):
            admin.must("POST", "/resource_providers", {"name": f"host-{number}", "uuid": host(number)})
        of_host = create("--host", host(1))
        with AgentProcess(binary, host(1), url(service), token=of_host) as agent:
            agent.says(STORED)
            with AgentProcess(binary, host(2), url(service), token=of_host) as other:
                other.says(f"may not report for host {host(2)}")
                other.says("placet token create --host")
                other.give(create("--host", host(2)))
                other.says(STORED)
            with AgentProcess(binary, "host-1", url(service), token=of_host) as by_name:
                by_name.says("Write the uuid into [agent] host")
            agent.give("wrong")
            agent.says("does not accept the token")
            agent.give(of_host)
            agent.says(STORED, times=2)
            assert of_host not in agent.log() and "wrong" not in agent.log(), agent.log()


def tls_is_checked_by_the_authorities_of_cafile(binary):
    with tempfile.TemporaryDirectory(prefix="placet-tls-") as folder:
        folder, authority = pathlib.Path(folder), Authority("an authority")
        certificate, key = authority.issue_files(folder, "server")
        (folder / "ca.pem").write_bytes(authority.pem)
        client, client_key = authority.issue_files(folder, "client")
        options = {"tls_certificate": str(certificate), "tls_key": str(key), "tls_client_ca": str(folder / "ca.pem")}
        with placet(binary, {"placet": options}) as service:
            # The host is among the providers of the report, so the agent makes the host.
            report = {"providers": [{"uuid": host(1), "name": "host-1"}]}
            https = f"https://127.0.0.1:{service.port}"
            presented = {"certfile": client, "keyfile": client_key}
            with AgentProcess(binary, host(1), https, report, **presented) as stranger:
                stranger.says("certificate")
                stranger.says("correct [agent] urls and cafile")
            with AgentProcess(binary, host(1), https, report, cafile=folder / "ca.pem", **presented) as agent:
                agent.says(STORED)
                equal(lease(service, 1)[2], f"placet agent on {socket.gethostname()} with {agent.report}")


def a_dry_run_prints_the_report_or_the_path_of_the_mistake_and_sends_nothing(binary):
    agent = AgentProcess(binary, host(1), f"http://127.0.0.1:{ports.free_port()}", disk(1))
    done = agent.run("--dry-run")
    equal(done.returncode, 0, done)
    printed = json.loads(done.stdout)
    equal({name: printed[name] for name in disk(1)}, disk(1))
    equal((printed["lease"], printed["boot"]), (LEASE_SECONDS, pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()))
    for report, path in (({"providers": [{"uuid": "x", "name": "d"}]}, "providers[0].uuid"), ("{", "line 1 column 1"),
                         ({"holder": "me"}, "holder: the agent writes this member")):
        agent.write(report)
        for arguments in (["--dry-run"], ["--once"], []):
            done = agent.run(*arguments)
            assert done.returncode == 1 and path in done.stderr and str(agent.report) in done.stderr, (arguments, done)
            equal(done.stdout, "")
    agent.directory.cleanup()


def a_silent_placet_stops_neither_the_watchdog_nor_a_stop(binary):
    """A server accepts connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with AgentProcess(binary, host(1), f"http://127.0.0.1:{silent.getsockname()[1]}") as agent:
            connection, _ = silent.accept()
            with connection:
                seen = len(agent.messages)
                agent.wait_for("WATCHDOG=1", seen)
                equal(agent.stop(), 0, "exit code")
                assert "No placet answers" not in agent.log(), agent.log()
                agent_lines = [line for _, line in agent.messages]
                assert agent_lines.index("READY=1") < agent_lines.index("STOPPING=1"), agent_lines


CASES = [
    an_agent_reports_what_its_file_says_and_reads_changes,
    an_agent_goes_on_after_a_restart_of_placet_and_of_itself,
    a_killed_agent_leaves_an_unknown_host_which_comes_back,
    a_second_agent_is_kept_out_and_says_so_until_the_first_ends,
    a_host_that_no_program_has_made_is_waited_for_by_name_and_by_uuid,
    a_refused_part_is_named_once_and_the_lease_is_renewed,
    if_a_process_does_not_answer_the_next_process_is_asked,
    the_token_of_a_host_suffices_and_a_new_token_counts_without_a_restart,
    tls_is_checked_by_the_authorities_of_cafile,
    a_dry_run_prints_the_report_or_the_path_of_the_mistake_and_sends_nothing,
    a_silent_placet_stops_neither_the_watchdog_nor_a_stop,
]


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of the names of the cases to run")
    options = parser.parse_args()
    tests = TestCounts()
    tests.cases(CASES, options.cases, options.binary)
    tests.finish()


if __name__ == "__main__":
    main()
