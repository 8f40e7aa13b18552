"""The intended differences, each with its row in docs/differences.md. Every further difference is a defect."""

import html
import json
import re

from functional_tests.differential import candidates
from functional_tests.differential.candidates_query import is_candidates
from functional_tests.lib.root import ROOT

DOCUMENT = ROOT / "docs" / "differences.md"


INTEGRITY = re.compile(r"Update conflict: (\(sqlite3\.IntegrityError\) UNIQUE constraint failed: inventories\."
                       r"|\(psycopg2\.errors\.UniqueViolation\) .*\buniq_inventories0resource_provider_resource_class\b"
                       r"|\(pymysql\.err\.IntegrityError\) \(1062, .*\buniq_inventories0resource_provider_resource_class\b"
                       r").*?\(Background on this error at: [^\s)]+\)\s*", re.S)
EXISTS = re.compile(r"Update conflict: inventory of class \w+ exists on resource provider [0-9a-f-]{36}\s*", re.S)


def detail(answer):
    """The detail of an error, from JSON or from HTML without its escapes."""
    try:
        return json.loads(answer.text)["errors"][0]["detail"]
    except (ValueError, KeyError, IndexError, TypeError):
        return html.unescape(answer.text)


def quoted_from_the_database(request, theirs, ours, found, tables):
    """Only the quotation differs. Status, headers, code and the text before it are the same."""
    cut = INTEGRITY.sub("", detail(theirs)), EXISTS.sub("", detail(ours))
    return set(found) == {"body"} and cut[0] != detail(theirs) and cut[1] != detail(ours) and cut[0] == cut[1]


def both_quote_the_database(theirs, ours):
    """For `--server upstream`: the quotations differ in the time of the refused row."""
    cut = INTEGRITY.sub("", detail(theirs)), INTEGRITY.sub("", detail(ours))
    return cut[0] != detail(theirs) and cut[0] == cut[1]


def crash(says, *statuses, ours_says=""):
    """OpenStack Placement fails with 500 and this detail. placet answers one of these statuses."""
    def applies(request, theirs, ours, found, tables):
        return theirs.status == 500 and says in detail(theirs) and ours.status in statuses and ours_says in detail(ours)
    return applies


