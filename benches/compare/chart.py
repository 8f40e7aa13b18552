"""The chart that README.md shows: requests a second of both sides, on a logarithmic scale, and their ratio."""

import json
import math
import sys
from xml.sax.saxutils import escape

from generator import ROOT
from table import median, place

FILE = ROOT / "docs/bench.svg"
WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 960, 300, 170, 104, 40, 14
COLOURS = {"placet": "#0f766e", "upstream": "#b45309"}
NAMES = {"placet": "placet", "upstream": "OpenStack Placement"}
FONT = "font-family=\"-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\""
# Keeps a gridline from crossing a figure that stands on it.
HALO = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'


def write(found, path=FILE):
    path.write_text(svg(found))


def svg(found):
    """Of the first engine and shape that were measured."""
    rows = _rows(found["records"])
    rates = [rate for _, pair in rows for rate in pair.values()]
    low = math.floor(math.log10(min(rates)))
    high = math.ceil(math.log10(max(rates)))
    height = TOP + ROW * len(rows) + 48

    def x(rate):
        return LEFT + (math.log10(rate) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    first = found["records"][0]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'{FONT}>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        _text(24, 36, "Requests a second, side by side", size=20, weight=600),
        _text(24, 62, f"{first['hosts']:,} hosts, {first['shape']}, {_engine(first['engine'])}; "
                      f"{found['machine']['cores']} cores for clients, service and database; a gridline is ten times "
                      "the one before", colour="#57606a"),
        *_legend(),
        *_grid(range(low, high + 1), x, height),
    ]
    for number, (name, pair) in enumerate(rows):
        parts += _bars(name, pair, TOP + ROW * number, x)
    return "\n".join([*parts, "</svg>", ""])


def _rows(records):
    """Names with the rates of both, of whatever both did."""
    rows = {}
    for it in records:
        if place(it) == place(records[0]) and it["side"] in COLOURS and (rate := median(it, "rate")):
            clients = f", {it['clients']} clients" if it["group"] in ("claims", "scheduler", "report") else ""
            rows.setdefault(it["scenario"] + clients.replace("1 clients", "1 client"), {})[it["side"]] = rate
    return [(name, pair) for name, pair in rows.items() if len(pair) == 2]


def _bars(name, pair, top, x):
    yield _text(LEFT - 12, top + 20, name, anchor="end")
    for at, (side, colour) in enumerate(COLOURS.items()):
        y, width = top + 1 + at * (BAR + 1), max(2, x(pair[side]) - LEFT)
        yield f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'
        yield _text(LEFT + width + 6, y + 12, _short(pair[side]), colour="#57606a", extra=HALO)
    ratio = pair["placet"] / pair["upstream"]
    yield _text(WIDTH - 24, top + 21, f"{_short(ratio)} ×", size=16, anchor="end", weight=600, colour=COLOURS["placet"])


def _legend():
    at = 24
    for side, colour in COLOURS.items():
        yield f'<rect x="{at}" y="77" width="12" height="12" rx="2" fill="{colour}"/>'
        yield _text(at + 18, 88, NAMES[side])
        at += 90
    yield _text(WIDTH - 24, 88, "ratio", anchor="end", colour="#57606a")


def _grid(powers, x, height):
    for power in powers:
        at = x(10 ** power)
        yield f'<line x1="{at:.1f}" y1="{TOP - 4}" x2="{at:.1f}" y2="{height - 38}" stroke="#d0d7de" stroke-width="1"/>'
        yield _text(at, height - 18, _short(10 ** power), anchor="middle", colour="#57606a")


def _text(x, y, words, size=14, anchor="start", weight=400, colour="#1f2328", extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{colour}"{extra}>{escape(words)}</text>')


def _short(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _engine(name):
    return {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}.get(name, name)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        write(json.load(file))
