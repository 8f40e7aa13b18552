"""Tests of the comparison with made-up answers. run.py counts each function as a test."""

import json
from types import SimpleNamespace

from functional_tests.differential import compare, evidence, judge_test, known_differences
from functional_tests.differential.request import Request
from functional_tests.differential.side import Answer

CANDIDATES = Request("GET", "/allocation_candidates?resources=VCPU:3", version="1.39")
SHOW = Request("GET", "/resource_providers/x/inventories/VCPU", version="1.39")
HEADERS = [("openstack-api-version", "placement 1.39")]


def answer(text, status=200):
    return Answer(status, HEADERS, text)


def numbers():
    """Numbers with different texts are different, even if their values are equal."""
    for theirs, ours in (("8", "8.0"), ("1.0", "1"), ("1e16", "10000000000000000"), ("1e+16", "1e16"), ("-0.0", "0.0"),
                         ("0.1", "0.10"), ("NaN", "null"), ("8", '"8"'), ("-Infinity", "-1e999")):
        bodies = [answer(f'{{"total": {number}, "more": [{number}]}}') for number in (theirs, ours)]
        yield f"{theirs} and {ours}", True, bool(compare.differences(SHOW, *bodies, 0))
        yield f"{theirs} twice", False, bool(compare.differences(SHOW, bodies[0], bodies[0], 0))


def forms():
    """A body without candidates is a difference, and the comparison goes on."""
    whole = judge_test.right_body(judge_test.NODES, judge_test.asks("resources=VCPU:3"))
    judge = evidence.Evidence(None, None)
    judge.forest = judge_test.NODES
    judge.sides = [type("", (), {"kind": kind}) for kind in ("upstream", "placet")]
    right = answer(json.dumps(whole))
    yield "right candidates", False, bool(judge.found(CANDIDATES, right, right)[0])
    for text in ("", "null", "[]", "{}", "1", json.dumps(whole)[:-9], json.dumps(whole | {"allocation_requests": None}),
                 json.dumps(whole | {"allocation_requests": {}}), json.dumps(whole | {"allocation_requests": [1]}),
                 json.dumps(whole | {"allocation_requests": [{"allocations": 5}]}),
                 json.dumps(whole | {"provider_summaries": []}), json.dumps(whole | {"provider_summaries": {"x": 1}})):
        yield f"placet answers {text[-60:]}", True, bool(judge.found(CANDIDATES, right, answer(text))[0])
        yield f"upstream answers {text[-60:]}", True, bool(judge.found(CANDIDATES, answer(text), right)[0])


def unknown_traits():
    """Each service may name another one of the unknown traits of a request, and nothing else."""
    request = Request("GET", "/resource_providers?required=%21CUSTOM-DASH%2C%21custom_low%2C%21A+B%2C%21C%0A", version="1.39")
    forms = {"JSON": lambda detail: json.dumps({"errors": [{"detail": detail}]}), "HTML": "<h1>{}</h1>".format}

    def refusal(name, form):
        return answer(forms[form](f'Invalid trait(s) in "required" parameter: No such trait(s): {name}.  '), 400)

    for name, takes in (("custom_low", True), ("A B", True), ("C\n", True), ("CUSTOM-OTHER", False), ("", False)):
        for form in forms:
            found = compare.differences(request, refusal("CUSTOM-DASH", form), refusal(name, form), 0)
            yield f"CUSTOM-DASH and {name!r} in {form}", takes, not found


