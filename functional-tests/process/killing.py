"""kill -9 in the middle of claims: what was acknowledged is there, and nothing is there by half."""

import subprocess
import time

import live
from cases import case, chance, check, folder, settings
from claims import Crowd, audit, prepare
from placet import Placet, binary, environment

KILLS = 6


def rounds():
    return 40 if settings["full"] else KILLS


@case("32 clients' claims survive kill -9 again and again: none acknowledged is lost, none is half there")
def kill_and_restart():
    random = chance("killing")
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.kill()
        crowd, acknowledged, refused = Crowd(random), 0, 0
        for _ in range(rounds()):
            with Placet(here, {}) as placet:
                before = len(crowd.granted)
                crowd.start(placet.port)
                crowd.wait_for_grants(before + 1)
                time.sleep(random.uniform(0, 0.6))
                placet.kill()
                crowd.finish()
                acknowledged += len(crowd.granted) - before
                refused += len(crowd.host) - len(crowd.granted) - len(crowd.unknown)
            with Placet(here, {}) as placet:
                audit(crowd, placet)
                crowd.make_room(placet.rest)
                audit(crowd, placet)
                placet.stop()
        print(f"        {rounds()} kills: {acknowledged} claims acknowledged, {refused} refused,"
              f" {len(crowd.unknown)} never answered", flush=True)
        check(acknowledged > rounds() and crowd.unknown, "the kills hit nothing")


@case("kill -9 while the tables are made leaves a file on which the next start succeeds")
def kill_at_first_start():
    random = chance("first start")
    for _ in range(rounds()):
        with folder() as here:
            path = live.write_config(here, {}, here / "placet.sqlite")
            process = subprocess.Popen(
                [binary(), "--config-file", str(path), "--bind", "127.0.0.1:0"], cwd=here, env=environment(here),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0.005, 0.12))
            process.kill()
            process.wait(20)
            with Placet(here, {}) as placet:
                placet.alive()
                check(len(placet.rest("GET", "/traits").json["traits"]) > 100, "standard traits are missing")
                prepare(placet.rest)
