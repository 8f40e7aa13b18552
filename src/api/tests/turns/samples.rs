//! Requests to routes without a case: the samples of the API's reference, in the same order, with the same answers.
//!
//! A noun needs no case if the samples of the noun depend on no other noun, and no body has a list. Rows of
//! [`super::cloud`] make the noun's own lists long. Bodies are filled with blanks, by turns to each length.

use std::collections::BTreeMap;

use actix_web::http::Method;
use serde_json::Value;

use super::cases::Case;
use super::client::Request;
use super::{Media, Route, body_lengths};
use crate::version::Version;
use crate::wire::documents::documents;

/// The requests to these routes.
///
/// # Panics
/// If a route has no sample, or a list in the body.
pub fn requests(routes: &[&Route]) -> Vec<Request> {
    let samples: Vec<Value> = serde_json::from_str(include_str!("../../../../api-ref/samples.json")).expect("JSON");
    let (mut requests, mut counts) = (Vec::new(), BTreeMap::new());
    for sample in &samples {
        if let Some(route) = routes.iter().find(|route| is_of(route, sample)) {
            let count: &mut usize = counts.entry(name(route)).or_default();
            requests.push(request(route, sample, *count));
            *count += 1;
        }
    }
    for route in routes {
        let name = name(route);
        assert!(counts.contains_key(&name), "{name} has no case and no sample");
        let is_short = route.media != Media::ConsumesJson || !has_list(&name);
        assert!(is_short, "{name} has a list in the body: add a case with a long list");
    }
    requests
}

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn text<'a>(sample: &'a Value, member: &str) -> &'a str {
    sample[member].as_str().expect("a text")
}

fn is_of(route: &Route, sample: &Value) -> bool {
    let path = text(sample, "url").split('?').next().unwrap_or_default();
    route.method.as_str() == text(sample, "method") && route.matches(path)
}

/// The sample as a request. The lengths of the route are used by turns.
fn request(route: &Route, sample: &Value, count: usize) -> Request {
    let lengths = body_lengths(route);
    let case = Case {
        url: text(sample, "url").to_owned(),
        body: sample.get("sent").cloned(),
        length: lengths[count % lengths.len()] * 9 / 10,
        status: sample["status"]
            .as_u64()
            .and_then(|status| status.try_into().ok())
            .expect("a status"),
    };
    let method = Method::from_bytes(text(sample, "method").as_bytes()).expect("a method");
    Request::new(&method, &case, Version::MAX)
}

/// Whether a body of the operation's noun has a list.
fn has_list(operation: &str) -> bool {
    let documents = documents();
    let document = documents
        .iter()
        .find(|(_, document)| document["operations"].get(operation).is_some());
    let (_, document) = document.expect("each operation has a description");
    document["requests"].to_string().contains("\"array\"")
}
