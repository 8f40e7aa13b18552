"""The tests of several processes must notice when a guard is missing: each mutant must make some of them fail.

    race/mutants_following.py
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tally import Tally  # noqa: E402

MUTANTS = ["share-in-flight", "set-deltas", "apply-twice", "drop-fence", "revisions-before", "prune-without-epoch"]
TESTS = ["following", "several", "identity_tests"]
SEED = "2026"


def run(mutant):
    environment = os.environ | {"PLACET_MUTANT": mutant, "PLACET_SEED": SEED, "PLACET_STEPS": "600"}
    return subprocess.run(
        ["cargo", "test", "--quiet", "--lib", "--features", "mutants", "--", *TESTS],
        capture_output=True, text=True, timeout=1800, cwd=HERE.parent.parent, env=environment)


def unmutated_passes():
    done = run("none")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def is_noticed(mutant):
    done = run(mutant)
    failed = sorted(set(re.findall(r"^    (\S+::\S+)$", done.stdout, re.M)))
    assert done.returncode != 0 and failed, f"the mutant {mutant} passed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    print(f"{mutant}: {len(failed)} tests fail, as {failed[0]}")


def main():
    tally = Tally()
    tally.step("without a mutant", unmutated_passes)
    for mutant in MUTANTS:
        tally.step(f"mutant {mutant} is noticed", is_noticed, mutant)
    tally.finish()


if __name__ == "__main__":
    main()
