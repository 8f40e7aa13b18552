"""The differences that are meant. Each names its row in docs/differences.md; anything else is a defect."""

import pathlib

import candidates

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "differences.md"


def quoted_from_the_database(request, theirs, ours, found, tables):
    return set(found) == {"body"} and "sqlite3.IntegrityError" in theirs.text


def half_of_a_surrogate_pair(request, theirs, ours, found, tables):
    return "Unpaired surrogate" in ours.text and ours.status == 400


def nothing_that_is_judged(request, theirs, ours, found, tables):
    return theirs.status == 500 and ours.status == 400 and "dictionary update sequence" in theirs.text


def beyond_the_database(request, theirs, ours, found, tables):
    return theirs.status == 500 and ours.status < 500 and "int too large to convert" in theirs.text


# (the first cell of its row, whether it is that difference)
RULES = [
    ("a refusal whose detail quotes the database's own error", quoted_from_the_database),
    ('half of a surrogate pair in a body (`"\\ud800"`)', half_of_a_surrogate_pair),
    ("an inventory that is no object, under a name that can be no class", nothing_that_is_judged),
    ("an amount in a query that no database can hold", beyond_the_database),
] + candidates.RULES


def check():
    """Every rule has its row."""
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("|")]
    missing = [row for row, _ in RULES if not any(line.startswith(f"| {row} |") for line in rows)]
    if missing:
        raise SystemExit(f"{DOCUMENT} has no row for {missing}")


def row(request, theirs, ours, found, tables):
    """The row that a difference belongs to, or None."""
    return next((name for name, applies in RULES if applies(request, theirs, ours, found, tables)), None)
