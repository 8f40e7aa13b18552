//! One operation: the rows of the table that have one method of one path.

use serde_json::{Value, json};

use super::super::route::{Authorization, Media, Route};
use super::parameters::{of_path, of_query};
use super::refusals;
use super::responses::Responses;
use super::schemas::{Of, Schemas};
use super::span::{Span, merged, one_of_steps};
use super::texts::Texts;

/// A row, where it is served, and its description.
struct Row<'a> {
    route: &'a Route,
    span: Span,
    said: &'a Value,
}

/// The operation within `scope`; `None` if no row is served there.
pub fn operation(routes: &[&Route], scope: &[Span], texts: &Texts, schemas: &mut Schemas<'_>) -> Option<Value> {
    let rows = routes.iter().filter_map(|&route| {
        let span = Span::of(route.family);
        Some(Row {
            route,
            span: scope.iter().find_map(|scope| span.meet(*scope))?,
            said: texts.operation(route),
        })
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let newest = rows.last()?;
    let whole = rows.iter().map(|row| row.span).reduce(Span::join)?;
    let mut operation = json!({
        "operationId": id(newest.route),
        "summary": newest.said["summary"].as_str().unwrap_or("Not described yet."),
        "tags": [noun(newest.route.path)],
    });
    if whole != Span::Native {
        operation["x-openstack"] = whole.json();
    }
    for key in ["about", "changes"] {
        let said = rows.iter().rev().map(|row| &row.said[key]).find(|said| !said.is_null());
        if let Some(said) = said {
            operation[if key == "about" { "description" } else { "x-changes" }] = said.clone();
        }
    }
    authorization(&mut operation, newest.route);
    operation["parameters"] = parameters(&rows, whole, texts, schemas);
    if let Some(body) = body(&rows, schemas) {
        operation["requestBody"] = body;
    }
    let mut responses = Responses::default();
    for row in &rows {
        responses.add_answers(&row.said["answers"], row.span, schemas);
        responses.add_refusals(refusals::of_route(row.route, row.said));
    }
    let (responses, refusals) = responses.json(whole);
    operation["responses"] = responses;
    operation["x-errors"] = refusals;
    Some(operation)
}

/// The noun of a path: its last segment that is no field.
pub fn noun(path: &str) -> &str {
    let word = path.rsplit('/').find(|part| !part.is_empty() && !part.starts_with('{'));
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
    match route.authorization {
        Authorization::Public => operation["security"] = json!([]),
        Authorization::Rule(rule) | Authorization::RuleOfProject(rule) => {
            operation["x-policy"] = json!({"rule": rule.name, "default": rule.check});
        }
    }
}

fn parameters(rows: &[Row<'_>], whole: Span, texts: &Texts, schemas: &Schemas<'_>) -> Value {
    let header = json!({"$ref": "#/components/parameters/OpenStack-API-Version"});
    let newest = &rows[rows.len() - 1];
    let query = newest.said["query"].as_str();
    let query = query
        .map(|named| of_query(named, whole, schemas, texts))
        .unwrap_or_default();
    of_path(newest.route.path, newest.said, schemas, texts)
        .into_iter()
        .chain(query)
        .chain((whole != Span::Native).then_some(header))
        .collect()
}

fn body(rows: &[Row<'_>], schemas: &mut Schemas<'_>) -> Option<Value> {
    let taking: Vec<&Row<'_>> = rows.iter().filter(|row| row.route.media == Media::Takes).collect();
    let span = taking.iter().map(|row| row.span).reduce(Span::join)?;
    let mut steps = Vec::new();
    for row in &taking {
        // Without a description, the schema has the name of the method.
        let usual = format!("{}/{}", noun(row.route.path), row.route.method.as_str().to_lowercase());
        let named = row.said["body"].as_str().unwrap_or(&usual);
        if schemas.has(Of::Requests, named) {
            steps.extend(schemas.references(Of::Requests, named, row.span));
        }
    }
    let steps = merged(steps);
    let schema = if steps.is_empty() {
        json!({})
    } else {
        one_of_steps(steps)
    };
    let always = taking.len() == rows.len();
    let mut body = json!({"required": always, "content": {"application/json": {"schema": schema}}});
    if !always {
        body["x-openstack"] = span.json();
    }
    Some(body)
}
