"""What an operator watches: health, metrics, the dashboard and the alert rules.

    python -m functional_tests.metrics.run [--engine sqlite|postgresql|mariadb] [--binary PATH] [CASE …]

The numbers of `/metrics` equal what the API says, and what was asked of it. A real Prometheus scrapes a placet under
traffic: every query of the dashboard and every alert rule gives an answer. Health goes through its states with a real database: while the tables are read, while the database is stopped by a signal
and after it goes on, and from SIGTERM on.
"""

from functional_tests.lib import command_line, engines
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts
from functional_tests.metrics import dashboard, health, numbers

CASES = [*health.CASES, *numbers.CASES, *dashboard.CASES]
SQLITE_CASES, SERVER_CASES = dashboard.ONCE, health.SERVER_CASES


def main():
    parser = command_line.parser(__doc__, "--engine", "--binary")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of the names of the cases to run")
    options = parser.parse_args()
    tests = TestCounts()
    try:
        with engines.Engine(options.engine) as engine:
            cases = [*CASES, *(SQLITE_CASES if options.engine == "sqlite" else SERVER_CASES)]
            for case in cases:
                if not options.cases or any(part in case.__name__ for part in options.cases):
                    tests.step(case.__name__.replace("_", " "), case, options.binary, engine)
    except machine.Missing as missing:
        tests.skip(f"everything on {options.engine}", missing)
    tests.finish()


if __name__ == "__main__":
    main()
