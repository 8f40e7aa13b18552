"""Whether a balancer should send requests to a process, while something else fails.

    python -m functional_tests.readiness.run [--engine postgresql|mariadb] [--binary PATH] [CASE …]

A process that can answer nothing is not ready. A process that can answer some requests is ready and degraded. Real
servers are stopped, paused, made read-only and filled with connections, and HAProxy stands before two processes. Full
disks of SQLite are a topic of the suite `process`, and Keystone's faults a part of the suite `keystone`.
"""

import shutil

from functional_tests.lib import command_line, engines
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts
from functional_tests.readiness import balanced, full_server, servers

# Other clients take all connections of the server.
SERVER_CONNECTIONS = 40


def cases_on(engine):
    more = servers.POSTGRESQL_CASES if engine == "postgresql" else []
    return [*servers.CASES, *more, *full_server.CASES, *(balanced.CASES if shutil.which("haproxy") else [])]


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql", "mariadb"), default="postgresql")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of the names of the cases to run")
    options = parser.parse_args()
    tests = TestCounts()
    if not shutil.which("haproxy"):
        tests.skip("two processes behind HAProxy", "needs Debian's haproxy")
    try:
        with engines.Engine(options.engine, settings={"max_connections": SERVER_CONNECTIONS}) as engine:
            tests.cases(cases_on(options.engine), options.cases, options.binary, engine, begin="found N2: ")
    except machine.Missing as missing:
        tests.skip(f"everything on {options.engine}", missing)
    tests.finish()


if __name__ == "__main__":
    main()