def nesting(text):
    """The levels of nesting of a JSON text, counted by its brackets."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[{}\]]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text or "")):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def too_deep(request, theirs, ours, found, tables):
    """placet refuses more than 300 levels. OpenStack Placement reports other errors first, and fails without them."""
    fails = theirs.status == 500 and "maximum recursion depth exceeded" in detail(theirs)
    refuses = theirs.status == 400 and re.search("JSON does not validate|Malformed JSON", detail(theirs))
    if nesting(request.body) > 300:
        return bool(fails or refuses) and ours.status == 400 and "More than 300 levels of nesting" in detail(ours)
    # OpenStack Placement compares the entries of this list, to refuse equal ones, and runs out of stack.
    compared = request.path.endswith("/aggregates") and nesting(request.body) > 236
    return fails and compared and ours.status == 400 and "JSON does not validate" in detail(ours)


def beyond_the_database(request, theirs, ours, found, tables):
    """No provider has such an amount. candidates.py judges candidates in addition."""
    none_found = json.loads(ours.text) == {"resource_providers": []} if ours.status == 200 else False
    return (crash("int too large to convert", 200)(request, theirs, ours, found, tables)
            and (none_found or is_candidates(request)))


def stored(says):
    """OpenStack Placement stores what placet refuses with 400 and this detail."""
    return lambda request, theirs, ours, found, tables: (
        theirs.status in (200, 204) and ours.status == 400 and says in detail(ours))


def too_long(request, theirs, ours, found, tables):
    """placet refuses the uuid. OpenStack Placement stores it, or refuses another error of the request."""
    return theirs.status in (200, 204, 400, 404, 409) and ours.status == 400 and TOO_LONG.search(detail(ours)) is not None


def one_consumer_twice(request, theirs, ours, found, tables):
    """placet refuses such a request before it looks for anything else. OpenStack Placement refuses the second spelling
    only of a consumer that it has just created, from 1.28 on. Otherwise it finds the same consumer for both, so the
    request succeeds, or has an error that is found later."""
    refuses = ours.status == 409 and "consumer generation conflict - expected 0 but got None" in detail(ours)
    if not refuses or (request.method, request.path) != ("POST", "/allocations") or tables.engine != "mariadb":
        return False
    consumers = [uuid.lower() for uuid in json.loads(request.body)]
    later = theirs.status == 400 and FOUND_LATE.search(detail(theirs)) is not None
    return len(set(consumers)) < len(consumers) and (theirs.status in (204, 409) or later)


def keeps_aggregates(request, answer, tables, theirs, ours):
    """Whether placet's table has only those aggregates more that the request names in another spelling than the table.
    OpenStack Placement finds that the provider has the aggregate of this name, and then removes the other spelling. A
    refused request, whose body may be no JSON, changes no table."""
    if tables.engine != "mariadb" or request.method != "PUT" or not request.path.endswith("/aggregates"):
        return False
    if answer.status != 200:
        return False
    body = json.loads(request.body)
    named = body["aggregates"] if isinstance(body, dict) else body
    rows = {repr((request.path.split("/")[2], uuid)) for uuid in named}
    other_spellings = {row.lower() for row in rows} - {row.lower() for row in rows & set(ours)}
    more = set(ours) - set(theirs)
    return bool(more) and set(theirs) < set(ours) and {row.lower() for row in more} <= other_spellings


def has_nul(request, theirs, ours, found, tables):
    """placet refuses the NUL first, and OpenStack Placement another mistake that it finds before it asks the
    database.
    """
    return (set(found) == {"body"} and theirs.status == ours.status == 400 and "\\u0000" in (request.body or "")
            and "a text that has a NUL character" in detail(ours) and tables.engine == "postgresql")


def any_of(*rules):
    return lambda *seen: any(rule(*seen) for rule in rules)


MINUS_INFINITY = "an `allocation_ratio` of `-Infinity` in `POST /reshaper`"
TOO_LONG_TO_KEEP = "the uuid of a consumer (`POST /allocations`, `POST /reshaper`) or of an aggregate of more than 36 characters"
KEPT_AGGREGATES = "on MariaDB: `PUT …/aggregates` that names an aggregate of the provider in another spelling"
ONE_CONSUMER_TWICE = "on MariaDB: one consumer in two spellings in `POST /allocations`"
TOO_LONG = re.compile(r"^\s*The uuid of an? (consumer|aggregate) has at most 36 characters\.", re.M)
# Refusals by OpenStack Placement after it has found or created every consumer.
FOUND_LATE = re.compile(
    r"^\s*(Unable to allocate inventory |Allocation for resource provider '.*' that does not exist\.)", re.M)
# (the first cell of the row, a function that decides whether a difference belongs to it)
RULES = [
    ("a refusal whose detail quotes the database's own error", quoted_from_the_database),
    ('half of a surrogate pair in a body (`"\\ud800"`)', any_of(
        crash("surrogates not allowed", 400, ours_says="Unpaired surrogate"),
        crash("Encoding directive wasn't provided", 400, ours_says="Unpaired surrogate"))),
    ("a body so deeply nested that Python gives up", too_deep),
    ("an inventory that is no object or whose numbers are none, under a name that can be no class",
     any_of(crash("dictionary update sequence", 400, 409), crash("object is not iterable", 400, 409),
            crash("unsupported operand type(s) for", 400, ours_says="inventory"))),
    ("an amount in a query that no database can hold", beyond_the_database),
    ("a `limit` that comes twice, first as no number, or one of more than 4,300 digits",
     any_of(crash("invalid literal for int()", 400, ours_says="'limit' must be"),
            crash("Exceeds the limit", 400, ours_says="'limit' must be"))),
    ("a query of `GET /usages` that is no UTF-8",
     crash("codec can't decode", 400, ours_says="Invalid query string parameters")),
    ("an `allocation_ratio` that is `NaN` or `-Infinity`",
     any_of(crash("cannot convert float", 400, ours_says="is no finite number"),
            crash("NOT NULL constraint failed: inventories.allocation_ratio", 400, ours_says="is no finite number"),
            crash("inf can not be used with MySQL", 400, ours_says="is no finite number"),
            crash("inf can not be used with MySQL", 409, ours_says="generation conflict"),
            crash("nan can not be used with MySQL", 400, ours_says="is no finite number"))),
    (MINUS_INFINITY, stored("is no finite number")),
    (TOO_LONG_TO_KEEP, any_of(
        too_long, crash("value too long for type character varying(36)", 400, ours_says="has at most 36 characters"),
        crash("Data too long for column", 400, ours_says="has at most 36 characters"))),
    ("on PostgreSQL: `GET /usages` from 1.38 on, and a forbidden trait in the group without a suffix over trees",
     any_of(crash("psycopg2.errors.GroupingError", 200), crash("psycopg2.errors.UndefinedFunction", 200),
            crash("psycopg2.errors.InvalidTextRepresentation", 200))),
    (ONE_CONSUMER_TWICE, one_consumer_twice),
    ("on PostgreSQL: a NUL character in a path or a body",
     any_of(crash("cannot contain NUL (0x00) characters", 400, ours_says="a text that has a NUL character"), has_nul)),
    ("a resource class whose name ends with a line feed (`POST /resource_classes`)",
     crash("Header value may not contain control characters", 400, ours_says="cannot end with a line feed")),
] + candidates.RULES


# OpenStack Placement stores what placet refuses. The tables differ afterwards, so the run ends.
DIVERGING = {MINUS_INFINITY, TOO_LONG_TO_KEEP, ONE_CONSUMER_TWICE}


def check():
    """Checks that every rule has its row in the document."""
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("|")]
    missing = [row for row in [*dict(RULES), KEPT_AGGREGATES] if not any(line.startswith(f"| {row} |") for line in rows)]
    if missing:
        raise SystemExit(f"{DOCUMENT} has no row for {missing}")


def row(request, theirs, ours, found, tables):
    """The row that a difference belongs to, or None."""
    return next((name for name, applies in RULES if applies(request, theirs, ours, found, tables)), None)
