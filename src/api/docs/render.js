// The description of the API and its samples as HTML. This file knows no browser, so that tests run it in node.

/** Text that is HTML, and is not escaped again. */
class Html {
  constructor(text) {
    this.text = text;
  }
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function shown(value) {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(shown).join("");
  return String(value ?? "").replace(/[&<>"]/g, (character) => ESCAPES[character]);
}

/** A template whose values are escaped, unless a value is HTML. */
function html(parts, ...values) {
  return new Html(parts[0] + values.map((value, at) => shown(value) + parts[at + 1]).join(""));
}

/** Text with `code` in backquotes. */
function prose(text) {
  return (text ?? "").split(/`([^`]+)`/).map((piece, at) => (at % 2 ? html`<code>${piece}</code>` : piece));
}

function paragraphs(text) {
  return (text ?? "").split("\n\n").filter(Boolean).map((paragraph) => html`<p>${prose(paragraph)}</p>\n`);
}

function table(heads, lines) {
  const head = heads.map((cell) => html`<th>${cell}</th>`);
  const body = lines.map((line) => html`<tr>${line.map((cell) => html`<td>${cell}</td>`)}</tr>\n`);
  return html`<div class="wide"><table><thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table></div>\n`;
}

/** The microversions of an element, as `1.7+`. `whole` is for an element that names none. */
function versions(element, whole = "") {
  const { "min-ver": first, "max-ver": last } = element["x-openstack"] ?? {};
  if (!first) return whole;
  if (!last) return `${first}+`;
  return first === last ? first : `${first} – ${last}`;
}

/** The steps of a schema, newest first. A step that says nothing is of microversions that do not read the body. */
function steps(schema) {
  if (!schema["x-openstack"]?.discriminator) return [schema];
  return schema.anyOf.filter((step) => Object.keys(step).some((key) => key !== "x-openstack")).reverse();
}

function anchor(method, path) {
  return `${method} ${path}`.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/-$/, "");
}

const value = (text) => (text === null ? "null" : `“${text}”`);

// The names in paths for members that are named by a pattern.
const KEYS = { "^[0-9a-fA-F-]{36}$": "{uuid}", "^[A-Z0-9_]+$": "{CLASS}", "[a-zA-Z0-9_-]{1,64}": "{suffix}" };
// The names in paths for members with any name, by the name of their object.
const MEMBERS = {
  allocations: "{uuid}", provider_summaries: "{uuid}", inventories: "{CLASS}", resources: "{CLASS}",
  mappings: "{suffix}",
};
// Longer patterns are left to the description: the text beside says what they mean.
const LONGEST_PATTERN = 40;
// Headers that every answer has.
const ALWAYS = ["OpenStack-API-Version", "X-Openstack-Request-Id", "Vary"];

/** A description, and the samples of its operations. */
export class Api {
  constructor(description, samples) {
    this.description = description;
    this.samples = samples;
    this.operations = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(), path, operation, id: anchor(method, path),
      })));
  }

  /** The operations of a noun. */
  of(tag) {
    return this.operations.filter(({ operation }) => operation.tags.includes(tag.name));
  }

  resolve(schema) {
    while (schema.$ref) {
      const { $ref, ...own } = schema;
      const target = $ref.replace(/^#\//, "").split("/").reduce((found, part) => found[part], this.description);
      schema = { ...target, ...own };
    }
    return schema;
  }

  /** The type and its bounds in words. */
  kind(schema) {
    schema = this.resolve(schema);
    const options = schema.anyOf ?? schema.oneOf;
    if (options) return [...new Set(options.map((option) => this.kind(option)))].join(" or ");
    if (schema.allOf) return this.kind(schema.allOf[0]);
    if ("const" in schema) return value(schema.const);
    if (schema.enum) return schema.enum.map(value).join(" or ");
    const types = schema.type ?? "any";
    if (types === "array") return `list of ${this.kind(schema.items ?? {})}`;
    const { minimum: low, maximum: high, minLength: short = 0, maxLength: long, pattern = "" } = schema;
    return [
      [types].flat().join(" or "),
      schema.format,
      [low === undefined ? "" : `from ${low}`, high === undefined ? "" : `to ${high}`].filter(Boolean).join(" "),
      long === undefined ? "" : `${short} to ${long} characters`,
      pattern.length <= LONGEST_PATTERN ? pattern : "",
      schema.minProperties || schema.minItems ? "not empty" : "",
    ].filter(Boolean).join(", ");
  }

  /** One row for each member, depth first. Members of alternatives come once. A type inside of itself ends. */
  rows(schema, path = "", above = []) {
    if (above.includes(schema.$ref)) return [];
    if (schema.$ref) above = [...above, schema.$ref];
    schema = this.resolve(schema);
    const join = (name) => (path ? `${path}.${name}` : name);
    const found = [];
    const add = (at, member, required) => {
      const { description } = this.resolve(member);
      found.push({ path: at, kind: this.kind(member), required, about: description });
      found.push(...this.rows(member, at, above));
    };
    for (const option of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((options) => options ?? [])) {
      const known = found.map((row) => row.path);
      found.push(...this.rows(option, path, above).filter((row) => !known.includes(row.path)));
    }
    const required = [schema, ...(schema.allOf ?? [])].flatMap((part) => part.required ?? []);
    for (const row of found) row.required ||= required.some((name) => row.path === join(name));
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      add(join(name), member, required.includes(name));
    }
    for (const [pattern, member] of Object.entries(schema.patternProperties ?? {})) {
      add(join(KEYS[pattern] ?? "{name}"), member, false);
    }
    if (typeof schema.additionalProperties === "object") {
      add(join(this.anyName(path, schema.additionalProperties)), schema.additionalProperties, false);
    }
    if (schema.items) found.push(...this.rows(schema.items, `${path}[]`, above));
    return found;
  }

  /** The name in a path for the members of an object that may have any name. */
  anyName(path, schema) {
    const name = path.split(".").pop();
    if (name === "usages") return this.resolve(schema).type === "object" ? "{TYPE}" : "{CLASS}";
    return MEMBERS[name] ?? (name === "{TYPE}" ? "{CLASS}" : "{name}");
  }

  /** The newest step as a table, and older steps folded. */
  content(content, whole) {
    return steps(content["application/json"].schema).map((step, number) => {
      const rows = this.rows(step);
      const lines = rows.map((row) => [
        html`<code>${row.path}</code>`, row.kind, row.required ? "yes" : "", prose(row.about),
      ]);
      const top = this.resolve(step).type === "object" ? "" : html`<p class="kind">${this.kind(step)}</p>\n`;
      const block = [top, lines.length ? table(["member", "type", "always", "meaning"], lines) : ""];
      const title = ["JSON", versions(step, whole)].filter(Boolean).join(", ");
      if (number === 0) return html`<h5>${title}</h5>${block}`;
      return html`<details><summary class="span">${title}</summary>${block}</details>\n`;
    });
  }

  /** The type of a parameter, for each step in which the type differs. */
  parameterKind(schema, whole) {
    const found = [];
    for (const step of steps(schema)) {
      const words = step.patternProperties ? suffixed(step) : this.kind(step);
      if (found.at(-1)?.words !== words) found.push({ words, span: versions(step, whole) });
    }
    if (found.length === 1) return found[0].words;
    return found.map(({ words, span }) => html`<div><b class="span">${span}</b> ${words}</div>`);
  }

  parameters(operation, whole) {
    const parameters = operation.parameters.map((parameter) => this.resolve(parameter));
    const lines = parameters.filter((parameter) => parameter.in !== "header").map((parameter) => [
      html`<code>${parameter.name}</code>`, parameter.in, versions(parameter, whole), parameter.required ? "yes" : "",
      this.parameterKind(parameter.schema, whole), prose(parameter.description),
    ]);
    if (!lines.length) return "";
    const heads = ["name", "in", "versions", "required", "type", "meaning"];
    return html`<h4>Parameters</h4>\n${table(heads, lines)}`;
  }

  body(operation, whole) {
    const body = operation.requestBody;
    return body && html`<h4>Body ${versions(body)}</h4>\n${this.content(body.content, whole)}`;
  }

  answers(operation, whole) {
    const own = Object.entries(operation.responses).filter(([, response]) => !response.$ref);
    const found = own.map(([status, response]) => {
      const headers = Object.keys(response.headers ?? {}).filter((name) => !ALWAYS.includes(name));
      const names = headers.map((name, at) => html`${at ? ", " : " with "}<code>${name}</code>`);
      return html`<p><b class="good">${status} ${response.description}</b> ${versions(response, whole)}${names}${
        response.content ? "" : ", no body"}</p>\n${response.content ? this.content(response.content, whole) : ""}`;
    });
    return html`<h4>Answers</h4>\n${found}`;
  }

  refusals(operation) {
    const errors = [...operation["x-errors"]].sort((one, next) => one.status - next.status);
    const lines = errors.map((error) => [
      html`<b class="bad">${error.status}</b>`, html`<code>${error.code}</code>`, error.detail,
    ]);
    return html`<details><summary><h4>Refusals</h4> (${lines.length})</summary>${
      table(["status", "code", "detail"], lines)}</details>\n`;
  }

  /** The samples of an operation: each request and its answer as text. */
  samplesOf({ method, path, operation }) {
    const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/?]+")}(\\?.*)?$`);
    const own = this.samples.filter((sample) => sample.method === method && pattern.test(sample.url));
    const found = own.map((sample) => {
      const version = operation["x-openstack"] ? [`OpenStack-API-Version: placement ${sample.version}`] : [];
      const reason = this.resolve(operation.responses[sample.status] ?? {}).description ?? "";
      const sent = [`${method} ${sample.url} HTTP/1.1`, ...version, "X-Auth-Token: …", ...json(sample.sent)];
      const headers = Object.entries(sample.headers).map(([name, text]) => `${titled(name)}: ${text}`);
      const answered = [
        `HTTP/1.1 ${sample.status} ${reason}`, ...version, ...headers, ...json(sample.answered),
      ];
      return html`<details><summary>${sample.url}${version.length ? ` at ${sample.version}` : ""}: <b class="${
        sample.status < 400 ? "good" : "bad"}">${sample.status}</b></summary><pre>${sent.join("\n")}</pre><pre>${
        answered.join("\n")}</pre></details>\n`;
    });
    return found.length ? html`<h4>Samples</h4>\n${found}` : "";
  }

