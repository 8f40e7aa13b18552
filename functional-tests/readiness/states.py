"""The readiness of a process, by `/health/ready` and by the metrics."""

from functional_tests.lib import patience
from functional_tests.metrics import scrape
from functional_tests.metrics.health import READY, ask

FOR_WRITES = f"{READY}?for=writes"
ALL_READY, NONE_READY = (200, 200, []), (503, 503, [])


def degraded(*reasons):
    """The state of a process that is degraded for these reasons."""
    return 200, 503, list(reasons)


def state(port):
    """The status of the readiness, of the readiness for writes, and the reasons for which the process is degraded."""
    ready, writes = ask(port, READY), ask(port, FOR_WRITES)
    return ready.status, writes.status, ready.json.get("degraded", [])


def becomes(port, expected, headers=None):
    """Waits for the state. The metric then names the same reasons; `headers` are the scraper's."""
    patience.becomes("the readiness", expected, lambda: state(port), pause=0.2)
    shown = scrape.read(port, headers).by("placet_degraded", "reason")
    assert [reason for reason, value in shown.items() if value] == expected[2], (expected, shown)


def stays(port, expected, looks=40):
    """The state is this one at each of several looks, a tenth of a second apart."""
    seen = []
    patience.eventually("the looks end", lambda: seen.append(state(port)) or len(seen) == looks, pause=0.1)
    assert set(map(repr, seen)) == {repr(expected)}, f"expected {expected}, seen {seen}"


def reason(port):
    """Why the process is not ready, or `None` if the process is ready."""
    return ask(port, READY).json.get("reason")


def becomes_unready(port, why):
    """Waits for this reason. A process that starts is not ready for another reason before Keystone's first answer."""
    patience.becomes("the reason", why, lambda: reason(port), pause=0.2)
    assert state(port) == NONE_READY, state(port)
