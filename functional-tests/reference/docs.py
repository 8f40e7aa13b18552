"""Tests `/docs`: the page is served with its files, and its script shows every operation, text, form and sample.

node runs the script that the service serves, without a browser. What the script makes is compared with the description
by an own walk over the description.
"""

import html.parser
import json
import pathlib
import re
import subprocess
import tempfile
import urllib.parse

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.reference.document import operations, path_pattern, resolve

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = "/placement"
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "json": "application/json",
         "js": "text/javascript; charset=utf-8"}
# The files that the page names, and the files that its script reads.
NAMED = re.compile(r"""\b(?:href|src)="([^"#]+)"|\bread\("([^"]+)"\)|\bfrom "\./([^"]+)\"""")
# What the policy of the contents blocks.
BLOCKED = re.compile(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", re.IGNORECASE)


class Page(html.parser.HTMLParser):
    """The ids, the anchors of links, and the text of each section."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.anchors, self.open, self.texts = [], [], [], {}
        self.feed(text)
        self.texts = {name: " ".join("".join(parts).split()) for name, parts in self.texts.items()}

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.anchors += [attributes["href"][1:]] if attributes.get("href", "").startswith("#") else []
        if tag == "section":
            self.open.append(attributes["id"])
            self.texts[attributes["id"]] = []
        elif self.open and tag not in ("code", "span", "a"):
            self.texts[self.open[-1]].append(" ")

    def handle_endtag(self, tag):
        if tag == "section":
            self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]].append(data)


def fetched(rest):
    """The files of the page with the description, by their relative URL; and complaints about their headers."""
    found, waiting, complaints = {}, ["docs"], []
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        answer = rest("GET", f"/{name}", headers={"x-auth-token": None, "accept": "*/*"})
        found[name] = answer.raw.decode()
        kind = TYPES["html" if name == "docs" else name.rsplit(".", 1)[1]]
        shown = answer.headers.get("content-type")
        if (answer.status, shown) != (200, kind):
            complaints.append(f"GET /{name}: {answer.status}, {shown}")
        if name == "openapi.json":
            continue
        complaints += wrong_headers(name, answer.headers)
        head = rest("HEAD", f"/{name}", headers={"x-auth-token": None})
        if (head.status, head.raw, head.headers["content-length"]) != (200, b"", str(len(answer.raw))):
            complaints.append(f"HEAD /{name}: {head}")
        if rest("POST", f"/{name}").status != 405:
            complaints.append(f"POST /{name} is not refused with 405")
        if not name.endswith(".json"):
            links = (next(filter(None, groups)) for groups in NAMED.findall(found[name]))
            waiting += [f"docs/{link}" if link == "render.js" else link for link in links]
    return found, complaints


def wrong_headers(name, headers):
    """Complaints about headers of security, and about a cache that would keep a page of an older version."""
    policy = dict(part.strip().split(" ", 1) for part in headers.get("content-security-policy", "").split(";") if part)
    wanted = {name: "'self'" for name in ("script-src", "style-src", "connect-src")}
    wanted |= {name: "'none'" for name in ("default-src", "base-uri", "form-action", "frame-ancestors")}
    found = [] if policy == wanted else [f"/{name}: Content-Security-Policy {policy}"]
    for header, value in (("x-content-type-options", "nosniff"), ("cache-control", "no-cache")):
        if headers.get(header) != value:
            found.append(f"/{name}: {header} is {headers.get(header)}")
    return found


def rendered(files):
    """What the script of the page makes of the description and the samples."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("render.mjs", "openapi.json", "samples.json")]
        for path, name in zip(paths, ("docs/render.js", "openapi.json", "docs/samples.json"), strict=True):
            path.write_text(files[name])
        command = ["node", str(HERE / "render.mjs"), *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def anchor(method, path):
    return re.sub(r"[^a-z0-9]+", "-", f"{method} {path}".lower()).strip("-")


def plain(text):
    return " ".join(text.replace("`", "").split())


def spans(element):
    span = element.get("x-openstack", {})
    return {span[key] for key in ("min-ver", "max-ver") if key in span}


def said(document, element, above=()):
    """Every text about a schema: its versions, values, and members with their descriptions."""
    if "$ref" in element and element["$ref"] in above:
        return set()
    above = (*above, element.get("$ref"))
    # The step of versions that do not read the body says nothing.
    if element.keys() == {"x-openstack"}:
        return set()
    versions, element = spans(element), resolve(document, element)
    found = versions | spans(element)
    found |= {str(value) for value in element.get("enum", []) if value is not None}
    for name, member in element.get("properties", {}).items():
        found |= {name, plain(resolve(document, member).get("description", ""))} | said(document, member, above)
    for options in ("anyOf", "oneOf", "allOf"):
        for option in element.get(options, []):
            found |= said(document, option, above)
    named = element.get("patternProperties", {}).values()
    for below in (element.get("items"), element.get("additionalProperties"), *named):
        if isinstance(below, dict):
            found |= said(document, below, above)
    return found


def texts(document, method, path, operation, samples):
    """Every text that the section of an operation has to show."""
    found = spans(operation) | {method, path, plain(operation["summary"]), plain(operation.get("description", ""))}
    for version, change in operation.get("x-changes", {}).items():
        found |= {version, plain(change)}
    found |= {operation["x-policy"]["rule"], operation["x-policy"]["default"]} if "x-policy" in operation else set()
    for parameter in (resolve(document, parameter) for parameter in operation["parameters"]):
        if parameter["in"] != "header":
            found |= spans(parameter) | {parameter["name"], plain(parameter["description"])}
            found |= {str(value) for value in parameter["schema"].get("enum", [])}
    contents = [operation.get("requestBody", {})]
    for status, response in operation["responses"].items():
        if "$ref" not in response:
            contents.append(response)
            found |= {f"{status} {response['description']}"} | spans(response)
            found |= set(response.get("headers", {})) - {"OpenStack-API-Version", "X-Openstack-Request-Id", "Vary"}
    for content in contents:
        if "content" in content:
            found |= said(document, content["content"]["application/json"]["schema"])
    for error in operation["x-errors"]:
        found |= {str(error["status"]), error["code"], plain(error["detail"])}
    for sample in samples:
        if sample["method"] == method and path_pattern(path).fullmatch(sample["url"]):
            found |= {sample["url"], f"HTTP/1.1 {sample['status']}"}
            found |= {plain(json.dumps(text, ensure_ascii=False)[1:-1])
                      for part in ("sent", "answered") for text in leaves(sample.get(part))}
    return found - {""}


def leaves(value):
    """The texts and the names of members in a body."""
    if isinstance(value, dict):
        return set(value).union(*map(leaves, value.values()))
    if isinstance(value, list):
        return set().union(*map(leaves, value))
    return {value} if isinstance(value, str) else set()


def unshown(document, samples, page):
    """The texts of the description and of the samples that the section of their operation lacks."""
    missing = []
    for method, path, operation in operations(document):
        shown = page.texts.get(anchor(method, path), "").replace("\\", "").replace("`", "")
        missing += [f"{method} {path}: {text}" for text in texts(document, method, path, operation, samples)
                    if text.replace("\\", "") not in shown]
    return missing


def shows_everything(files):
    made = rendered(files)
    document, samples = json.loads(files["openapi.json"]), json.loads(files["docs/samples.json"])
    page = Page(files["docs"].replace("</main>", made["contents"] + "</main>").replace(
        '<div id="operations">', '<div id="operations">' + made["navigation"]))
    missing = unshown(document, samples, page)
    assert not missing, f"{len(missing)} texts are not shown:\n" + "\n".join(missing[:40])
    wanted = {tag["name"] for tag in document["tags"]} | {anchor(*each[:2]) for each in operations(document)}
    linked = set(Page(made["navigation"]).anchors)
    assert wanted <= linked, f"the list lacks {wanted - linked}"
    assert set(page.anchors) <= set(page.ids), f"links without a target: {set(page.anchors) - set(page.ids)}"
    assert len(page.ids) == len(set(page.ids)), "an id comes twice"
    blocked = BLOCKED.findall(made["contents"] + made["navigation"] + files["docs"])
    assert not blocked, f"the policy of the contents blocks {blocked}"
    assert (made["unfound"], made["nonsense"]) == ([], []), "the filter finds too few operations, or too many"
    print(f"        {sum(map(len, page.texts.values()))} characters in {len(page.texts)} sections")


def misses_what_is_not_shown(files):
    """The comparison finds an operation, a member and a refusal that the page does not show."""
    document, samples = json.loads(files["openapi.json"]), json.loads(files["docs/samples.json"])
    page = Page(rendered(files)["contents"])
    for method, path, text in (
            ("PUT", "/v1/limits/{class}", "The normal limit:"), ("GET", "/traits", "startswith:PREFIX"),
            ("POST", "/reshaper", "placement.inventory.inuse")):
        section = anchor(method, path)
        whole = page.texts[section]
        assert text in whole, f"{method} {path} does not show {text!r}"
        page.texts[section] = whole.replace(text, "")
        assert unshown(document, samples, page), f"{text!r} of {method} {path} is not missed"
        page.texts[section] = whole
    assert not unshown(document, samples, page)


def escapes(files):
    """A text of the description is no HTML of the page."""
    evil = "<img src=x onerror=alert(1)>&\"`<b>`"
    document = json.loads(files["openapi.json"])
    for _, _, operation in operations(document):
        operation["summary"] = operation["description"] = evil
    made = rendered(files | {"openapi.json": json.dumps(document)})
    assert "<img" not in made["contents"] + made["navigation"] and "<b>`" not in made["contents"]
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;<code>&lt;b&gt;</code>" in made["contents"]


def below_a_prefix(binary, files):
    """Relative URLs lead to the same files below a prefix, where the page of a service without a prefix is too."""
    with live.Service("placet", {"placet": {"url_prefix": PREFIX}}, binary) as service:
        rest = Rest(service.port)
        for name in files:
            url = urllib.parse.urljoin(f"{PREFIX}/docs", name)
            assert url == f"{PREFIX}/{name}", url
            answer = rest("GET", url, headers={"x-auth-token": None})
            assert answer.status == 200, f"GET {url}: {answer}"
            assert name == "openapi.json" or answer.raw.decode() == files[name], f"{url} is another file"
        assert rest("GET", f"{PREFIX}/openapi.json").json["servers"] == [{"url": PREFIX}]


def check(tests, binary, served, captured):
    """`served`: what `fetched` returned of a service. `captured`: the samples of the present service."""
    files, complaints = served
    tests.equal("the page and its files are served without a token, with their types and headers", [], complaints)
    tests.equal("the page names these files", {"docs", "docs/page.css", "docs/page.js", "docs/render.js",
                                               "docs/samples.json", "openapi.json"}, set(files))
    tests.equal("the samples of the page are those of the service", captured, json.loads(files["docs/samples.json"]))
    tests.step("the page shows every operation with its texts, forms, refusals and samples", shows_everything, files)
    tests.step("what is not shown is missed", misses_what_is_not_shown, files)
    tests.step("texts are escaped", escapes, files)
    tests.step("the page is right below a prefix", below_a_prefix, binary, files)
