"""A table of docs/faults.md: the results of the same races on OpenStack Placement and on placet.

    python -m functional_tests.race.defects.table [--binary PATH] [--rounds N] [--seed N] [--write]

PostgreSQL and MariaDB, each with two processes of each service. --write puts the table into docs/faults.md.
"""

import os
import textwrap

from functional_tests.lib import command_line, engines, readme
from functional_tests.race.defects.races import RACES
from functional_tests.race.defects.run import measure, services

BEGIN = "<!-- functional-tests/race/defects/table.py --write begins here -->"
END = "<!-- functional-tests/race/defects/table.py --write ends here -->"
HEAD = ("| what goes wrong | PostgreSQL: OpenStack Placement | placet | MariaDB: OpenStack Placement | placet |\n"
        "|" + "---|" * 5)


def column(kind, server, options):
    """Race -> the number of rounds in which the defect was seen."""
    with engines.Engine(kind) as engine, services(server, engine, options.binary) as found:
        print(f"{server}, {kind}", flush=True)
        return {name: measure(name, options.rounds, options.seed, found, shown=0)[0] for name in RACES}


def introduction(options):
    machine = readme.machine(f"{os.getloadavg()[0]:.0f} at the start")
    text = (f"{options.rounds} rounds of each race (seed {options.seed}), eight clients and two processes of each "
            f"service, judged by SQL and by the answers. Measured on {machine}. A figure is the number of rounds in "
            "which the defect was seen.")
    return "\n".join(textwrap.wrap(text, 120))


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--write", action="store_true", help="put the table into docs/faults.md")
    options = parser.parse_args()
    head = introduction(options)
    columns = [column(kind, server, options) for kind in ("postgresql", "mariadb") for server in ("upstream", "placet")]
    rows = []
    for name, race in RACES.items():
        rows.append(f"| {race.__doc__} | " + " | ".join(str(found[name]) for found in columns) + " |")
    text = "\n".join([head, "", HEAD, *rows])
    print(text)
    if options.write:
        readme.write(readme.FAULTS, BEGIN, END, text)


if __name__ == "__main__":
    main()
