//! An operation: the rows of the route table with the same method and path.

use serde_json::{Value, json};

use super::super::route::{Media, Route};
use super::parameters::{of_path, of_query};
use super::refusals;
use super::responses::Responses;
use super::schemas::{Schemas, Side};
use super::span::{Span, merged, one_of_steps};
use super::texts::ApiTexts;

/// A row of the route table, with the versions and the description of the row.
struct ServedRoute<'a> {
    route: &'a Route,
    span: Span,
    description: &'a Value,
}

/// The operation within `scope`; `None` if no row serves a version of the scope.
pub fn operation(routes: &[&Route], scope: &[Span], texts: &ApiTexts, schemas: &mut Schemas<'_>) -> Option<Value> {
    let rows = routes.iter().filter_map(|&route| {
        let span = Span::of(route.family);
        Some(ServedRoute {
            route,
            span: scope.iter().find_map(|scope| span.intersection(*scope))?,
            description: texts.operation(route),
        })
    });
    let rows: Vec<ServedRoute<'_>> = rows.collect();
    let newest = rows.last()?;
    let served = rows.iter().map(|row| row.span).reduce(Span::join)?;
    let mut operation = json!({
        "operationId": id(newest.route),
        "summary": newest.description["summary"].as_str().unwrap_or("Not described yet."),
        "tags": [noun(newest.route.path)],
    });
    if served != Span::Native {
        operation["x-openstack"] = served.json();
    }
    for (key, member) in [("about", "description"), ("changes", "x-changes")] {
        let mut texts = rows.iter().rev().map(|row| &row.description[key]);
        if let Some(text) = texts.find(|text| !text.is_null()) {
            operation[member] = text.clone();
        }
    }
    authorization(&mut operation, newest.route);
    operation["parameters"] = parameters(&rows, served, texts, schemas);
    if let Some(body) = body(&rows, schemas) {
        operation["requestBody"] = body;
    }
    let mut responses = Responses::default();
    for row in &rows {
        responses.add_answers(&row.description["answers"], row.span, schemas);
        responses.add_refusals(refusals::of_route(row.route, row.description));
    }
    let (responses, refusals) = responses.json(served);
    operation["responses"] = responses;
    operation["x-errors"] = refusals;
    Some(operation)
}

/// The noun of a path: the last segment apart from fields, and of a native path the first segment.
pub fn noun(path: &str) -> &str {
    let is_word = |part: &&str| !part.is_empty() && !part.starts_with('{');
    // Below a native noun may be an operation, such as the report of a host.
    let native = path.strip_prefix("/v1/").and_then(|rest| rest.split('/').find(is_word));
    let word = native.or_else(|| path.rsplit('/').find(is_word));
    word.map_or("root", |word| word.trim_end_matches(".json"))
}

fn id(route: &Route) -> String {
    let words = route
        .path
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let words = if words.is_empty() {
        "root".to_owned()
    } else {
        words.join("_")
    };
    format!("{}_{words}", route.method.as_str().to_lowercase())
}

fn authorization(operation: &mut Value, route: &Route) {
    match route.rule {
        None => operation["security"] = json!([]),
        Some(rule) => operation["x-policy"] = json!({"rule": rule.name, "default": rule.check}),
    }
}

fn parameters(rows: &[ServedRoute<'_>], served: Span, texts: &ApiTexts, schemas: &Schemas<'_>) -> Value {
    let header = json!({"$ref": "#/components/parameters/OpenStack-API-Version"});
    let newest = &rows[rows.len() - 1];
    let query = newest.description["query"].as_str();
    let query = query
        .map(|name| of_query(name, served, schemas, texts))
        .unwrap_or_default();
    of_path(newest.route, newest.description, schemas, texts)
        .into_iter()
        .chain(query)
        .chain((served != Span::Native).then_some(header))
        .collect()
}

fn body(rows: &[ServedRoute<'_>], schemas: &mut Schemas<'_>) -> Option<Value> {
    let consuming: Vec<&ServedRoute<'_>> = rows
        .iter()
        .filter(|row| row.route.media == Media::ConsumesJson)
        .collect();
    let span = consuming.iter().map(|row| row.span).reduce(Span::join)?;
    let mut steps = Vec::new();
    for row in &consuming {
        // By default the schema is named after the method.
        let default_name = format!("{}/{}", noun(row.route.path), row.route.method.as_str().to_lowercase());
        let name = row.description["body"].as_str().unwrap_or(&default_name);
        steps.extend(schemas.references(Side::Requests, name, row.span));
    }
    if !steps.is_empty() {
        // At the versions of the remaining rows the body is not read, and may be anything.
        let others = rows.iter().filter(|row| row.route.media != Media::ConsumesJson);
        steps.extend(others.map(|row| (row.span, json!({}))));
    }
    let steps = merged(steps);
    let schema = if steps.is_empty() {
        json!({})
    } else {
        one_of_steps(steps)
    };
    let always = consuming.len() == rows.len();
    let mut body = json!({"required": always, "content": {"application/json": {"schema": schema}}});
    if !always {
        body["x-openstack"] = span.json();
    }
    Some(body)
}
