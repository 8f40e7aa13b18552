//! The description of the API: OpenAPI 3.1, made of the route table, the schemas of `wire`, the errors, and texts that
//! are data. Nothing of it is written twice, so that it cannot say what the server does not do; what it says of answers
//! is held against live ones by the tests.
//!
//! OpenAPI knows no microversions. The whole document says with `x-openstack` since when and until when something holds;
//! the document of one version has nothing but what holds there, and is plain OpenAPI.

mod operations;
mod parameters;
mod refusals;
mod responses;
mod schemas;
mod sentences;
mod span;
mod texts;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::call::Call;
use super::reply::Reply;
use super::route::Route;
use super::routes::ROUTES;
use crate::error::Result;
use crate::version::{LAST_MODIFIED, Version};
use schemas::Schemas;
use span::Span;
use texts::Texts;

/// Where it is served.
pub const URL: &str = "/openapi.json";

const ABOUT: &str = "The REST API of placet, which is that of OpenStack Placement.\n\n\
    A request names a microversion in `OpenStack-API-Version: placement 1.N`; without one it speaks 1.0. `x-errors` \
    lists how an operation may refuse, with names in braces for what differs. Errors are JSON; a client that prefers \
    `text/html` or `text/plain` gets that.";

const ABOUT_VERSIONS: &str = "\n\n`x-openstack` says from which microversion (`min-ver`) to which (`max-ver`) an \
    operation, a parameter, a schema or a response holds; where a schema has several steps, `anyOf` lists them. Before \
    its first microversion an operation is not there (404, in one case 405).";

/// `GET /openapi.json`. Whoever may reach the service may read it: it is the same everywhere, and tools need it before
/// they have a token.
pub async fn show(call: Call) -> Result<Reply> {
    static WHOLE: LazyLock<Value> = LazyLock::new(|| document(None));
    let mut document = WHOLE.clone();
    if !call.prefix().is_empty() {
        document["servers"][0]["url"] = call.prefix().into();
    }
    Ok(Reply::json(document.to_string().into_bytes()))
}

/// The document as a text: of all versions, or of one. `None` if there is no such version.
pub fn text(version: Option<&str>) -> Option<String> {
    let version = match version {
        Some(text) => Some(text.parse().ok()?),
        None => None,
    };
    Some(format!("{:#}\n", document(version)))
}

fn document(only: Option<Version>) -> Value {
    let scope = only.map_or(Span::ALL, Span::at);
    let texts = Texts::read();
    let mut schemas = Schemas::new(&texts);
    let paths = paths(ROUTES, scope, &texts, &mut schemas);
    let refused = responses::refused(&paths, scope, &mut schemas);
    let components: Map<String, Value> = std::mem::take(&mut schemas.components).into_iter().collect();
    let about = match only {
        None => format!("{ABOUT}{ABOUT_VERSIONS}"),
        Some(version) => format!("{ABOUT}\n\nThis is microversion {version} alone."),
    };
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Placement",
            "version": scope.last.to_string(),
            "description": about,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "x-openstack": scope.json(),
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": tags(&texts, &paths),
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": refused,
            "parameters": {"OpenStack-API-Version": version_header(only)},
            "headers": headers(scope, &texts),
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
        },
    });
    if only.is_some() {
        without_versions(&mut document);
    }
    document
}

/// The operations by path, in the order of the table.
fn paths(routes: &[Route], scope: Span, texts: &Texts, schemas: &mut Schemas<'_>) -> Value {
    let mut paths = Map::new();
    // The empty path is another spelling of the root.
    for route in routes.iter().filter(|route| !route.path.is_empty()) {
        let method = route.method.as_str().to_lowercase();
        if paths.get(route.path).is_some_and(|path| path.get(&method).is_some()) {
            continue;
        }
        let same = |other: &&Route| other.path == route.path && other.method == route.method;
        let rows: Vec<&Route> = routes.iter().filter(same).collect();
        if let Some(operation) = operations::operation(&rows, scope, texts, schemas) {
            paths.entry(route.path).or_insert_with(|| json!({}))[method] = operation;
        }
    }
    paths.into()
}

/// The nouns that the paths have: first those that are described, in their order.
fn tags(texts: &Texts, paths: &Value) -> Value {
    let mut names: Vec<&str> = Texts::nouns().collect();
    for path in paths
        .as_object()
        .into_iter()
        .flatten()
        .map(|(path, _)| operations::noun(path))
    {
        if !names.contains(&path) {
            names.push(path);
        }
    }
    let there = |name: &&str| {
        paths
            .as_object()
            .into_iter()
            .flatten()
            .any(|(path, _)| operations::noun(path) == *name)
    };
    let tags = names.into_iter().filter(there);
    tags.map(|name| json!({"name": name, "description": texts.noun(name)}))
        .collect()
}

fn version_header(only: Option<Version>) -> Value {
    let schema = match only {
        Some(version) => json!({"type": "string", "enum": [format!("placement {version}")]}),
        None => json!({"type": "string", "default": "placement 1.0"}),
    };
    json!({
        "name": "OpenStack-API-Version",
        "in": "header",
        "required": only.is_some_and(|version| version > Version::MIN),
        "description": "The microversion that the request speaks: `placement 1.N`, or `placement latest`.",
        "schema": schema,
    })
}

/// The headers of answers, and from which version on each is always there where it is named.
fn headers(scope: Span, texts: &Texts) -> Value {
    let headers = [
        ("Allow", None),
        ("Cache-Control", Some(LAST_MODIFIED)),
        ("Last-Modified", Some(LAST_MODIFIED)),
        ("Last-Modified-If-Any", None),
        ("Location", Some(Version::MIN)),
        ("OpenStack-API-Version", None),
        ("Retry-After", Some(Version::MIN)),
        ("Vary", Some(Version::MIN)),
        ("Vary-If-Any", None),
        ("X-Openstack-Request-Id", Some(Version::MIN)),
    ];
    let headers = headers.into_iter().map(|(name, always)| {
        let header = json!({
            "description": texts.word("headers", name).unwrap_or(name),
            "required": always.is_some_and(|since| scope.first >= since),
            "schema": {"type": "string"},
        });
        (name.to_owned(), header)
    });
    headers.collect::<Map<_, _>>().into()
}

/// Takes out what speaks of versions.
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
