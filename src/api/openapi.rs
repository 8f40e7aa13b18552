//! The OpenAPI 3.1 description of the API, generated from the route table, the schemas of `wire`, the errors, and
//! texts.
//!
//! Each fact has a single source, so the description cannot differ from the server; tests compare live answers with the
//! description. OpenAPI has no microversions, so `x-openstack` marks the versions of each part of the whole document.
//! The document of a single microversion, or of the native API, is plain OpenAPI.

mod code_checks;
mod operations;
mod parameters;
mod refusals;
mod responses;
mod schemas;
mod sentences;
mod span;
mod texts;

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use actix_web::web::Bytes;
use serde_json::{Map, Value, json};

use super::http::reply::Reply;
use super::http::request_context::RequestContext;
use super::route::Route;
use crate::error::Result;
use crate::version::{LAST_MODIFIED, NATIVE_STEP, Version};
use schemas::Schemas;
use span::Span;
use texts::ApiTexts;

/// The path of the document.
pub const URL: &str = "/openapi.json";

const ABOUT: &str = "The REST API of placet, which is that of OpenStack Placement.\n\n\
    A request names a microversion in `OpenStack-API-Version: placement 1.N`. A request without one gets 1.0. \
    `x-errors` lists the refusals of an operation, with names in braces for the parts that differ. Errors are JSON, \
    or `text/html` or `text/plain` if the client prefers that.";

/// The part of the document with the prefix of the URLs.
const SERVERS: &str = r#""servers":[{"url":"/"}]"#;

const MICROVERSION: &str = "Microversion";
const ABOUT_NATIVE: &str = "\n\nBelow `/v1` is placet's own API, which has no microversions.";

const ABOUT_VERSIONS: &str = "\n\n`x-openstack` has the first (`min-ver`) and the last microversion (`max-ver`) of an \
    operation, a parameter, a schema or a response. If a schema changed, `anyOf` lists its forms. Before its first \
    microversion an operation is answered with 404, in one case with 405. A tool that sends requests needs the \
    description of one microversion: `placet openapi --microversion 1.39`.";

/// `GET /openapi.json`. The route is public: the document is the same for every installation, and tools read the
/// document before they have a token.
pub async fn show(context: RequestContext, routes: &'static [Route]) -> Result<Reply> {
    // Answers share one long text, which clients may ask for without a token.
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let prefix = context.prefix().to_owned();
    if let Some(text) = TEXT.get().filter(|_| prefix.is_empty()) {
        return Ok(Reply::json(text.clone()));
    }
    let below_prefix = move || {
        let text = TEXT.get_or_init(|| document(routes, None).to_string().into());
        if prefix.is_empty() {
            return text.clone();
        }
        let servers = json!([{"url": prefix}]).to_string();
        let text = String::from_utf8_lossy(text);
        text.replacen(SERVERS, &format!("\"servers\":{servers}"), 1).into()
    };
    context.write_long(below_prefix).await
}

/// The document as a text: of everything, of a microversion, or of the native API (`v1`). `None` for an unknown
/// version.
pub fn text(routes: &[Route], version: Option<&str>) -> Option<String> {
    let only = match version {
        Some(NATIVE_STEP) => Some(Span::Native),
        Some(text) => Some(Span::at(text.parse().ok()?)),
        None => None,
    };
    Some(format!("{:#}\n", document(routes, only)))
}

/// The summary of the operation served by a route.
pub fn summary(route: &Route) -> String {
    static TEXTS: LazyLock<ApiTexts> = LazyLock::new(ApiTexts::read);
    let summary = TEXTS.operation(route)["summary"].as_str();
    summary.unwrap_or_default().to_owned()
}

fn document(routes: &[Route], only: Option<Span>) -> Value {
    let everything = [Span::ALL, Span::Native];
    let scope = only.as_ref().map_or(&everything[..], std::slice::from_ref);
    let texts = ApiTexts::read();
    let mut schemas = Schemas::new(&texts);
    let paths = paths(routes, scope, &texts, &mut schemas);
    let refusals = responses::refusal_components(&paths, scope, &mut schemas);
    let mut components: Map<String, Value> = std::mem::take(&mut schemas.components).into_iter().collect();
    components.extend(microversion(scope[0]).map(|schema| (MICROVERSION.to_owned(), schema)));
    let (about, version) = match only {
        None => (
            format!("{ABOUT}{ABOUT_NATIVE}{ABOUT_VERSIONS}"),
            Version::MAX.to_string(),
        ),
        Some(Span::Native) => (texts.noun(NATIVE_STEP).to_owned(), NATIVE_STEP.to_owned()),
        Some(Span::Microversions(_, last)) => (
            format!("{ABOUT}\n\nThis is microversion {last} alone."),
            last.to_string(),
        ),
    };
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Placement",
            "version": version,
            "description": about,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "x-openstack": scope[0].json(),
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": tags(&texts, &paths),
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": refusals,
            "parameters": parameters(scope[0]),
            "headers": headers(scope[0], &texts),
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
        },
    });
    if only.is_some() {
        without_versions(&mut document);
    }
    document
}

