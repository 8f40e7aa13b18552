"""PostgreSQL with a synchronous standby: after a fail-over to the standby no acknowledged write is lost.

    python -m functional_tests.standby.run [--seconds S] [--seed N] [--binary PATH]

Two placet processes have both servers in their URL, with `target_session_attrs=read-write`, and connect to the new
primary by themselves. First, COMMITs wait for a standby that is down. However the wait ends, a commit that the standby
never received is not acknowledged. Then, while clients claim, there are repeated fail-overs, each with a new standby. A
checker judges the history (chaos/checker.py). Prints the time from each promotion until all processes granted claims
again.
"""

import os
import random
import threading
import time

from functional_tests.chaos import run as chaos, services, topology
from functional_tests.lib import command_line, engines
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.lib.test_counts import TestCounts



class Claim(threading.Thread):
    """A claim in flight. `status` is that of the answer, or None before it."""

    def __init__(self, member, consumer, provider):
        super().__init__()
        self.member, self.consumer, self.provider = member, consumer, provider
        self.status, self.unknown = None, False

    def run(self):
        body = topology.body({self.provider: {"VCPU": 1}}, None)
        rest = self.member.rest
        rest.timeout = HANG_SECONDS
        answer = rest("PUT", f"/allocations/{self.consumer}", body)
        self.unknown = services.OUTCOME_UNKNOWN in str(answer)
        self.status = answer.status


class Waiting:
    """COMMITs that wait for a standby that is down."""

    def __init__(self, engine, database, members, seed):
        self.pair, self.database, self.members = engine.cluster, database, members
        self.chance = random.Random(f"{seed}/waiting")
        self.provider = topology.new_consumer(self.chance)
        rest = members[0].rest
        rest.must("POST", "/resource_providers", {"name": "waiting", "uuid": self.provider})
        rest.must("PUT", f"/resource_providers/{self.provider}/inventories", {
            "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100}}})

    def case(self, end_the_wait):
        """Ends a claim's wait for the standby by `end_the_wait`, and then fails over to the standby, which lacks it."""
        self.until(self.granted, "no claim is granted before the case")
        primary, standby = self.pair.nodes
        standby.kill()
        try:
            claim = self.claim()
            self.until(self.waiting, "no COMMIT waits for the standby")
            end_the_wait(primary)
            self.until(lambda: self.waiting() or claim.status, "placet does not resolve the in-doubt commit")
            time.sleep(1)
            assert claim.status != 204, "granted without a standby"
        finally:
            primary.kill()
            standby.restart()
            self.pair.promote()
            self.pair.replace_dead()
        claim.join(HANG_SECONDS)
        assert not claim.is_alive(), "the claim is not answered after the fail-over"
        self.judge(claim)

    def claim(self):
        claim = Claim(self.members[0], topology.new_consumer(self.chance), self.provider)
        claim.start()
        return claim

    def granted(self):
        """Whether a new claim is granted. After the previous case a writer may still be registering a new identity."""
        claim = self.claim()
        claim.join(HANG_SECONDS)
        return claim.status == 204

    def judge(self, claim):
        """Checks that the answer is true: the claim is stored if and only if it was granted, unless it is unknown."""
        stored = bool(self.database.query("SELECT 1 FROM consumers WHERE uuid = ?", [claim.consumer]))
        print(f"        answered {claim.status}{', unknown' if claim.unknown else ''}, "
              f"{'stored' if stored else 'not stored'}")
        assert claim.status in (204, 503), claim.status
        assert claim.unknown or stored == (claim.status == 204), "the answer is not true"

    def waiting(self):
        """The backends that wait for the standby."""
        primary = self.pair.nodes[0].database("postgres")
        return primary.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    def terminated(self, primary):
        """Ends the wait as an administrator would. The connection ends, and only the primary has the commit."""
        for (pid,) in self.waiting():
            primary.database("postgres").query("SELECT pg_terminate_backend(?)", [pid])

    def restarted(self, primary):
        """Ends the wait by a restart of the primary, which then has a commit that the standby lacks."""
        primary.kill()
        primary.restart()

    def until(self, holds, sentence):
        eventually(sentence, holds)


def main():
    parser = command_line.parser(__doc__, "--binary", "--seed")
    parser.add_argument("--seconds", type=float, default=120 if os.environ.get("PLACET_TEST_SIZE") == "full" else 6,
                        help="duration of the fail-overs")
    parser.add_argument("--clients", type=int, default=8)
    # The other options of chaos.
    parser.set_defaults(engine="postgresql-pair", server="placet", processes=2, faults=["fail-over"],
                        foreign_writer=False, mostly=None, mutant=None, keep_going=False, report=None)
    options = parser.parse_args()
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    tests = TestCounts()
    with engines.Engine(options.engine) as engine:
        database = engine.create()
        with services.members(options, [database]) as members:
            waiting = Waiting(engine, database, members, options.seed)
            tests.step("a claim whose wait for the standby is terminated is not acknowledged",
                       waiting.case, waiting.terminated)
            tests.step("a claim whose wait for the standby ends by a crash of the primary is not acknowledged",
                       waiting.case, waiting.restarted)
            run = chaos.Chaos(options, engine, database, members)
            run.tests = tests
            run.run()


if __name__ == "__main__":
    main()
