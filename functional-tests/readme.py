"""README.md's tables that are measured: each stands between two lines of its own, and a script writes what is there anew."""

import pathlib

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def write(begin, end, text):
    """Puts `text` between these two lines."""
    before, rest = README.read_text().split(begin)
    _, after = rest.split(end)
    README.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
