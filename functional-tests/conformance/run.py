"""Runs OpenStack Placement's own gabbi files against a live service, each on a database of its own.

    python -m functional_tests.conformance.run [--fixtures rest|adopted] [--server placet|upstream] [--engine ENGINE]
                                               [--binary PATH] [--jobs N] [-v] [FILE...]

With `rest` a file's fixture is made over the service's API, in an empty database. With `adopted` the suite's own code
writes it into the database before the service starts. Each job has one service for each configuration, or with
`adopted` for each fixture, and its database is set back after each file (lib/kept_services.py).

The files come with the openstack-placement package and are not copied. expected.txt lists them, and a file that is not
listed is a failure. Every test of a listed file has to pass, unless the list says `later`.
"""

import importlib.util
import pathlib
import sys
import traceback

from functional_tests.conformance import adopted, gabbi_fixtures
from functional_tests.lib import command_line, engines, gabbi_file, kept_services, live

HERE = pathlib.Path(__file__).resolve().parent


def suite():
    """The folder of the installed package's gabbi files."""
    package = importlib.util.find_spec("placement").submodule_search_locations[0]
    return pathlib.Path(package, "tests", "functional", "gabbits")


def expected():
    """File name -> None if the file has to pass, else the reason why it may fail."""
    names = {}
    for line in (HERE / "expected.txt").read_text().splitlines():
        line = line.strip()
        if line.startswith("later "):
            name, _, reason = line.removeprefix("later ").partition(": ")
            names[name.strip()] = reason.strip()
        elif line and not line.startswith("#"):
            names[line] = None
    return names


class Adopted(live.Service):
    """A service on a database that has the data of a fixture before the start. `environ` is the fixture's."""

    def __init__(self, name, server, chosen, binary, engine):
        database, self.environ = adopted.prepare(name, engine)
        super().__init__(server, chosen.options, binary, database, chosen.files)
        self.drop = lambda: engine.drop(database)

    def __exit__(self, *_):
        super().__exit__()
        self.drop()


def run_one(kept, path, source, server, binary, engine):
    """Runs one file. An exception is a failed outcome."""
    try:
        (name,) = gabbi_file.fixtures_of(path)
        chosen = gabbi_fixtures.fixture(name)
        if source == "adopted":
            service = kept.get(name, lambda: Adopted(name, server, chosen, binary, engine))
            environ = service.environ
        else:
            service = kept.get(repr((chosen.options, chosen.files)), lambda: live.Service(
                server, chosen.options, binary, files=chosen.files, engine=engine))
            environ = gabbi_fixtures.prepare(chosen, service.port)
        outcome = gabbi_file.run(path, service.port, environ)
        if service.process.poll() is not None:
            outcome.failed.append(("the service ended", service.log_end()))
    except Exception:
        outcome = gabbi_file.Outcome(path.stem)
        outcome.failed.append(("preparation", traceback.format_exc()))
    return outcome


def judge(outcome, reason, listed):
    """Prints one line about a file; returns whether the file is a failure."""
    numbers = (f"{outcome.passed:4} passed {len(outcome.failed):4} failed "
               f"{len(outcome.skipped):4} skipped")
    whole = not outcome.failed and not outcome.skipped and outcome.passed
    if not listed:
        word = "NOT LISTED: add it to expected.txt"
    elif reason is None:
        word = "" if whole else "FAILED: expected to pass"
    else:
        word = "passes: add it to expected.txt" if whole else f"later: {reason}"
    print(f"{outcome.name:42} {numbers}  {word}".rstrip(), flush=True)
    return not listed or (reason is None and not whole)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--server")
    parser.add_argument("files", nargs="*", help="names of gabbi files, without .yaml")
    parser.add_argument("--fixtures", choices=("rest", "adopted"), default="rest")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true", help="show failures in full")
    arguments = parser.parse_args()

    listed = expected()
    if arguments.server == "upstream":
        listed = dict.fromkeys(listed)  # OpenStack Placement has to pass all its own files
    paths = sorted(suite().glob("*.yaml"))
    missing = set(listed) - {path.stem for path in paths}
    if arguments.files:
        wanted = {pathlib.Path(name).stem for name in arguments.files}
        paths = [path for path in paths if path.stem in wanted]
        missing = wanted - {path.stem for path in paths}
    broken = [f"{name}: no such file in the suite" for name in sorted(missing)]
    paths.sort(key=gabbi_file.fixtures_of)  # files of one fixture may share a service

    outcomes = []
    with engines.Engine(arguments.engine) as engine:
        for outcome in kept_services.run_all(
                run_one, paths, arguments.jobs, arguments.fixtures, arguments.server, arguments.binary, engine):
            outcomes.append(outcome)
            name = outcome.name
            if judge(outcome, listed.get(name), name in listed):
                broken.append(name)
            shown = outcome.failed if arguments.verbose else []
            if name in broken and not shown:
                shown = [(test, description.splitlines()[0]) for test, description in outcome.failed[:3]]
            for test, description in shown:
                print(f"    FAILED {test}")
                print("".join(f"        {line}\n" for line in description.splitlines()), end="")
    report(outcomes, listed, broken)


def report(outcomes, listed, broken):
    """Prints two sums: of all tests that ran, and of the stage, which counts failures in `later` files as skipped."""
    passed = sum(o.passed for o in outcomes)
    failed = sum(len(o.failed) for o in outcomes)
    skipped = sum(len(o.skipped) for o in outcomes)
    whole = sum(1 for o in outcomes if o.passed and not o.failed and not o.skipped)
    print(f"\nOpenStack Placement's suite: {whole} of {len(outcomes)} files and {passed} of "
          f"{passed + failed + skipped} tests pass")
    for name in broken:
        print(f"BROKEN  {name}")
    required = [o for o in outcomes if listed.get(o.name) is None]
    good = sum(o.passed for o in outcomes)
    bad = sum(len(o.failed) for o in required) + sum(
        1 for name in broken if not any(o.name == name and o.failed for o in required))
    later = failed - sum(len(o.failed) for o in required) + skipped
    print(f"{good} passed, {bad} failed, {later} skipped")
    sys.exit(1 if broken or not outcomes else 0)


if __name__ == "__main__":
    main()
