"""Counts what passed, failed and was skipped, and says it in the one way that tox.sh adds up."""

import sys
import traceback


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

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
            self.fail(name, f"expected: {expected!r}\ngot:      {got!r}")
        return expected == got

    def step(self, name, function, *arguments, show=True):
        """Runs one test: it passes if it raises nothing. Returns what it returned, or None."""
        try:
            result = function(*arguments)
        except AssertionError as error:
            self.fail(name, error)
        except Exception:  # any other end of a test is a failure to report, not to die of
            self.fail(name, traceback.format_exc())
        else:
            self.ok(name, show)
            return result
        return None

    def finish(self):
        """Prints the sum as the last line and ends the process."""
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed or not self.passed + self.skipped else 0)
