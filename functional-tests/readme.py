"""README.md's tables that are measured: each stands between two lines of its own, and a script writes what is there anew."""

import os
import pathlib
import platform

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def machine(load):
    """What the figures were measured on; `load` is its load average, in words that say when."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores ({platform.machine()}) that were shared with other work (load average {load})"


def write(begin, end, text):
    """Puts `text` between these two lines."""
    replace(begin, end, f"\n\n{text}\n\n")


def replace(begin, end, text):
    """Puts `text` between these two marks, which may stand within a line."""
    before, rest = README.read_text().split(begin)
    _, after = rest.split(end)
    README.write_text(f"{before}{begin}{text}{end}{after}")
