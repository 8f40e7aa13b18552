"""A disk that refuses writes: the process is ready for searches, says degraded, and is whole again with room."""

import contextlib
import os
import shutil
import subprocess
import uuid

from functional_tests.lib.patience import SERVICE_SECONDS, eventually
from functional_tests.process import full_disk, read_only
from functional_tests.process.cases import Skip, case, chance, check, equal, folder
from functional_tests.process.claims import HOSTS, ClientGroup, claim, prepare
from functional_tests.process.locked import check_reads, consumer, is_busy, serving
from functional_tests.process.placet_process import Placet
from functional_tests.readiness.balanced import Searches
from functional_tests.readiness.states import ALL_READY, becomes, degraded, stays
from functional_tests.rolling.run import Balancer, all_up

# More than the free room without which the disk counts as full.
FREED_BYTES = 3_000_000
# Less than that room.
LITTLE_BYTES = 400_000


def fits(placet):
    return placet.rest("POST", "/resource_providers", {"name": str(uuid.uuid4())}).status == 200


@case("found N2: a small disk that is full: ready for searches and degraded, also after writes that fit; whole with room")
def small_and_full():
    with full_disk.small_disk() as disk, folder() as here:
        extra = read_only.database_variables(disk / "placet.sqlite")
        with Placet(here, serving(commit_timeout=SERVICE_SECONDS), extra=extra) as placet:
            prepare(placet.rest)
            becomes(placet.port, ALL_READY)
            filler = full_disk.take_room(disk, full_disk.LEFT_BYTES)
            clients = ClientGroup(chance("degraded"), clients=8)
            is_busy(full_disk.fill(placet, clients))
            becomes(placet.port, degraded("disk_full"))
            stays(placet.port, degraded("disk_full"))
            check_reads(placet)
            # With a little room the log's pages fit into the database, and then small writes into the log.
            os.truncate(filler, filler.stat().st_size - LITTLE_BYTES)
            eventually("a write fits", lambda: fits(placet))
            stays(placet.port, degraded("disk_full"), looks=60)
            filler.unlink()
            subprocess.run(["mount", "-o", f"remount,{full_disk.LARGE_DISK}", str(disk)], check=True)
            check(full_disk.free_bytes(disk) > FREED_BYTES, full_disk.free_bytes(disk))
            # Without a write of a client: a balancer that asks for writes sends none.
            becomes(placet.port, ALL_READY)
            equal(placet.rest("PUT", f"/allocations/{consumer(9996)}", claim(HOSTS[0])).status, 204)
            stays(placet.port, ALL_READY, looks=30)
            lines = placet.log()
            equal((lines.count("and refuses writes: its disk is full"), lines.count("accepts writes again")), (1, 1))


@case("found N2: two processes on a full disk behind HAProxy stay up, and answer every search")
def behind_a_balancer():
    if not shutil.which("haproxy"):
        raise Skip("needs Debian's haproxy")
    with full_disk.small_disk() as disk, folder() as here, contextlib.ExitStack() as stack:
        processes = []
        for number in range(2):
            folder_of_one = here / str(number)
            folder_of_one.mkdir()
            extra = read_only.database_variables(disk / f"placet{number}.sqlite")
            processes.append(stack.enter_context(
                Placet(folder_of_one, serving(commit_timeout=SERVICE_SECONDS), extra=extra)))
            prepare(processes[-1].rest)
        balancer = stack.enter_context(Balancer(here, [each.port for each in processes]))
        balancer.wait_for(all_up)
        searches = stack.enter_context(Searches(balancer.port))
        full_disk.take_room(disk, full_disk.LEFT_BYTES)
        for number, each in enumerate(processes):
            is_busy(full_disk.fill(each, ClientGroup(chance(f"degraded {number}"), clients=8)))
            becomes(each.port, degraded("disk_full"))
        for each in processes:
            stays(each.port, degraded("disk_full"))
        check(all_up(balancer.servers()), balancer.servers())
        searches.check()


@case("found N2: a disk that becomes read-only under placet: ready for searches and degraded")
def it_turns_read_only():
    with folder() as here, read_only.failing_disk(here) as (disk, fail):
        extra = read_only.database_variables(disk / "placet.sqlite")
        options = {"placet": {"commit_timeout": str(read_only.COMMIT_TIMEOUT_SECONDS)}}
        with Placet(here, options, extra=extra) as placet:
            prepare(placet.rest)
            becomes(placet.port, ALL_READY)
            fail()
            is_busy(placet.rest("PUT", f"/allocations/{consumer(10)}", claim(HOSTS[0])))
            is_busy(placet.rest("PUT", f"/allocations/{consumer(11)}", claim(HOSTS[0])))
            becomes(placet.port, degraded("read_only"))
            stays(placet.port, degraded("read_only"))
            check_reads(placet)
