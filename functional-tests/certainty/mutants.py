"""Without the fence, a COMMIT that comes late must be noticed: callers are told that nothing happened, and it did.

    certainty/mutants.py [--engine postgresql|mariadb] --binary PATH [--runs N]     (built with the feature `mutants`)
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mutated import Case, Mutated, arguments  # noqa: E402

if __name__ == "__main__":
    given = arguments(__doc__, engines=("postgresql", "mariadb"))
    run = ["--engine", given.engine, "--no-full", "strikes"]
    Mutated(HERE / "run.py", given).check(controls=[run], cases=[Case("drop-fence", run, ("it happened all the same",))])