  section(entry) {
    const { method, path, operation, id } = entry;
    const whole = versions(operation);
    const policy = operation["x-policy"];
    const access = policy
      ? html`Policy <code>${policy.rule}</code>, by default <code>${policy.default}</code>.`
      : "No token is needed.";
    const changes = Object.entries(operation["x-changes"] ?? {});
    return html`<section id="${id}">
<h3><a href="#${id}"><span class="method ${method.toLowerCase()}">${method}</span> ${path}</a></h3>
<p class="lead">${operation.summary}</p>
${paragraphs(operation.description)}<p class="small">${whole ? `Microversions ${whole}. ` : ""}${access}</p>
${changes.length ? table(["since", "change"], changes.map(([since, text]) => [since, prose(text)])) : ""}${
  this.parameters(operation, whole)}${this.body(operation, whole)}${this.answers(operation, whole)}${
  this.refusals(operation)}${this.samplesOf(entry)}</section>
`;
  }

  /** The headers of answers, and the forms of refusals. */
  common() {
    const { headers = {}, responses = {} } = this.description.components;
    const lines = Object.entries(headers).filter(([name]) => !name.endsWith("-If-Any")).map(([name, header]) =>
      [html`<code>${name}</code>`, prose(header.description)]);
    const forms = ["400", "v1-400"].filter((name) => responses[name]).map((name) =>
      html`<h4>${name.startsWith("v1") ? "Below /v1" : "OpenStack's routes"}</h4>\n${
        this.content(responses[name].content)}`);
    return html`<section id="headers"><h2>Headers of answers</h2>\n${table(["header", "meaning"], lines)}</section>
<section id="refusal-body"><h2>The body of a refusal</h2>\n${forms}</section>\n`;
  }

