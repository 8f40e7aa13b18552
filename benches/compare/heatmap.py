"""The second part of the chart: a heat map of the ratios to OpenStack Placement, by scenario and cloud."""

from benches.compare.summary import ENGINE_NAMES, largest_clouds, rates, ratio
from benches.compare.svg import BLACK, GREY, LEFT, WIDTH, box, format_short, label, text

HEAD_HEIGHT, ROW_HEIGHT, GAP, FOOT_HEIGHT = 92, 26, 2, 24
# The smallest ratio of each shade, the shade, and the colour of a figure on it.
SHADES = ((1000, "#0b5d56", "#ffffff"), (300, "#2f8f86", "#ffffff"), (100, "#7cc4bd", BLACK), (30, "#c3e5e1", BLACK),
          (0, "#eef7f6", BLACK))


def rows(records):
    """Labels with the ratio of each cloud, or None if one system was not measured there. Empty if there is only one
    cloud.
    """
    clouds = largest_clouds(records)
    groups = {record["scenario"]: record["group"] for record in records}
    found = []
    for (scenario, clients), cells in rates(records).items() if len(clouds) > 1 else ():
        ratios = [ratio(cells.get(cloud, {})) for cloud in clouds]
        if any(ratios):
            found.append((label(scenario, clients, groups[scenario]), ratios))
    return found


def height(records):
    """The height of the heat map; 0 if it has no rows."""
    return HEAD_HEIGHT + ROW_HEIGHT * len(rows(records)) + FOOT_HEIGHT if rows(records) else 0


def draw(records, top):
    lines, clouds = rows(records), largest_clouds(records)
    if not lines:
        return
    width = (WIDTH - LEFT - 24) / len(clouds)
    yield text(24, top + 24, "Ratio to OpenStack Placement, in every cloud", size=20, weight=600)
    yield from _column_heads(clouds, top, width)
    for number, (name, ratios) in enumerate(lines):
        y = top + HEAD_HEIGHT + ROW_HEIGHT * number
        yield text(LEFT - 12, y + 17, name, anchor="end")
        for at, value in enumerate(ratios):
            if value:
                shade, ink = next((shade, ink) for least, shade, ink in SHADES if value >= least)
                yield box(LEFT + width * at, y, width - GAP, ROW_HEIGHT - GAP, shade)
                yield text(LEFT + width * (at + 0.5) - GAP / 2, y + 17, format_short(value), anchor="middle", colour=ink)


def _column_heads(clouds, top, width):
    """The shape above each column, and the engine above its columns."""
    for engine in dict.fromkeys(cloud[0] for cloud in clouds):
        columns = [at for at, cloud in enumerate(clouds) if cloud[0] == engine]
        middle = LEFT + width * (columns[0] + len(columns) / 2) - GAP / 2
        yield text(middle, top + HEAD_HEIGHT - 32, ENGINE_NAMES.get(engine, engine), anchor="middle", weight=600)
    for at, (_, shape, _) in enumerate(clouds):
        yield text(LEFT + width * (at + 0.5) - GAP / 2, top + HEAD_HEIGHT - 10, shape, anchor="middle", colour=GREY)
