"""The second part of the chart: how many times as much placet does, for all that both do, in every cloud."""

from figures import ENGINES, largest, rates
from svg import BLACK, GREY, LEFT, WIDTH, box, named, short, text

HEAD, ROW, GAP = 92, 26, 2
# From so many times on a cell has this colour, and its figure that one.
SHADES = ((1000, "#0b5d56", "#ffffff"), (300, "#2f8f86", "#ffffff"), (100, "#7cc4bd", BLACK), (30, "#c3e5e1", BLACK),
          (0, "#eef7f6", BLACK))


def rows(records):
    """Names with the ratio of each cloud where both did it; nothing where there is only one cloud."""
    places = largest(records)
    groups = {it["scenario"]: it["group"] for it in records}
    found = []
    for (scenario, clients), cells in rates(records).items() if len(places) > 1 else ():
        ratios = [_ratio(cells.get(place, {})) for place in places]
        if any(ratios):
            found.append((named(scenario, clients, groups[scenario]), ratios))
    return found


def height(records):
    """Of all of it; 0 where there is nothing to show."""
    return HEAD + ROW * len(rows(records)) + 24 if rows(records) else 0


def draw(records, top):
    lines, places = rows(records), largest(records)
    if not lines:
        return
    width = (WIDTH - LEFT - 24) / len(places)
    yield text(24, top + 24, "How many times as many, in every cloud", size=20, weight=600)
    yield from _heads(places, top, width)
    for number, (name, ratios) in enumerate(lines):
        y = top + HEAD + ROW * number
        yield text(LEFT - 12, y + 17, name, anchor="end")
        for at, ratio in enumerate(ratios):
            if ratio:
                shade, ink = next((shade, ink) for least, shade, ink in SHADES if ratio >= least)
                yield box(LEFT + width * at, y, width - GAP, ROW - GAP, shade)
                yield text(LEFT + width * (at + 0.5) - GAP / 2, y + 17, short(ratio), anchor="middle", colour=ink)


def _heads(places, top, width):
    """A shape over each column, and over its columns an engine."""
    for engine in dict.fromkeys(place[0] for place in places):
        of = [at for at, place in enumerate(places) if place[0] == engine]
        middle = LEFT + width * (of[0] + len(of) / 2) - GAP / 2
        yield text(middle, top + HEAD - 32, ENGINES.get(engine, engine), anchor="middle", weight=600)
    for at, (_, shape, _) in enumerate(places):
        yield text(LEFT + width * (at + 0.5) - GAP / 2, top + HEAD - 10, shape, anchor="middle", colour=GREY)


def _ratio(rate):
    return rate["placet"] / rate["upstream"] if rate.get("placet") and rate.get("upstream") else None