  /** The text of the page, without the list at the side. */
  contents() {
    const { info, tags } = this.description;
    const nouns = tags.map((tag) => html`<section id="${tag.name}"><h2>${tag.name}</h2>
${paragraphs(tag.description)}${this.of(tag).map((entry) => this.section(entry))}</section>
`);
    return html`<h1>API reference</h1>
<p class="small">${info.title} ${info.version}, as <a href="openapi.json">OpenAPI</a></p>
${paragraphs(info.description)}<p><i>1.7+</i> means from microversion 1.7 on, <i>1.2 – 1.6</i> from 1.2 to 1.6. A body
that changed has its newest form open, and each older form folded.</p>
${nouns}${this.common()}`.text;
  }

  /** The list at the side. `data-words` has the text in which the filter searches. */
  navigation() {
    const item = ({ method, path, operation, id }) =>
      html`<li data-words="${this.words(method, path, operation)}"><a href="#${id}"><span class="method ${
        method.toLowerCase()}">${method}</span>${path}</a></li>\n`;
    const nouns = this.description.tags.map((tag) =>
      html`<div class="noun"><h2><a href="#${tag.name}">${tag.name}</a></h2>\n<ul>${this.of(tag).map(item)}</ul></div>\n`);
    return html`${nouns}<h2><a href="#headers">Headers of answers</a></h2>
<h2><a href="#refusal-body">The body of a refusal</a></h2>
`.text;
  }

  /** The words of an operation: texts, parameters, members of all bodies, and codes of refusals. */
  words(method, path, operation) {
    const responses = Object.values(operation.responses).filter((response) => !response.$ref);
    const contents = [operation.requestBody, ...responses].map((part) => part?.content).filter(Boolean);
    const schemas = contents.flatMap((content) => steps(content["application/json"].schema));
    const members = schemas.flatMap((schema) => this.rows(schema)).map((row) => row.path);
    const parameters = operation.parameters.map((parameter) => this.resolve(parameter).name);
    const codes = operation["x-errors"].map((error) => error.code);
    const all = [method, path, ...operation.tags, operation.summary, operation.description ?? "", ...parameters,
      ...members, ...codes];
    return [...new Set(all)].join(" ").toLowerCase();
  }
}

/** The members of the parameter that stands for all parameters with a suffix. */
function suffixed(schema) {
  const patterns = Object.keys(schema.patternProperties).map((pattern) => /^\^(\w+)\((.*)\)\$$/.exec(pattern));
  const names = patterns.map((found) => found?.[1]).join(", ");
  return `${names}, each with a suffix ${patterns[0]?.[2]}`;
}

function json(body) {
  return body === undefined ? [] : ["Content-Type: application/json", "", JSON.stringify(body, null, 2)];
}

function titled(name) {
  return name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

/** Whether a text has every word of a filter. */
export function matches(filter, words) {
  return filter.toLowerCase().split(/\s+/).every((word) => words.includes(word));
}