/// The operations by path, in the order of the table.
fn paths(routes: &[Route], scope: &[Span], texts: &ApiTexts, schemas: &mut Schemas<'_>) -> Value {
    let mut paths = Map::new();
    // The empty path is a second spelling of the root.
    for route in routes.iter().filter(|route| !route.path.is_empty()) {
        let method = route.method.as_str().to_lowercase();
        if paths.get(route.path).is_some_and(|path| path.get(&method).is_some()) {
            continue;
        }
        let is_same_operation = |other: &&Route| other.path == route.path && other.method == route.method;
        let rows: Vec<&Route> = routes.iter().filter(is_same_operation).collect();
        if let Some(operation) = operations::operation(&rows, scope, texts, schemas) {
            paths.entry(route.path).or_insert_with(|| json!({}))[method] = operation;
        }
    }
    paths.into()
}

/// The nouns of the paths, in the order of the documents.
fn tags(texts: &ApiTexts, paths: &Value) -> Value {
    let paths = paths.as_object().into_iter().flatten();
    let used: BTreeSet<&str> = paths.map(|(path, _)| operations::noun(path)).collect();
    let tags = texts.nouns().filter(|noun| used.contains(noun));
    tags.map(|noun| json!({"name": noun, "description": texts.noun(noun)}))
        .collect()
}

/// The values of the header with the microversion. A generated client has one type for the header, and sends the
/// default if the caller gives no value.
fn microversion(span: Span) -> Option<Value> {
    let Span::Microversions(first, last) = span else {
        return None;
    };
    Some(if first == last {
        let only = format!("placement {first}");
        json!({"type": "string", "enum": [only], "default": only})
    } else {
        json!({"type": "string", "default": "placement 1.0"})
    })
}

/// The shared parameters of operations: the header with the microversion, in a document with microversions. In the
/// document of a microversion newer than the oldest the header is required, because a request without the header is
/// answered in the oldest form.
fn parameters(span: Span) -> Value {
    let Span::Microversions(first, last) = span else {
        return json!({});
    };
    json!({"OpenStack-API-Version": {
        "name": "OpenStack-API-Version",
        "in": "header",
        "required": first == last && first > Version::MIN,
        "description": "The microversion of the request: `placement 1.N`, or `placement latest`.",
        "schema": {"$ref": format!("#/components/schemas/{MICROVERSION}")},
    }})
}

/// The headers of answers, each with the version from which all answers have the header.
fn headers(span: Span, texts: &ApiTexts) -> Value {
    let headers = [
        ("Allow", None),
        ("Cache-Control", Some(LAST_MODIFIED)),
        ("ETag", None),
        ("Last-Modified", Some(LAST_MODIFIED)),
        ("Last-Modified-If-Any", None),
        ("Link", None),
        ("Location", Some(Version::MIN)),
        ("OpenStack-API-Version", None),
        ("Retry-After", Some(Version::MIN)),
        ("Vary", Some(Version::MIN)),
        ("Vary-If-Any", None),
        ("X-Openstack-Request-Id", Some(Version::MIN)),
    ];
    let of_microversions = |name: &str| name.starts_with("Vary") || name == "OpenStack-API-Version";
    let headers = headers
        .into_iter()
        .filter(|(name, _)| span != Span::Native || !of_microversions(name));
    let headers = headers.map(|(name, since)| {
        let header = json!({
            "description": texts.word("headers", "", name).unwrap_or(name),
            "required": since.is_some_and(|since| span.is_since(since)),
            "schema": {"type": "string"},
        });
        (name.to_owned(), header)
    });
    headers.collect::<Map<_, _>>().into()
}

/// Removes the marks of versions.
fn without_versions(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("x-openstack");
            members.shift_remove("x-changes");
            members.values_mut().for_each(without_versions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_versions),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
