"""Thousands of idle connections cost little memory and no processor time, and do not delay busy clients."""

import json
import resource

from functional_tests.process.cases import case, check, equal, folder, settings
from functional_tests.process.hostile_connections import serves_well
from functional_tests.process.placet_process import Placet
from functional_tests.process.raw_http import RawConnection, request
from functional_tests.process.searches import IDLE_PROCESSOR_SHARE, memory, processor_share

# Of a debug build. A connection has two buffers, a timer, and its state in actix and tokio.
MAX_BYTES_EACH = 24_000
# Descriptors of this process and of placet that are no connections.
OTHER_FILES = 500
# An address has half of placet's connections: more than the idle ones, and room for those that are served.
PLACES_EACH = 3


def count():
    """10,000 at full size, as far as the limit of open files allows."""
    wanted = 10_000 if settings["full"] else 2_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, (hard - OTHER_FILES) // PLACES_EACH)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted + OTHER_FILES), hard))
    return wanted


@case("10,000 idle connections (2,000 in a short run) take less than 24 kB each and no time, and delay no request")
def idle():
    wanted = count()
    options = {"placet": {"max_connections": str(wanted * PLACES_EACH)}}
    with folder() as here, Placet(here, options) as placet:
        serves_well(placet)
        before = memory(placet)
        raws = []
        try:
            for _ in range(wanted):
                raws.append(RawConnection(placet.port))
                raws[-1].send(request("GET", "/"))
                if len(raws) % 100 == 0:
                    for raw in raws[-100:]:
                        equal(raw.reply().status, 200)
            each = (memory(placet) - before) * 1024 * 1024 / wanted
            print(f"{wanted} idle connections: {each:.0f} bytes each", flush=True)
            check(each < MAX_BYTES_EACH, f"a connection takes {each:.0f} bytes")
            serves_well(placet)
            share = processor_share(placet, 2)
            check(share < IDLE_PROCESSOR_SHARE, f"idle connections take {share:.2f} of a processor")
            # All of them are still served: the first, the last, and some between.
            for raw in raws[::wanted // 50] + raws[-1:]:
                raw.send(request("GET", "/"))
                equal(json.loads(raw.reply().body)["versions"][0]["id"], "v1.0")
        finally:
            for raw in raws:
                raw.socket.close()
        placet.alive()
