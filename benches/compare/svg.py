"""SVG elements that both parts of the chart use, and their texts."""

from xml.sax.saxutils import escape

WIDTH, LEFT = 960, 300
COLOURS = {"placet": "#0f766e", "upstream": "#b45309"}
GREY, BLACK = "#57606a", "#1f2328"


def text(x, y, words, size=14, anchor="start", weight=400, colour=BLACK, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{colour}"{extra}>{escape(words)}</text>')


def box(x, y, width, height, colour, corner=2):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="{corner}" fill="{colour}"/>'


def format_short(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def label(scenario, clients, group):
    """The name of a scenario, with the number of clients if it is measured with several numbers."""
    if group not in ("claims", "scheduler", "report"):
        return scenario
    return f"{scenario}, {clients} client{'s' if clients > 1 else ''}"
