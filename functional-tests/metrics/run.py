"""The observations of an operator: health, metrics, the dashboard and the alert rules.

    python -m functional_tests.metrics.run [--engine sqlite|postgresql|mariadb] [--binary PATH] [CASE …]

The numbers of `/metrics` equal the API's answers and the requests so far. A real Prometheus scrapes a placet under
traffic: every query of the dashboard and every alert rule gives an answer. Health goes through its states with a real
database: during the reading of the tables, during a stop of the database by a signal and after its end, and from
SIGTERM on.
"""

import os

from functional_tests.lib import command_line, engines
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts
from functional_tests.metrics import dashboard, health, help_texts, numbers

CASES = [*health.CASES, *numbers.CASES, *help_texts.CASES, *dashboard.CASES]
SQLITE_CASES, SERVER_CASES = dashboard.ONCE, health.SERVER_CASES
# The database has no part in them: on a server they run at full size alone.
WITHOUT_DATABASE = [
    numbers.requests_are_counted_exactly, numbers.aggregates_are_bounded,
    numbers.the_metrics_can_have_a_port_a_token_or_be_off, numbers.odd_requests_make_no_series, *dashboard.CASES]


def cases_on(engine):
    if engine == "sqlite":
        return [*CASES, *SQLITE_CASES]
    is_full = os.environ.get("PLACET_TEST_SIZE") == "full"
    return [case for case in [*CASES, *SERVER_CASES] if is_full or case not in WITHOUT_DATABASE]


def main():
    parser = command_line.parser(__doc__, "--engine", "--binary")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of the names of the cases to run")
    options = parser.parse_args()
    tests = TestCounts()
    try:
        with engines.Engine(options.engine) as engine:
            tests.cases(cases_on(options.engine), options.cases, options.binary, engine)
    except machine.Missing as missing:
        tests.skip(f"everything on {options.engine}", missing)
    tests.finish()


if __name__ == "__main__":
    main()
