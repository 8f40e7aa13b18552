"""A process that stands still does not report a silent database, neither in the log nor in /health."""

import re
import signal
import time

from functional_tests.lib.patience import eventually
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet

LIMIT_SECONDS, STOPPED_SECONDS = 2, 7
STOOD_STILL = re.compile(r"WARN  \[placet::tasks::database_watch\] This process stood still for (\d+) s")


@case("found_n5_stopped: after SIGSTOP and SIGCONT the log says that the process stood still, and it is ready at once")
def stopped():
    with folder() as here, Placet(here, {"placet": {"ready_timeout": str(LIMIT_SECONDS)}}) as placet:
        eventually("placet is ready", lambda: placet.rest("GET", "/health/ready").status == 200)
        time.sleep(1)
        placet.signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        placet.signal(signal.SIGCONT)
        # From the first moment on, and until the database was silent for too long if it had been.
        until = time.monotonic() + LIMIT_SECONDS + 2
        while time.monotonic() < until:
            ready = placet.rest("GET", "/health/ready")
            equal((ready.status, ready.json["status"]), (200, "ready"), ready)
        log = placet.log()
        found = STOOD_STILL.findall(log)
        equal(len(found), 1, "lines about the standstill", log)
        check(STOPPED_SECONDS - 1 <= int(found[0]) <= STOPPED_SECONDS + 2, found)
        check("has not answered" not in log and "answers again" not in log, log)
        placet.stop()
