"""Nouns of the native API: a file has a noun's writes and reads, and what the writes leave in `state.nouns`."""

import importlib
import pkgutil


def load():
    """Imports each file of this folder, which registers its writes and reads."""
    for each in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{each.name}")
