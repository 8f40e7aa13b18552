"""Renders api-ref/openapi.json and the samples as HTML: an index, and one page a noun."""

import html
import json
import re

from functional_tests.reference.schema_rows import kind, resolve, rows

STATUS = {200: "OK", 201: "Created", 204: "No Content", 400: "Bad Request", 404: "Not Found", 409: "Conflict"}


def esc(value):
    return html.escape(str(value), quote=False)


def prose(text):
    """Text with `code` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", esc(text))


def table(heads, lines, classes=""):
    head = "".join(f"<th>{esc(cell)}</th>" for cell in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    return (f'<div class="wide"><table class="{classes}"><thead><tr>{head}</tr></thead>\n'
            f"<tbody>{body}</tbody></table></div>")


def versions(element, whole=None):
    """The microversions of an element, as `1.7+`. `whole` is for an element that names none."""
    span = element.get("x-openstack")
    if not span or "min-ver" not in span:
        return esc(whole or "")
    last = span.get("max-ver")
    if last == span["min-ver"]:
        return esc(last)
    return f"{span['min-ver']} – {last}" if last else f"{span['min-ver']}+"


def anchor(method, path):
    return re.sub(r"[^a-z0-9]+", "-", f"{method} {path}".lower()).strip("-") or method


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def path_pattern(path):
    return re.compile(re.sub(r"\{\w+\}", "[^/?]+", path.replace(".", r"\.")) + r"(\?.*)?")


def steps(schema):
    """The steps of a schema, newest first. A step that says nothing is of versions that do not read the body."""
    if "discriminator" not in schema.get("x-openstack", {}):
        return [schema]
    return [step for step in schema["anyOf"][::-1] if step.keys() != {"x-openstack"}]


def schema_block(document, content, whole):
    """The newest step as a table, and older ones folded."""
    found = []
    for number, step in enumerate(steps(content["application/json"]["schema"])):
        lines = [(f"<code>{esc(row.path)}</code>", esc(row.kind), "yes" if row.required else "",
                  prose(row.about)) for row in rows(document, step)]
        top = resolve(document, step)
        block = f'<p class="kind">{esc(kind(document, top))}</p>' if top.get("type") != "object" else ""
        if lines:
            block += table(["member", "type", "always", "meaning"], lines, "schema")
        span = versions(step, whole)
        found.append(f"<h4>JSON, {span}</h4>{block}" if number == 0 else
                     f"<details><summary>JSON, {span}</summary>{block}</details>")
    return "\n".join(found)


def parameters(document, operation, whole):
    lines = []
    for parameter in operation["parameters"]:
        parameter = resolve(document, parameter)
        if parameter["in"] == "header":
            continue
        newest = steps(parameter["schema"])[0]
        words = "parameters with a suffix" if parameter["name"] == "groups" else kind(document, newest)
        lines.append((f"<code>{esc(parameter['name'])}</code>", parameter["in"], versions(parameter, whole),
                      "yes" if parameter["required"] else "", esc(words), prose(parameter["description"])))
    return lines and "<h3>Parameters</h3>" + table(
        ["name", "in", "versions", "required", "type", "meaning"], lines) or ""


def answers(document, operation, whole):
    found = []
    always = {"OpenStack-API-Version", "X-Openstack-Request-Id", "Vary"}
    for status, response in operation["responses"].items():
        if "$ref" in response:
            continue
        headers = [name for name in response.get("headers", {}) if name not in always]
        with_headers = " with " + ", ".join(f"<code>{name}</code>" for name in headers) if headers else ""
        body = ", no body" if "content" not in response else ""
        found.append(f'<p><b class="good">{status} {esc(response["description"])}</b> '
                     f"{versions(response, whole)}{with_headers}{body}</p>")
        if "content" in response:
            found.append(schema_block(document, response["content"], whole))
    return "<h3>Answers</h3>" + "\n".join(found)


def refusals(operation):
    lines = [(f'<b class="bad">{error["status"]}</b>', f"<code>{esc(error['code'])}</code>", esc(error["detail"]))
             for error in sorted(operation["x-errors"], key=lambda error: error["status"])]
    return (f"<details><summary><h3>Refusals</h3></summary>"
            f"{table(['status', 'code', 'detail'], lines)}</details>")


def message(sample):
    """A request and its answer as text."""
    asked = [f"{sample['method']} {sample['url']} HTTP/1.1", f"OpenStack-API-Version: placement {sample['version']}",
             "X-Auth-Token: …"]
    if "sent" in sample:
        asked += ["Content-Type: application/json", "", json.dumps(sample["sent"], indent=2, ensure_ascii=False)]
    status = sample["status"]
    answer = [f"HTTP/1.1 {status} {STATUS[status]}", f"OpenStack-API-Version: placement {sample['version']}"]
    answer += [f"{name.title()}: {value}" for name, value in sample["headers"].items()]
    if "answered" in sample:
        answer += ["Content-Type: application/json", "", json.dumps(sample["answered"], indent=2, ensure_ascii=False)]
    good = "good" if status < 400 else "bad"
    return (f"<details><summary>{esc(sample['method'])} at {sample['version']}: "
            f'<b class="{good}">{status}</b></summary>'
            f"<pre>{esc(chr(10).join(asked))}</pre><pre>{esc(chr(10).join(answer))}</pre></details>")


def section(document, method, path, operation, samples):
    whole = versions(operation)
    mine = [s for s in samples if s["method"] == method and path_pattern(path).fullmatch(s["url"])]
    policy = operation.get("x-policy")
    access = (f"Policy <code>{esc(policy['rule'])}</code>, by default <code>{esc(policy['default'])}</code>."
              if policy else "No token is needed.")
    parts = [f'<section id="{anchor(method, path)}">',
             f'<h2><span class="method {method.lower()}">{method}</span> {esc(path)}</h2>',
             f'<p class="lead">{esc(operation["summary"])}</p>',
             f'<p>{prose(operation.get("description", ""))}</p>' if operation.get("description") else "",
             f'<p class="small">Versions {whole}. {access}</p>']
    if operation.get("x-changes"):
        parts.append(table(["since", "change"], [(version, prose(change)) for version, change
                                                 in operation["x-changes"].items()]))
    parts.append(parameters(document, operation, whole))
    if "requestBody" in operation:
        body = operation["requestBody"]
        parts.append(f"<h3>Body {versions(body)}</h3>" + schema_block(document, body["content"], whole))
    parts += [answers(document, operation, whole), refusals(operation)]
    if mine:
        parts.append("<h3>Samples</h3>" + "\n".join(message(sample) for sample in mine))
    return "\n".join(part for part in parts if part) + "\n</section>"


def page(document, title, body, current=None):
    links = [("index", "API reference")] + [(tag["name"], tag["name"]) for tag in document["tags"]]
    nav = "\n".join(f'<a href="{name}.html"{" class=here" if name == current else ""}>{esc(label)}</a>'
                    for name, label in links)
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width">\n<title>{esc(title)}</title>\n'
            f'<link rel="stylesheet" href="style.css">\n</head>\n<body>\n<nav>\n{nav}\n</nav>\n'
            f"<main>\n{body}\n</main>\n</body>\n</html>\n")


def index(document):
    parts = ["<h1>API reference</h1>",
             "<p>The REST API of placet, which is that of OpenStack Placement. A request names a microversion in "
             "<code>OpenStack-API-Version: placement 1.N</code>. A request without one gets 1.0. <i>1.7+</i> means "
             "from 1.7 on, <i>1.2 – 1.6</i> from 1.2 to 1.6.</p>",
             '<p>Programs can read the same description from <a href="openapi.json">openapi.json</a>, which placet '
             "serves at <code>/openapi.json</code>. <code>placet openapi --microversion 1.39</code> prints the "
             "description of one version.</p>"]
    for tag in document["tags"]:
        lines = [(f'<span class="method {method.lower()}">{method}</span>',
                  f'<a href="{tag["name"]}.html#{anchor(method, path)}">{esc(path)}</a>', versions(operation),
                  esc(operation["summary"]))
                 for method, path, operation in operations(document) if tag["name"] in operation["tags"]]
        parts += [f'<h2><a href="{tag["name"]}.html">{esc(tag["name"])}</a></h2>',
                  f'<p>{prose(tag["description"])}</p>', table(["", "URL", "versions", ""], lines, "index")]
    return page(document, "placet: API reference", "\n".join(parts), "index")


def render(document, samples):
    """Every page, by file name."""
    pages = {"index.html": index(document)}
    for tag in document["tags"]:
        name = tag["name"]
        parts = [f"<h1>{esc(name)}</h1>", f'<p>{prose(tag["description"])}</p>']
        parts += [section(document, method, path, operation, samples)
                  for method, path, operation in operations(document) if name in operation["tags"]]
        pages[f"{name}.html"] = page(document, f"placet: {name}", "\n".join(parts), name)
    return pages
