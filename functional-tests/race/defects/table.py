"""The same races on OpenStack Placement and on placet, as a table of README.md.

    race/defects/table.py [--binary PATH] [--rounds N] [--seed N] [--write]

PostgreSQL and MariaDB, each with two processes of each service. --write puts the table into README.md.
"""

import os
import pathlib
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent.parent), str(HERE.parent)]

import command_line  # noqa: E402
import engines  # noqa: E402
import readme  # noqa: E402
from races import RACES  # noqa: E402
from run import measure, services  # noqa: E402

BEGIN, END = "<!-- race/defects/table.py --write begins here -->", "<!-- race/defects/table.py ends here -->"
HEAD = ("| what goes wrong | PostgreSQL: OpenStack Placement | placet | MariaDB: OpenStack Placement | placet |\n"
        "|" + "---|" * 5)


def column(kind, server, options):
    """By race: in how many rounds the defect was seen."""
    with engines.Engine(kind) as engine, services(server, engine, options.binary) as found:
        print(f"{server}, {kind}", flush=True)
        return {name: measure(name, options.rounds, options.seed, found, shown=0)[0] for name in RACES}


def introduction(options):
    text = (f"{options.rounds} rounds of each race (seed {options.seed}), eight clients and two processes of each service, "
            f"judged by SQL and by the answers; {readme.machine(f'{os.getloadavg()[0]:.0f} at the begin')}. A figure is the "
            "number of rounds in which it was seen.")
    return "\n".join(textwrap.wrap(text, 120))


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    told = introduction(options)
    columns = [column(kind, server, options) for kind in ("postgresql", "mariadb") for server in ("upstream", "placet")]
    rows = []
    for name, race in RACES.items():
        rows.append(f"| {race.__doc__} | " + " | ".join(str(found[name]) for found in columns) + " |")
    text = "\n".join([told, "", HEAD, *rows])
    print(text)
    if options.write:
        readme.write(BEGIN, END, text)


if __name__ == "__main__":
    main()
