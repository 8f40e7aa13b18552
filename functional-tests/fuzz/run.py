"""Fuzzes the parsers of placet: queries, bodies, conditions, policy files, database URLs, heads of requests, options.

    python -m functional_tests.fuzz.run [--seconds N | --inputs N] [--seed N] [--binary PATH] [TARGET …]

Inputs are random edits of known inputs. Answers are compared with an oracle, if any: OpenStack Placement's JSON parser
and schemas for bodies, WebOb's parser and these schemas for queries, a second reader for conditions, oslo.config's
parser for placement.conf. Elsewhere placet must answer in its form, end with one of its exit codes, and never panic. A
failing input is shortened and written to a file; from `kept/TARGET/` it is tried first in every run.
"""

import argparse
import os
import pathlib
import random
import tempfile
import time

import jsonschema

from functional_tests.fuzz import mutation
from functional_tests.fuzz.targets import TARGETS, UUID
from functional_tests.lib import upstream
from functional_tests.lib.test_counts import TestCounts
from functional_tests.process import cases
from functional_tests.process.placet_process import Placet

FULL_SECONDS = 60
MAX_FAILURES = 5


def failure(target, data, seed):
    """What is wrong with the answer to an input, or None. The seed chooses what the target leaves open."""
    try:
        target.check(data, random.Random(seed))
    except AssertionError as error:
        return str(error)
    return None


def fuzz(tests, name, target, options):
    choices, begin, tried, failures = random.Random(f"{options.seed}/{name}"), time.monotonic(), 0, set()
    inputs = iter(mutation.kept(name) + target.seeds)
    while len(failures) < MAX_FAILURES and not is_over(target, options, tried, time.monotonic() - begin):
        data, seed = next(inputs, None) or mutation.mutated(choices, target.seeds, target.words), choices.random()
        tried += 1
        wrong = failure(target, data, seed)
        if wrong and wrong[:60] not in failures:
            failures.add(wrong[:60])
            report(tests, name, target, data, seed)
    if not failures:
        tests.ok(f"{name}: {tried} inputs in {time.monotonic() - begin:.0f} s")


def is_over(target, options, tried, seconds):
    """Whether a target has had its inputs, or its time if no number of inputs is given."""
    return seconds > options.seconds if options.inputs is None else tried >= options.inputs // target.INPUT_COST


def report(tests, name, target, data, seed):
    data = mutation.shortest(data, lambda shorter: failure(target, shorter, seed) is not None)
    path = pathlib.Path(tempfile.gettempdir(), f"placet-fuzz-{name}-{abs(hash(data)):x}")
    path.write_bytes(data)
    tests.fail(f"{name}: {data[:300]!r} (in {path}; copy it to functional-tests/fuzz/kept/{name}/)",
               failure(target, data, seed))


def open_policy(here):
    """The options of a service that allows a reshape, which is for other services alone."""
    (here / "open.yaml").write_text('"placement:reshaper:reshape": "@"\n')
    return {"oslo_policy": {"policy_file": str(here / "open.yaml")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=FULL_SECONDS, help="for each target")
    parser.add_argument("--inputs", type=int, help="for each target, instead of --seconds; a tenth if each starts a process")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--binary")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    options = parser.parse_args()
    cases.settings["binary"] = options.binary
    print(f"seed {options.seed} (--seed {options.seed} repeats the inputs)", flush=True)
    tests = TestCounts()
    upstream.check_each_schema_once(jsonschema.Draft202012Validator)
    os.environ.pop("RUST_LOG", None)
    with cases.folder() as here, Placet(here, open_policy(here)) as placet:
        placet.rest.must("POST", "/resource_providers", {"name": "there", "uuid": UUID})
        for name in options.targets or TARGETS:
            fuzz(tests, name, TARGETS[name](placet), options)
        panics = [line for line in placet.log().splitlines() if "A panic at" in line or "panicked" in line]
        tests.equal("nothing has panicked", [], panics[:5])
        placet.alive()
    tests.finish()


if __name__ == "__main__":
    main()
