"""Writes measured tables into documents. A table stands between two marks, and is replaced as a whole."""

import os
import platform

from functional_tests.lib.root import ROOT

FAULTS = ROOT / "docs/faults.md"


def machine(load):
    """A description of the machine that measured. `load` is its load average, and says when it was taken."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores ({platform.machine()}) that were shared with other work (load average {load})"


def write(document, begin, end, text):
    """Replaces what is between these two lines of a document."""
    before, rest = document.read_text().split(begin)
    _, after = rest.split(end)
    document.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
