"""Draws docs/bench.svg: bars of requests per second in the first cloud, and a heat map of the ratios in all clouds.

    python -m benches.compare.chart RECORDS

RECORDS is the JSON file that a bench leaves.
"""

import json
import math
import sys

from benches.compare import heatmap
from benches.compare.summary import ENGINE_NAMES, cloud_of, median
from benches.compare.svg import COLOURS, GREY, LEFT, WIDTH, box, format_short, label, text
from functional_tests.lib.root import ROOT

FILE = ROOT / "docs/bench.svg"
RIGHT, TOP, ROW_HEIGHT, BAR_HEIGHT, FOOT_HEIGHT = 170, 104, 40, 14, 48
SYSTEM_NAMES = {"placet": "placet", "upstream": "OpenStack Placement"}
FONT = "font-family=\"-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\""
# A white outline, so that no gridline crosses a figure.
OUTLINE = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'


def write(found, path=FILE):
    path.write_text(svg(found))


def svg(found):
    """The whole chart. It has only scenarios that were measured on both systems, and may be empty."""
    rows = _rows(found["records"])
    bars = TOP + ROW_HEIGHT * len(rows) + FOOT_HEIGHT
    height = bars + heatmap.height(found["records"])
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'{FONT}>',
        box(0, 0, WIDTH, height, "#ffffff", corner=8),
        *(_bars(found, rows, bars) if rows else ()),
        *heatmap.draw(found["records"], bars),
        "</svg>", ""])


def _bars(found, rows, height):
    """The bars of the engine and shape that were measured first."""
    rates = [rate for _, pair in rows for rate in pair.values()]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))

    def x(rate):
        return LEFT + (math.log10(rate) - low) / max(1, high - low) * (WIDTH - LEFT - RIGHT)

    first = found["records"][0]
    yield text(24, 36, "Requests per second", size=20, weight=600)
    yield text(24, 62, f"{first['hosts']:,} hosts, {first['shape']}, {ENGINE_NAMES.get(first['engine'], first['engine'])}; "
                       f"{found['machine']['cores']} cores for clients, service and database; logarithmic scale",
               colour=GREY)
    yield from _legend()
    yield from _grid(range(low, high + 1), x, height)
    for number, (name, pair) in enumerate(rows):
        yield from _pair(name, pair, TOP + ROW_HEIGHT * number, x)


def _rows(records):
    """Labels with the rates of both systems, for each scenario that both were measured in."""
    rows = {}
    for record in records:
        is_in_first_cloud = cloud_of(record) == cloud_of(records[0])
        if is_in_first_cloud and record["system"] in COLOURS and (rate := median(record, "rate")):
            name = label(record["scenario"], record["clients"], record["group"])
            rows.setdefault(name, {})[record["system"]] = rate
    return [(name, pair) for name, pair in rows.items() if len(pair) == len(COLOURS)]


def _pair(name, pair, top, x):
    yield text(LEFT - 12, top + 20, name, anchor="end")
    for at, (system, colour) in enumerate(COLOURS.items()):
        y, width = top + 1 + at * (BAR_HEIGHT + 1), max(2, x(pair[system]) - LEFT)
        yield box(LEFT, y, width, BAR_HEIGHT, colour)
        yield text(LEFT + width + 6, y + 12, format_short(pair[system]), colour=GREY, extra=OUTLINE)
    ratio = f"{format_short(pair['placet'] / pair['upstream'])} ×"
    yield text(WIDTH - 24, top + 21, ratio, size=16, anchor="end", weight=600, colour=COLOURS["placet"])


def _legend():
    at = 24
    for system, colour in COLOURS.items():
        yield box(at, 77, 12, 12, colour)
        yield text(at + 18, 88, SYSTEM_NAMES[system])
        at += 90
    yield text(WIDTH - 24, 88, "ratio", anchor="end", colour=GREY)


def _grid(powers, x, height):
    """A line for each power of ten."""
    for power in powers:
        at = x(10 ** power)
        yield f'<line x1="{at:.1f}" y1="{TOP - 4}" x2="{at:.1f}" y2="{height - 38}" stroke="#d0d7de" stroke-width="1"/>'
        yield text(at, height - 18, format_short(10 ** power), anchor="middle", colour=GREY)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        write(json.load(file))
