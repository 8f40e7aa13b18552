"""Builds histories for the test of the checker (checker_test.py)."""

from functional_tests.chaos.history import OK, UNKNOWN, Operation

HOST, POOL = "host", "pool"
ONE, TWO = {HOST: {"VCPU": 1}}, {POOL: {"DISK_GB": 2}}
INITIAL = {HOST: 1, POOL: 1}
TOTALS = {HOST: {"VCPU": 2}, POOL: {"DISK_GB": 4}}
ORDER, RELEASED_TWICE, HALF_DONE, GENERATION, USAGE, OVERSUBSCRIBED, LATE, REFUSED_WRONGLY, REPEATED = (
    "no order", "released twice", "half done", "generation", "usage", "oversubscribed", "late", "refused", "repeated")
# A fault that concerns process 1, and bystanders' requests without a fault.
FAULT = {"name": "fault", "began": 100, "ended": 110, "touched": [1]}
CALM_SECONDS = [0.1] * 20
START = {"initial": INITIAL, "consumers": {}, "totals": TOTALS, "local_faults": [FAULT], "calm_seconds": CALM_SECONDS,
         "least_totals": TOTALS, "answers": {"old call": "200 old"}}


class Builder:
    """Builds a history: by default operations of one second each, one after the other."""

    def __init__(self):
        self.operations = []

    def add(self, kind, outcome, began=None, ended=None, **more):
        number = len(self.operations)
        began = 10 * number if began is None else began
        ended = None if outcome == UNKNOWN and ended is None else began + 1 if ended is None else ended
        self.operations.append(Operation(number, kind, began, ended=ended, outcome=outcome, **more))
        return self

    def put(self, consumer, holds, expects, outcome=OK, **more):
        return self.add("put", outcome, sets={consumer: holds}, expects={consumer: expects}, touches=[*holds], **more)

    def post(self, sets, expects, outcome=OK, **more):
        touches = sorted({provider for holds in sets.values() for provider in holds})
        return self.add("post", outcome, sets=sets, expects=expects, touches=touches, **more)

    def delete(self, consumer, outcome=OK, **more):
        return self.add("delete", outcome, sets={consumer: {}}, **more)

    def call(self, choices, outcome=OK, got=None, **more):
        """A claim with a choice for new consumers: consumer -> candidates. `got` is what an answer says."""
        sets = got or {consumer: places[0] for consumer, places in choices.items()}
        touches = [provider for holds in sets.values() for provider in holds]
        if not got:
            touches = [provider for places in choices.values() for provider in {p for holds in places for p in holds}]
        return self.add("call", outcome, sets=sets, choices={} if got else choices, expects=dict.fromkeys(choices),
                        touches=touches, **more)

    def answer(self, call, text, **more):
        return self.add("repeat", OK, sees={f"answer:{call}": text}, **more)

    def read(self, consumer, holds, generation, **more):
        return self.add("read", OK, sees={f"consumer:{consumer}": (holds, generation)}, **more)

    def generation(self, provider, number, **more):
        return self.add("read generation", OK, sees={f"provider:{provider}": number}, **more)

    def usage(self, provider, amounts, **more):
        return self.add("candidates", OK, sees={f"usage:{provider}": amounts}, **more)
