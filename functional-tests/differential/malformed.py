"""Requests with errors that do not depend on their subject: headers, JSON, queries, paths."""

import json

from functional_tests.differential.request import BAD_NUMBERS, NEWEST_MINOR, Request

VERSIONS = ["1.40", "1.99", "2.0", "0.9", "1", "1.", "x", "latest", "1.-1", "1.1.1", "", "01.02", " 1.5", "1.1_0",
            "1.\xb2", "1." + "9" * 4301,
            "+1.5", "1.-0", "1.5 x"]
RAW_VERSIONS = [None, "1.10", "compute 2.1", "placement 1.10, compute 2.1", "compute 2.1, placement 1.12", "placement",
                "placement latest, placement 1.2", "PLACEMENT 1.30", "placement  1.30", "placement\t1.3", ",",
                "placement 1.5,", ",placement 1.5", "placement,1.5", "placement 1.99, placement 1.5", "placement=1.5"]
BODIES = ["", "{", "[]", "null", "1", '"x"', "{}", '{"a": 1, "a": 2}', "\ufeff{}", "{'a': 1}", '{"name": NaN}', "[" * 50,
          '{"name": "\\ud800"}', '{"a": 1}x', "{\"name\": \"a\x00b\"}", '{"uuid": 1e999}', '{"name": 007}', " {} ",
          "[" * 300 + "]" * 300, '{"x": ' * 300 + "1" + "}" * 300, "[" * 301 + "]" * 301,
          "[" + "[" * 250 + "]" * 250 + "," + "[" * 250 + "]" * 251, "[" * 129 + "]" * 129, '{"a": ' * 129 + "1" + "}" * 129, "[" * 400 + "]" * 400, "[" * 5000,
          '{"name": "\\ud800", "name": "host-1"}', '{"\\ud800": 1}', '["\\ud83d\\ud83d\\ude00"]', '{"name": "\\ud83dA"}',
          '{"a": 1,}', '{} // x', "\u00a0{}", "{}\ufeff", '"\\u00+1"', "1" * 4301, "-", "NaN", "-0", "\0"]
ACCEPTS = [None, "*/*", "text/plain", "text/html", "application/xml", "application/*", "application/json;q=0.5",
           "text/html, application/json;q=0.1", "application/json;q=0", "", "x", "*/*;q=0",
           "application/json;q =0.5", "*/json", 'application/json;a="b;q=0"', "application/json;q=0.0001", "*/*;v=1",
           ",application/json", "application/json;q=0, application/json", "application/json;q=1.0000", "text/html;q=0.;x"]
CONTENTS = [None, "text/plain", "application/json; charset=utf-8", "application/json;charset=latin-1", "",
            "APPLICATION/JSON",
            "application/xml", "application/json-patch+json", "application/x-www-form-urlencoded", "application/json ;x",
            "application/json;", "text/plain; charset=utf-8"]
UNHEEDED = [{"if-modified-since": "Sat, 01 Jan 2050 00:00:00 GMT"}, {"if-none-match": "*"}, {"if-match": "x"},
            {"range": "bytes=0-3"}, {"x-http-method-override": "DELETE"}, {"x-openstack-nova-api-version": "2.1"}]
TOKENS = [None, "", "ada", "ada:lab", "admin:lab", "bob:garage"]
ROLES = [None, "admin", "reader", "member", "service", "admin,reader", "member,reader", "", "Admin", "x"]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"]
PATHS = ["/", "", "/resource_providers/", "/allocations", "/allocation_candidates/", "/unheard", "/usages/", "/traits/",
         "/resource_classes/", "/resource_providers/a/b", "/resource_providers/a/b/c/d", "/reshaper", "/reshaper/",
         "/Traits", "/%74raits", "/traits?", "/.", "/../traits", "/resource_providers//inventories", "/%0A",
         "/resource_providers%0A",
         "/resource_providers/%0A", "/traits/HW_CPU_X86_AVX2%0A", "/traits/%0A", "/resource_classes/VCPU%0A",
         "/usages?%FF=1",
         "/usages?project_id=%FF", "/resource_providers;x", "/resource_providers?", "/resource_providers?&", "/traits?name"]


