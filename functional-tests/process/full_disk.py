"""No file may grow any more: what cannot be kept is refused, what was acknowledged stays."""

import resource

from cases import case, chance, check, equal, folder
from claims import HOSTS, Crowd, audit, claim, prepare
from locked import consumer, is_busy, reads_go_on
from placet import Placet

LIMIT = 3_500_000


def no_file_grows():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@case("a full disk: claims are refused with 503, reads go on, and a restart with room finds what was acknowledged")
def full_disk():
    # Python ignores SIGXFSZ and hands that down where signals are not restored: a write then fails as on a full disk.
    limited = {"preexec_fn": no_file_grows, "restore_signals": False}
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.stop()
        crowd = Crowd(chance("full disk"), clients=8)
        with Placet(here, {}, extra={"RUST_LOG": "error"}, **limited) as placet:
            refused = None
            for number in range(3000):
                name = consumer(number)
                crowd.host[name] = HOSTS[number % 4]
                answer = placet.rest("PUT", f"/allocations/{name}", claim(crowd.host[name]))
                if answer.status != 204:
                    refused = answer
                    break
                crowd.granted.add(name)
                if number % 3 == 2:
                    answer = placet.rest("DELETE", f"/allocations/{name}")
                    if answer.status != 204:
                        refused = answer
                        break
                    crowd.released.add(name)
            check(refused, "the disk never filled")
            is_busy(refused)
            check(len(crowd.granted) > 20, "full at once")
            reads_go_on(placet)
            placet.stop()
        with Placet(here, {}) as placet:
            audit(crowd, placet)
            equal(placet.rest("PUT", f"/allocations/{consumer(9999)}", claim(HOSTS[0])).status, 204)
