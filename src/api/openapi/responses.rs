//! The responses of an operation: successes and refusals.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

use super::refusals::RefusalDescription;
use super::schemas::{Schemas, Side};
use super::span::{Span, merged, one_of_steps};
use crate::api::http::lists::LINES;
use crate::api::route;
use crate::version::{LAST_MODIFIED, NATIVE_STEP};

/// Collects the responses by status.
#[derive(Default)]
pub struct Responses {
    successes: BTreeMap<u16, Success>,
    refusals: BTreeMap<u16, Vec<RefusalDescription>>,
}

#[derive(Default)]
struct Success {
    bodies: Vec<(Span, Value)>,
    /// Whether the response has `Location`.
    has_location: bool,
    /// The description of the header `Last-Modified`, if the response has the header.
    modified: Option<Value>,
    /// Whether the response is a page of a list, or says that the client has the page.
    is_page: bool,
    /// The versions of each row with this response.
    spans: Vec<Span>,
}

impl Responses {
    /// Adds the described answers of a row for the versions of `span`.
    pub fn add_answers(&mut self, answers: &Value, span: Span, schemas: &mut Schemas<'_>) {
        for (status, answer) in answers.as_object().into_iter().flatten() {
            let success = self
                .successes
                .entry(status.parse().expect("the key of an answer is its status"))
                .or_default();
            if let Some(name) = answer["body"].as_str() {
                success.bodies.extend(schemas.references(Side::Answers, name, span));
            }
            success.has_location |= answer["location"] == true;
            success.is_page |= answer["page"] == true;
            if !answer["modified"].is_null() && span.reaches(LAST_MODIFIED) {
                success.modified = Some(answer["modified"].clone());
            }
            success.spans.push(span);
        }
    }

    pub fn add_refusals(&mut self, refusals: Vec<RefusalDescription>) {
        for refusal in refusals {
            let known = self.refusals.entry(refusal.status).or_default();
            if !known.contains(&refusal) {
                known.push(refusal);
            }
        }
    }

    /// The responses for the document, and the list of refusals; `served` has the versions of the operation.
    pub fn json(self, served: Span) -> (Value, Value) {
        let mut responses = Map::new();
        if self.successes.is_empty() {
            responses.insert("default".to_owned(), json!({"description": "Not described yet."}));
        }
        for (status, success) in self.successes {
            responses.insert(status.to_string(), success.json(status, served));
        }
        let mut refusals = Vec::new();
        for (status, refusals_of_status) in &self.refusals {
            let reference = json!({"$ref": format!("#/components/responses/{}", component_name(*status, served))});
            responses.insert(status.to_string(), reference);
            refusals.extend(refusals_of_status.iter().map(RefusalDescription::json));
        }
        (responses.into(), refusals.into())
    }
}

impl Success {
    fn json(self, status: u16, served: Span) -> Value {
        let mut names = vec![];
        names.extend(self.has_location.then_some("Location"));
        if self.is_page {
            names.extend(["ETag", "Link"]);
        }
        match self.modified {
            Some(Value::Bool(true)) => names.extend(["Last-Modified", "Cache-Control"]),
            Some(_) => names.extend(["Last-Modified-If-Any", "Cache-Control"]),
            None => {}
        }
        let mut response = json!({"description": title(status), "headers": headers(served, "Vary", &names)});
        let bodies = merged(self.bodies);
        if !bodies.is_empty() {
            response["content"] = json!({"application/json": {"schema": one_of_steps(bodies)}});
            if self.is_page {
                response["content"][LINES] = json!({"schema": {"type": "string"}});
            }
        }
        let span = self.spans.into_iter().reduce(Span::join).unwrap_or(served);
        if span != served {
            response["x-openstack"] = span.json();
        }
        response
    }
}

/// The name of the refusal with this status. Each family has a form of refusals.
fn component_name(status: u16, span: Span) -> String {
    match span {
        Span::Microversions(..) => status.to_string(),
        Span::Native => format!("{NATIVE_STEP}-{status}"),
    }
}

/// The responses that are refusals, by name, for each family in `scope`.
pub fn refusal_components(paths: &Value, scope: &[Span], schemas: &mut Schemas<'_>) -> Value {
    let mut responses = Map::new();
    for span in scope {
        let is_of_family = |path: &&String| route::is_native(path) == (*span == Span::Native);
        let paths = paths.as_object().into_iter().flatten();
        let operations = paths
            .filter(|(path, _)| is_of_family(path))
            .flat_map(|(_, path)| path.as_object().into_iter().flatten());
        let refusals = operations.flat_map(|(_, operation)| operation["x-errors"].as_array().into_iter().flatten());
        let statuses: BTreeSet<u16> = refusals
            .filter_map(|refusal| u16::try_from(refusal["status"].as_u64()?).ok())
            .collect();
        for status in statuses {
            responses.insert(component_name(status, *span), refusal_component(status, *span, schemas));
        }
    }
    responses.into()
}

fn refusal_component(status: u16, span: Span, schemas: &mut Schemas<'_>) -> Value {
    let (schema_name, more): (_, &[&str]) = match status {
        401 if span != Span::Native => ("errors/unauthorized", &[]),
        405 => ("errors/refused", &["Allow"]),
        503 => ("errors/refused", &["Retry-After"]),
        _ => ("errors/refused", &[]),
    };
    json!({
        "description": title(status),
        "headers": headers(span, "Vary-If-Any", more),
        "content": {"application/json": {"schema": one_of_steps(schemas.references(Side::Answers, schema_name, span))}},
    })
}

fn title(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).ok();
    status
        .and_then(|status| status.canonical_reason())
        .unwrap_or("An answer")
}

/// References to the headers of every response, and to `more`. `vary` names the component for `Vary`, because
/// a refusal without regard to the version lacks the header.
fn headers(span: Span, vary: &str, more: &[&str]) -> Value {
    let always: &[&str] = match span {
        Span::Microversions(..) => &["OpenStack-API-Version", "X-Openstack-Request-Id", vary],
        Span::Native => &["X-Openstack-Request-Id"],
    };
    let references = always.iter().chain(more).map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        (name.trim_end_matches("-If-Any").to_owned(), reference)
    });
    references.collect::<Map<_, _>>().into()
}