def anything(dice):
    """A request of any method to any path. The path may not have the method."""
    request = Request(dice.choice(METHODS), dice.choice(PATHS), version=f"1.{dice.minor()}")
    if request.method in ("POST", "PUT", "PATCH") and dice.chance(0.6):
        request.body = "{}"
    return request


def body(dice, text):
    """The same JSON with one error in it."""
    if dice.chance(0.2):
        return dice.choice(BODIES)
    if dice.chance(0.1):
        return text[:dice.random.randrange(len(text) + 1)]
    value = json.loads(text)
    spots = list(spots_of(value))
    if not spots:
        return dice.choice(BODIES)
    holder, key = dice.choice(spots)
    roll = dice.random.random()
    if roll < 0.25:
        del holder[key]
    elif roll < 0.45 and isinstance(holder, dict):
        holder[dice.choice(["x", "uuid", "name", "é", "", "X" * 300, "generation", "total"])] = dice.choice([1, "x", {}])
    elif roll < 0.55 and isinstance(holder, list):
        holder.append(dice.choice(holder))
    elif roll < 0.75:
        holder[key] = dice.choice(["", "x", "x" * 256, "X" * 255 + "\n", "X" * 254 + "\n", "é", "lower", "UNHEARD", "CUSTOM_RED", "a\nb", "'", "\"",
        "\ud83d\ude00"])
    else:
        holder[key] = dice.choice(BAD_NUMBERS)
    return json.dumps(value)


def query(dice, path):
    """The same query in another spelling, or with one error in it."""
    roll = dice.random.random()
    if roll < 0.5:
        return path + dice.choice(["%0A", "&", ";", "&=", "&x", "+", "%20", "%00", "%FF", "&%ED%A0%80", "=", ",", "%"])
    old, new = dice.choice([("=", "%3D"), (":", "%3A"), (":1", ":%EF%BC%91"), (":1", ":+1"), (":1", ":0_1"), ("=", "%0A="),
                            ("&", ";"), ("=", "=%20"), ("=", "=%1C"), (":1", ":1%C2%A0"), (":1", ":" + "9" * 4301),
                            ("limit=", "limit=x&limit=")])
    return path.replace(old, new, 1)


def spots_of(value):
    """Every place in a value, as its holder and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from spots_of(item)


def request(dice, it):
    """Puts one error into a request, or none."""
    roll = dice.random.random()
    if roll < 0.07 and it.body:
        it.body = body(dice, it.body)
    elif roll < 0.085:
        it.version = dice.choice(VERSIONS)
    elif roll < 0.095:
        it.headers["openstack-api-version"] = dice.choice(RAW_VERSIONS)
    elif roll < 0.11:
        it.headers["accept"] = dice.choice(ACCEPTS)
    elif roll < 0.125:
        it.headers["content-type"] = dice.choice(CONTENTS)
    elif roll < 0.145:
        it.headers["x-auth-token"] = dice.choice(TOKENS)
        if dice.chance(0.7):
            it.headers["x-roles"] = dice.choice(ROLES)
        if dice.chance(0.2):
            it.headers["openstack-system-scope"] = dice.choice(["all", ""])
        if dice.chance(0.2):
            it.headers["x-project-id"] = dice.choice(["lab", "garage", ""])
    elif roll < 0.155:
        it.method = dice.choice(METHODS)
    elif roll < 0.16 and it.method in ("GET", "DELETE"):
        it.body = dice.choice(BODIES)
    elif roll < 0.165:
        it.version = f"1.{NEWEST_MINOR + 1}"
    elif roll < 0.18 and "?" in it.path:
        it.path = query(dice, it.path)
    elif roll < 0.185:
        it.headers |= dice.choice(UNHEEDED)
    return it
