"""A table of the results of placet and of OpenStack Placement for the same workload under the same faults.

    python -m functional_tests.chaos.table [--minutes M] [--binary PATH] [--engines NAME,…] [--servers NAME,…]
                                           [--reports FOLDER] [--write]

Each run keeps going after violations and counts them. A run whose report for at least as many minutes is already in
FOLDER is not repeated. --write puts the table into docs/faults.md, which explains the columns.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from functional_tests.lib import command_line, readme

BEGIN = "<!-- functional-tests/chaos/table.py --write begins here -->"
END = "<!-- functional-tests/chaos/table.py --write ends here -->"
SEED = 2026
# On SQLite placet is one process, and OpenStack Placement's own documentation advises against it.
RUNS = [("placet", "sqlite", 1), *((server, engine, 3) for engine in ("postgresql", "mariadb", "galera")
                                   for server in ("placet", "upstream"))]
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mariadb": "MariaDB", "galera": "Galera, 3 nodes",
         "placet": "placet", "upstream": "OpenStack Placement"}
HEAD = ("| database | service | processes | operations that write | ok | refused | unknown | violations "
        "| recovery, median of the worst fault | worst | without a fault |\n|" + "---|" * 11)


def report(server, engine, processes, given):
    """The report of a run: an earlier one in the folder, or else that of a new run."""
    path = given.reports / f"{server}-{engine}.json"
    if path.exists() and (found := json.loads(path.read_text()))["seconds"] >= given.minutes * 60:
        return found
    command = [sys.executable, "-m", "functional_tests.chaos.run", "--server", server, "--engine", engine,
               "--processes", processes, "--minutes", given.minutes, "--seed", SEED, "--keep-going", "--report", path]
    command += ["--binary", given.binary] if given.binary else []
    print(f"{server} on {engine} …", file=sys.stderr, flush=True)
    with open(path.with_suffix(".log"), "w") as log:
        subprocess.run([str(word) for word in command], stdout=log, stderr=log, check=False)
    return json.loads(path.read_text())


def row(found):
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found["violations"].items()))
    count = f"{sum(found['violations'].values()):,}{f' ({kinds})' if kinds else ''}"
    worst, fault = max((it["worst"], name) for name, it in found["recoveries"].items())
    median, slowest = max((it["median"], name) for name, it in found["recoveries"].items())
    times = sum(it["times"] for it in found["recoveries"].values())
    baseline = found["baseline"]
    cells = [NAMES[found["engine"]], NAMES[found["server"]], found["processes"],
             *(f"{found[name]:,}" for name in ("operations", "ok", "refused", "unknown")), count,
             f"{median:.1f} s ({slowest})", f"{worst:.1f} s ({fault}), of {times} faults",
             f"{baseline['median']:.1f} s, {baseline['worst']:.1f} s at most"]
    return "| " + " | ".join(map(str, cells)) + " |"


def caption(found):
    faults = sorted({name for it in found for name in it["recoveries"]})
    loads = [it["load"] for it in found]
    seconds = min(it["seconds"] for it in found)
    text = (f"{found[0]['clients']} clients, {seconds:.0f} seconds for each run, seed {SEED}. Measured on "
            f"{readme.machine(f'{min(loads):.0f} to {max(loads):.0f} at the start')}. Faults: {', '.join(faults)}.")
    return textwrap.wrap(text, 120, break_on_hyphens=False)


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--engines", default="sqlite,postgresql,mariadb,galera")
    parser.add_argument("--servers", default="placet,upstream")
    parser.add_argument("--reports", type=pathlib.Path, help="the folder in which reports are written and found")
    parser.add_argument("--write", action="store_true", help="put the table into docs/faults.md")
    given = parser.parse_args()
    given.reports = given.reports or pathlib.Path(tempfile.mkdtemp(prefix="placet-chaos-"))
    given.reports.mkdir(exist_ok=True)
    found = [report(server, engine, processes, given) for server, engine, processes in RUNS
             if engine in given.engines.split(",") and server in given.servers.split(",")]
    text = "\n".join([*caption(found), "", *HEAD.splitlines(), *map(row, found)])
    print(text)
    if given.write:
        readme.write(readme.FAULTS, BEGIN, END, text)


if __name__ == "__main__":
    main()
