"""Without the fence, a COMMIT that comes late must be noticed: callers are told that nothing happened, and it did.

    certainty/mutants.py --engine postgresql|mariadb --binary PATH   (a binary built with `cargo build --features mutants`)
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import mutated  # noqa: E402

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="postgresql")
    parser.add_argument("--binary", required=True)
    options = parser.parse_args()
    run = ["--engine", options.engine, "--no-full", "strikes"]
    mutated.check(
        HERE / "run.py", options.binary, plain=run, mutated=run, reasons={"drop-fence": ("it happened all the same",)})
