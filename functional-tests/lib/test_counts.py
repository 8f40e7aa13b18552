"""Counts passed, failed and skipped tests, and prints the sum in the form that tox.sh reads."""

import difflib
import pprint
import sys
import traceback

SHOWN_LINES = 30


def difference(expected, got):
    """Both values if they are short, or else the lines that differ."""
    if len(repr(expected)) + len(repr(got)) < 400:
        return f"expected: {expected!r}\ngot:      {got!r}"
    lines = difflib.unified_diff(
        pprint.pformat(expected).splitlines(), pprint.pformat(got).splitlines(),
        "expected", "got", lineterm="", n=1)
    shown = list(lines)
    more = [f"({len(shown) - SHOWN_LINES} lines more)"] if len(shown) > SHOWN_LINES else []
    return "\n".join(shown[:SHOWN_LINES] + more)


def raised(error):
    """What a failed test says of an exception: the answer in the exception of a client, or else the traceback."""
    answer = getattr(error, "response", None)
    if answer is None:
        return traceback.format_exc()
    return f"{error!r}\nanswered with {answer.status_code} {answer.text}"


class Skipped(Exception):
    """Raised by a step that cannot be tested at the moment."""


class TestCounts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        """Adds the counts of `other`."""
        self.passed, self.failed, self.skipped = (
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def ok(self, name, show=True):
        self.passed += 1
        if show:
            print(f"ok      {name}", flush=True)

    def fail(self, name, detail=""):
        self.failed += 1
        print(f"FAILED  {name}", flush=True)
        for line in str(detail).splitlines():
            print(f"        {line}", flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skipped {name}: {reason}", flush=True)

    def equal(self, name, expected, got, show=True):
        if expected == got:
            self.ok(name, show)
        else:
            self.fail(name, difference(expected, got))
        return expected == got

    def step(self, name, function, *arguments, show=True):
        """Runs one test, which passes unless it raises. Returns its result, or None."""
        try:
            result = function(*arguments)
        except Skipped as reason:
            self.skip(name, reason)
        except AssertionError as error:
            self.fail(name, error)
        except Exception as error:  # any other exception is reported as a failure, and the run continues
            self.fail(name, raised(error))
        else:
            self.ok(name, show)
            return result
        return None

    def cases(self, cases, chosen, *arguments, begin=""):
        """Runs each function as a test that is named as the function; only those with a part of a name in `chosen`, if
        there is any."""
        for case in cases:
            if not chosen or any(part in case.__name__ for part in chosen):
                self.step(begin + case.__name__.replace("_", " "), case, *arguments)

    def finish(self):
        """Prints the sum as the last line, and exits with 1 if a test failed or none was run."""
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed or not self.passed + self.skipped else 0)
