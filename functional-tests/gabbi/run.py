"""Runs placet's own gabbi files, each against a live service with an empty database.

    python -m functional_tests.gabbi.run [--server placet|upstream] [--engine ENGINE] [--binary PATH] [--jobs N] [-v]
                                         [FILE...]

With `--server upstream` the same files run against OpenStack Placement: so the files state the behaviour that clients
know. placet-only….yaml hold intended differences, and the remaining files of PLACET_ONLY the native API. Each job has
one service, whose database is set back after each file. With placet on SQLite the process starts again, because
refusals of the native API wait after foreign writes (lib/kept_services.py).
"""

import pathlib
import traceback

from functional_tests.lib import command_line, engines, gabbi_file, kept_services, live
from functional_tests.lib.test_counts import TestCounts

HERE = pathlib.Path(__file__).resolve().parent

# Differences on purpose, and the native API.
PLACET_ONLY = ("placet-only", "v1", "candidates", "capacity", "claims", "consumers", "domains", "explain", "hosts",
               "limits", "providers", "refusals", "types", "usages-sums", "violations", "workloads")
OPTIONS = {"oslo_policy": {"enforce_new_defaults": "false"}}


def run_one(kept, path, server, binary, engine):
    try:
        service = kept.get("service", lambda: live.Service(server, OPTIONS, binary, engine=engine),
                           restarts=server == "placet" and engine.kind == "sqlite")
        outcome = gabbi_file.run(path, service.port)
        if service.process.poll() is not None:
            outcome.failed.append(("the service ended", service.log_end()))
    except Exception:
        outcome = gabbi_file.Outcome(path.stem)
        outcome.failed.append(("preparation", traceback.format_exc()))
    return outcome


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--server")
    parser.add_argument("files", nargs="*", help="names of gabbi files, without .yaml")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true", help="show failures in full")
    arguments = parser.parse_args()

    paths = sorted(HERE.glob("*.yaml"))
    if arguments.server == "upstream":
        paths = [path for path in paths if not path.stem.startswith(PLACET_ONLY)]
    if arguments.files:
        wanted = {pathlib.Path(name).stem for name in arguments.files}
        paths = [path for path in paths if path.stem in wanted]
        if len(paths) != len(wanted):
            parser.error(f"no such file among {', '.join(sorted(wanted))}")

    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        for outcome in kept_services.run_all(
                run_one, paths, arguments.jobs, arguments.server, arguments.binary, engine):
            print(f"{outcome.name:28} {outcome.passed:4} passed {len(outcome.failed):4} failed",
                  flush=True)
            tests.passed += outcome.passed
            for test, reason in outcome.skipped:
                tests.skip(f"{outcome.name}: {test}", reason)
            for test, description in outcome.failed:
                detail = description if arguments.verbose else description.splitlines()[0]
                tests.fail(f"{outcome.name}: {test}", detail)
    tests.finish()


if __name__ == "__main__":
    main()
