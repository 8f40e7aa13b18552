"""The chart that README.md shows: requests a second of both sides on a logarithmic scale, in the first cloud, and below
it the ratios of all clouds."""

import json
import math
import sys

import clouds
from figures import ENGINES, median, place
from generator import ROOT
from svg import COLOURS, GREY, LEFT, WIDTH, box, named, short, text

FILE = ROOT / "docs/bench.svg"
RIGHT, TOP, ROW, BAR = 170, 104, 40, 14
NAMES = {"placet": "placet", "upstream": "OpenStack Placement"}
FONT = "font-family=\"-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\""
# Keeps a gridline from crossing a figure that stands on it.
HALO = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'


def write(found, path=FILE):
    path.write_text(svg(found))


def svg(found):
    """Of what both sides did; without any of that it is empty."""
    rows = _rows(found["records"])
    bars = TOP + ROW * len(rows) + 48
    height = bars + clouds.height(found["records"])
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'{FONT}>',
        box(0, 0, WIDTH, height, "#ffffff", corner=8),
        *(_bars(found, rows, bars) if rows else ()),
        *clouds.draw(found["records"], bars),
        "</svg>", ""])


def _bars(found, rows, height):
    """The first engine and shape that were measured."""
    rates = [rate for _, pair in rows for rate in pair.values()]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))

    def x(rate):
        return LEFT + (math.log10(rate) - low) / max(1, high - low) * (WIDTH - LEFT - RIGHT)

    first = found["records"][0]
    yield text(24, 36, "Requests a second, side by side", size=20, weight=600)
    yield text(24, 62, f"{first['hosts']:,} hosts, {first['shape']}, {ENGINES.get(first['engine'], first['engine'])}; "
                       f"{found['machine']['cores']} cores for clients, service and database; a gridline is ten times "
                       "the one before", colour=GREY)
    yield from _legend()
    yield from _grid(range(low, high + 1), x, height)
    for number, (name, pair) in enumerate(rows):
        yield from _pair(name, pair, TOP + ROW * number, x)


def _rows(records):
    """Names with the rates of both, of whatever both did."""
    rows = {}
    for it in records:
        if place(it) == place(records[0]) and it["side"] in COLOURS and (rate := median(it, "rate")):
            rows.setdefault(named(it["scenario"], it["clients"], it["group"]), {})[it["side"]] = rate
    return [(name, pair) for name, pair in rows.items() if len(pair) == 2]


def _pair(name, pair, top, x):
    yield text(LEFT - 12, top + 20, name, anchor="end")
    for at, (side, colour) in enumerate(COLOURS.items()):
        y, width = top + 1 + at * (BAR + 1), max(2, x(pair[side]) - LEFT)
        yield box(LEFT, y, width, BAR, colour)
        yield text(LEFT + width + 6, y + 12, short(pair[side]), colour=GREY, extra=HALO)
    ratio = pair["placet"] / pair["upstream"]
    yield text(WIDTH - 24, top + 21, f"{short(ratio)} ×", size=16, anchor="end", weight=600, colour=COLOURS["placet"])


def _legend():
    at = 24
    for side, colour in COLOURS.items():
        yield box(at, 77, 12, 12, colour)
        yield text(at + 18, 88, NAMES[side])
        at += 90
    yield text(WIDTH - 24, 88, "ratio", anchor="end", colour=GREY)


def _grid(powers, x, height):
    for power in powers:
        at = x(10 ** power)
        yield f'<line x1="{at:.1f}" y1="{TOP - 4}" x2="{at:.1f}" y2="{height - 38}" stroke="#d0d7de" stroke-width="1"/>'
        yield text(at, height - 18, short(10 ** power), anchor="middle", colour=GREY)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        write(json.load(file))
