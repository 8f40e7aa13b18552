"""The result of a run: as text, and as one line of JSON for the table (table.py)."""

import json
import os
import statistics
from collections import Counter, defaultdict

from functional_tests.chaos import liveness


class Report:
    def __init__(self, options):
        self.options = options
        self.counts, self.kinds = Counter(), Counter()
        self.recoveries = defaultdict(list)  # fault -> seconds until all processes granted claims again
        self.took_hold = Counter()  # fault -> how often it did what it is
        self.baseline = []  # the same seconds without a fault, which show the load of the machine
        self.load = os.getloadavg()[0]
        self.checks = 0
        self.seconds = 0

    def recovered(self, name, baseline, lasted, took):
        self.recoveries[name].append(took)
        self.baseline.append(baseline)
        print(f"{name}: lasted {lasted:.2f} s, recovery took {took:.2f} s ({baseline:.2f} s without fault)", flush=True)

    @staticmethod
    def waits(local_faults, operations, calm_seconds):
        """Prints how long bystanders waited during each local fault, and without a fault."""
        for fault in local_faults:
            spared = liveness.spared_by(fault, operations)
            longest = max((liveness.percentile(liveness.durations_of(each)) for each in spared.values()), default=0)
            print(f"{fault['name']}: requests for other rows took {longest:.2f} s, and without a fault "
                  f"{liveness.percentile(calm_seconds):.2f} s ({liveness.PERCENTILE:.0%} were not slower)", flush=True)

    def violated(self, violations):
        self.kinds += Counter(violation.kind for violation in violations)

    def without_hold(self, least):
        """The faults that were injected at least `least` times and never took hold: they tested nothing."""
        return [name for name, times in self.recoveries.items() if len(times) >= least and not self.took_hold[name]]

    @property
    def operations(self):
        return sum(self.counts[outcome] for outcome in ("ok", "refused", "unknown"))

    def show(self, foreign_claims):
        outcomes = ", ".join(f"{self.counts[outcome]} {outcome}" for outcome in ("ok", "refused", "unknown"))
        print(f"{self.operations} operations that write: {outcomes}; {self.counts['gangs']} granted gangs; "
              f"{self.counts['workloads']} workloads; "
              f"{self.counts['repeats']} repeated calls; {self.counts['reads']} reads; "
              f"{foreign_claims} claims of a foreign writer; {self.checks} quiescent checks", flush=True)
        for name, times in sorted(self.recoveries.items()):
            print(f"{len(times)} times {name}, {self.took_hold[name]} took hold: recovered within {statistics.median(times):.2f} s (median), "
                  f"{max(times):.2f} s at most", flush=True)
        if self.baseline:
            print(f"without a fault all processes grant claims within {statistics.median(self.baseline):.2f} s "
                  f"(median), {max(self.baseline):.2f} s at most", flush=True)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        print(f"{sum(self.kinds.values())} violations{': ' if kinds else ''}{kinds}", flush=True)

    def save(self, path):
        options = self.options
        path.write_text(json.dumps({
            "engine": options.engine, "server": options.server, "mutant": options.mutant,
            "processes": options.processes, "clients": options.clients, "foreign_writer": options.foreign_writer,
            "seed": options.seed, "seconds": round(self.seconds), "faults": options.faults,
            "load": round(self.load, 1), "operations": self.operations,
            **{name: self.counts[name] for name in ("ok", "refused", "unknown", "reads")},
            "checks": self.checks, "violations": dict(self.kinds), "baseline": times_of(self.baseline),
            "recoveries": {name: times_of(times) for name, times in self.recoveries.items()},
        }) + "\n")


def times_of(seconds):
    return {"times": len(seconds), "median": round(statistics.median(seconds or [0]), 2),
            "worst": round(max(seconds, default=0), 2)}
