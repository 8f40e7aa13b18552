//! The responses of an operation: successful ones and refusals.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

use super::refusals::Refusal;
use super::schemas::{Of, Schemas};
use super::span::{Span, merged, one_of_steps};
use crate::api::route;
use crate::version::LAST_MODIFIED;
use crate::wire::documents::NATIVE_STEP;

/// Collects the responses by status.
#[derive(Default)]
pub struct Responses {
    good: BTreeMap<u16, Good>,
    refusals: BTreeMap<u16, Vec<Refusal>>,
}

#[derive(Default)]
struct Good {
    bodies: Vec<(Span, Value)>,
    located: bool,
    /// The description of its `Last-Modified`, if it has one.
    modified: Option<Value>,
    spans: Vec<Span>,
}

impl Responses {
    /// Adds the described answers of a row that serves `span`.
    pub fn add_answers(&mut self, answers: &Value, span: Span, schemas: &mut Schemas<'_>) {
        for (status, said) in answers.as_object().into_iter().flatten() {
            let good = self
                .good
                .entry(status.parse().expect("an answer is described by its status"))
                .or_default();
            if let Some(named) = said["body"].as_str() {
                good.bodies.extend(schemas.references(Of::Answers, named, span));
            }
            good.located |= said["location"] == true;
            if !said["modified"].is_null() && span.reaches(LAST_MODIFIED) {
                good.modified = Some(said["modified"].clone());
            }
            good.spans.push(span);
        }
    }

    pub fn add_refusals(&mut self, refusals: Vec<Refusal>) {
        for refusal in refusals {
            let known = self.refusals.entry(refusal.status).or_default();
            if !known.contains(&refusal) {
                known.push(refusal);
            }
        }
    }

    /// The responses for the document, and the list of refusals; the operation is served in `whole`.
    pub fn json(self, whole: Span) -> (Value, Value) {
        let mut responses = Map::new();
        if self.good.is_empty() {
            responses.insert("default".to_owned(), json!({"description": "Not described yet."}));
        }
        for (status, good) in self.good {
            responses.insert(status.to_string(), good.json(status, whole));
        }
        let mut refusals = Vec::new();
        for (status, of_status) in &self.refusals {
            let reference = json!({"$ref": format!("#/components/responses/{}", refused_name(*status, whole))});
            responses.insert(status.to_string(), reference);
            refusals.extend(of_status.iter().map(Refusal::json));
        }
        (responses.into(), refusals.into())
    }
}

impl Good {
    fn json(self, status: u16, whole: Span) -> Value {
        let mut names = vec![];
        names.extend(self.located.then_some("Location"));
        match self.modified {
            Some(Value::Bool(true)) => names.extend(["Last-Modified", "Cache-Control"]),
            Some(_) => names.extend(["Last-Modified-If-Any", "Cache-Control"]),
            None => {}
        }
        let mut response = json!({"description": title(status), "headers": headers(whole, "Vary", &names)});
        let bodies = merged(self.bodies);
        if !bodies.is_empty() {
            response["content"] = json!({"application/json": {"schema": one_of_steps(bodies)}});
        }
        let holds = self.spans.into_iter().reduce(Span::join).unwrap_or(whole);
        if holds != whole {
            response["x-openstack"] = holds.json();
        }
        response
    }
}

/// The component of a refusal with this status: the families have refusals of different forms.
fn refused_name(status: u16, span: Span) -> String {
    match span {
        Span::Microversions { .. } => status.to_string(),
        Span::Native => format!("{NATIVE_STEP}-{status}"),
    }
}

/// The responses by which operations refuse, by name: those of each family in `scope`.
pub fn refused(paths: &Value, scope: &[Span], schemas: &mut Schemas<'_>) -> Value {
    let mut responses = Map::new();
    for span in scope {
        let of_family = |path: &&String| route::is_native(path) == (*span == Span::Native);
        let paths = paths.as_object().into_iter().flatten();
        let operations = paths
            .filter(|(path, _)| of_family(path))
            .flat_map(|(_, path)| path.as_object().into_iter().flatten());
        let refusals = operations.flat_map(|(_, operation)| operation["x-errors"].as_array().into_iter().flatten());
        let statuses: BTreeSet<u16> = refusals
            .filter_map(|refusal| u16::try_from(refusal["status"].as_u64()?).ok())
            .collect();
        for status in statuses {
            responses.insert(refused_name(status, *span), one_refused(status, *span, schemas));
        }
    }
    responses.into()
}

fn one_refused(status: u16, span: Span, schemas: &mut Schemas<'_>) -> Value {
    let (named, more): (_, &[&str]) = match status {
        401 if span != Span::Native => ("errors/unauthorized", &[]),
        405 => ("errors/refused", &["Allow"]),
        503 => ("errors/refused", &["Retry-After"]),
        _ => ("errors/refused", &[]),
    };
    json!({
        "description": title(status),
        "headers": headers(span, "Vary-If-Any", more),
        "content": {"application/json": {"schema": one_of_steps(schemas.references(Of::Answers, named, span))}},
    })
}

fn title(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).ok();
    status
        .and_then(|status| status.canonical_reason())
        .unwrap_or("An answer")
}

/// Headers that every response has, and `more`. A refusal that is the same at every version does not vary.
fn headers(span: Span, vary: &str, more: &[&str]) -> Value {
    let always: &[&str] = match span {
        Span::Microversions { .. } => &["OpenStack-API-Version", "X-Openstack-Request-Id", vary],
        Span::Native => &["X-Openstack-Request-Id"],
    };
    let references = always.iter().chain(more).map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        (name.trim_end_matches("-If-Any").to_owned(), reference)
    });
    references.collect::<Map<_, _>>().into()
}