def rows():
    """Each of these rules accepts the difference of its row, and no other."""
    def row(request, theirs, ours):
        return known_differences.row(request, theirs, ours, {"status": ("", ""), "body": ("", "")}, None)

    def error(status, detail):
        return answer(json.dumps({"errors": [{"detail": detail}]}), status)

    overflow = error(500, "Python int too large to convert to SQLite INTEGER")
    for text, takes in (('{"resource_providers": []}', True), ('{"resource_providers": [{}]}', False), ("{}", False)):
        yield f"a huge amount and {text}", takes, row(Request("GET", "/resource_providers?resources=VCPU:9"), overflow,
                                                     answer(text)) is not None
    crash, refusal = error(500, "maximum recursion depth exceeded"), error(400, "JSON does not validate: []")
    deep, shallow = (Request("POST", "/resource_classes", "[" * n + "]" * n) for n in (301, 300))
    ours = error(400, "Malformed JSON: More than 300 levels of nesting: line 1")
    for name, request, theirs, takes in (("301 levels", deep, crash, True), ("301 refused", deep, refusal, True),
                                         ("300 levels", shallow, crash, False), ("300 refused", shallow, refusal, False)):
        yield name, takes, row(request, theirs, ours) is not None
    alike = Request("PUT", "/resource_providers/x/aggregates", f"[{shallow.body[:250]}{shallow.body[-250:]}]")
    for name, request, theirs, takes in (("300 levels of aggregates", alike, crash, True),
                                         ("300 levels of aggregates refused", alike, refusal, False),
                                         ("300 levels of a class", shallow, crash, False),
                                         ("a level of aggregates", Request("PUT", alike.path, "[[]]"), crash, False)):
        yield name, takes, row(request, theirs, refusal) is not None
    yield "301 levels and another refusal by placet", False, row(deep, crash, refusal) is not None
    inserts = Request("POST", "/resource_providers/x/inventories")
    quoted = ("Update conflict: (sqlite3.IntegrityError) UNIQUE constraint failed: inventories.id\n[SQL: INSERT INTO "
              "inventories]\n[parameters: (&#x27;2026-11-24&#x27;)]\n(Background on this error at: https://sqlalche.me/e/1)\n")
    exists = f"Update conflict: inventory of class VCPU exists on resource provider {'0' * 36}\n"
    for name, end, takes in (("the database's error in HTML", "</body>", True), ("another end of the page", "</html>", False)):
        theirs, ours = (answer(f"<h1>409 Conflict</h1>\n{text}\n{tail}", 409)
                        for text, tail in ((quoted, "</body>"), (exists, end)))
        found = {"body": ("", "")}
        yield name, takes, known_differences.row(inserts, theirs, ours, found, None) is not None
    no_number = error(500, "unsupported operand type(s) for -: 'str' and 'int'")
    for name, ours, takes in (("a total that is no number", error(400, "Invalid inventory for 'CUSTOM_É'"), True),
                              ("a total that is no number, and another refusal", error(400, "no"), False),
                              ("a total that is no number, and a stale generation", error(409, "no"), False)):
        yield name, takes, row(Request("PUT", "/resource_providers/x/inventories"), no_number, ours) is not None
    for name, says, body, engine, takes in (
            ("another mistake beside a NUL", "a text that has a NUL character", '{"name": "\\u0000"}', "postgresql", True),
            ("another mistake without a NUL", "a text that has a NUL character", '{"name": ""}', "postgresql", False),
            ("another refusal beside a NUL", "no", '{"name": "\\u0000"}', "postgresql", False),
            ("a NUL on another engine", "a text that has a NUL character", '{"name": "\\u0000"}', "mariadb", False)):
        request = Request("POST", "/resource_providers", body)
        yield name, takes, known_differences.row(
            request, error(400, "same as UUID"), error(400, says), {"body": ("", "")}, SimpleNamespace(engine=engine)) is not None
    infinite, long = error(400, "is no finite number"), error(400, "\n\n The uuid of a consumer has at most 36 characters.")
    for name, theirs, ours, takes in (
            ("-Infinity is stored", answer("", 204), infinite, known_differences.MINUS_INFINITY),
            ("another refusal of what is stored", answer("", 204), error(400, "no"), None),
            ("a long uuid is stored", answer("", 204), long, known_differences.TOO_LONG_TO_KEEP),
            ("a long uuid is answered with 500", error(500, "no"), long, None)):
        yield name, takes, row(Request("POST", "/reshaper", "{}"), theirs, ours)
    stale = error(409, "\n\n consumer generation conflict - expected 0 but got None  ")
    late = error(400, "\n\n Unable to allocate inventory No such resource class CUSTOM_.  ")
    early = error(400, "\n\n JSON does not validate: []")
    twice, once = (Request("POST", "/allocations", json.dumps({"c1": {}, other: {}})) for other in ("C1", "C2"))
    for name, request, engine, theirs, ours, takes in (
            ("two spellings, refused by both", twice, "mariadb", error(409, "Unable"), stale, True),
            ("two spellings, refused for a class", twice, "mariadb", late, stale, True),
            ("two spellings, taken for one", twice, "mariadb", answer("", 204), stale, True),
            ("two spellings, refused by the schema", twice, "mariadb", early, stale, False),
            ("two spellings, answered with 500", twice, "mariadb", error(500, "no"), stale, False),
            ("two spellings, another refusal by placet", twice, "mariadb", late, error(409, "Unable"), False),
            ("two spellings on SQLite", twice, "sqlite", late, stale, False),
            ("two consumers", once, "mariadb", late, stale, False)):
        tables, found = SimpleNamespace(engine=engine), {"status": ("", ""), "body": ("", "")}
        yield name, takes, known_differences.row(request, theirs, ours, found, tables) is not None


def aggregates():
    """Only an aggregate that the request names in another spelling may be missing in OpenStack Placement's table."""
    def takes(uuids, theirs, ours, engine="mariadb", path="/resource_providers/p/aggregates"):
        return taken(Request("PUT", path, json.dumps({"aggregates": uuids})), 200, theirs, ours, engine)

    def taken(request, status, theirs, ours, engine="mariadb"):
        sides = [[repr(("p", uuid)) for uuid in held] for held in (theirs, ours)]
        return known_differences.keeps_aggregates(request, answer("", status), SimpleNamespace(engine=engine), *sides)

    yield "kept in another spelling", True, takes(["A"], [], ["a"])
    yield "kept beside another one", True, takes(["A", "b"], ["b"], ["a", "b"])
    yield "kept as it is named", False, takes(["a"], [], ["a"])
    yield "named in both spellings", False, takes(["A", "a"], [], ["a"])
    yield "kept, but not named", False, takes(["A"], [], ["a", "b"])
    yield "lost by placet", False, takes(["A", "b"], ["b"], ["a"])
    yield "equal tables", False, takes(["A"], ["a"], ["a"])
    yield "another engine", False, takes(["A"], [], ["a"], "postgresql")
    yield "another provider", False, takes(["A"], [], ["a"], path="/resource_providers/q/aggregates")
    no_json = Request("PUT", "/resource_providers/p/aggregates", '{"A" "a"}')
    yield "a body that is no JSON", False, taken(no_json, 400, ["a"], ["a"])
    yield "a refusal", False, taken(Request("PUT", no_json.path, '["A"]'), 409, [], ["a"])


def check(tests, verbose):
    for cases in (numbers, forms, unknown_traits, rows, aggregates):
        wrong = [f"{name}: expected {should}, got {got}" for name, should, got in cases() if should != got]
        if wrong:
            tests.fail(f"comparison: {cases.__name__}", "\n".join(wrong))
        else:
            tests.ok(f"comparison: {cases.__name__}", show=verbose)
