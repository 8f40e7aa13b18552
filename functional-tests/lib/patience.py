"""How long tests wait. README.md, "Bounds of waiting", has the rule.

A wait ends when its condition holds. The bound exists only because a defect may make the wait endless. HANG_SECONDS is
more than ten times the duration of any start, answer or command on a busy machine. A defect is then found late, and a
slow machine fails no test.
"""

import time

HANG_SECONDS = 600
PAUSE_SECONDS = 0.02  # between two looks
# placet's own timeouts, for a test of something else: no request is refused because the machine is slow. A write may
# take twice `commit_timeout`, and a client waits longer than that.
SERVICE_SECONDS = 250
# What does not wait for such a timeout is answered in a tenth of it.
IN_TIME_SECONDS = SERVICE_SECONDS / 10
OPTIONS = {"placet": {"commit_timeout": str(SERVICE_SECONDS)},
           "placement_database": {"pool_timeout": str(SERVICE_SECONDS)}}


def eventually(what, holds, pause=PAUSE_SECONDS):
    """Calls `holds` until it returns something true, and returns that. An exception of `holds` ends the wait.

    `what` is what does not happen, or a function that returns the sentence.
    """
    deadline = time.monotonic() + HANG_SECONDS
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {HANG_SECONDS} s: {what() if callable(what) else what}")
        time.sleep(pause)
    return found


def becomes(what, expected, look, pause=PAUSE_SECONDS):
    """Calls `look` until it returns `expected`."""
    eventually(lambda: f"{what} is {look()}, expected {expected}", lambda: look() == expected, pause)


def succeeds(what, attempt, errors=Exception, pause=PAUSE_SECONDS):
    """Calls `attempt` until it raises none of `errors`, and returns its result."""
    results, raised = [], []

    def holds():
        try:
            results.append(attempt())
        except errors as error:
            raised[:] = [error]
        return bool(results)

    eventually(lambda: f"{what}: {raised[0]!r}", holds, pause)
    return results[0]
