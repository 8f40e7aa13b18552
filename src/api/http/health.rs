//! `/health/live` and `/health/ready`, for balancers and supervisors. The two need no token, so they say nothing about
//! the cloud, the configuration, or the database's address.

use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use super::headers::request_id_header;
use crate::api::readiness::{Degradation, Readiness};
use crate::api::service::Service;

pub const LIVE: &str = "/health/live";
pub const READY: &str = "/health/ready";

/// The phase of a process: whether requests can be answered.
pub enum Phase<'a> {
    Loading,
    Serving(&'a Service),
    Stopping,
}

/// Whether a request may be for health. Most requests are not, and their paths need no decoding.
pub fn may_be_for(path: &str) -> bool {
    path.ends_with(LIVE) || path.ends_with(READY)
}

/// The answer to a request for health, and its route; `None` for any further path.
pub fn answer(request: &HttpRequest, path: &str, phase: &Phase<'_>) -> Option<(&'static str, HttpResponse)> {
    let route = [LIVE, READY].into_iter().find(|route| path == *route)?;
    let (status, body) = match (request.method(), route) {
        (&Method::GET | &Method::HEAD, LIVE) => (StatusCode::OK, json!({"status": "live"})),
        (&Method::GET | &Method::HEAD, _) => ready(request.query_string(), phase),
        _ => (
            StatusCode::METHOD_NOT_ALLOWED,
            json!({"status": "error", "reason": "use GET"}),
        ),
    };
    let mut response = HttpResponse::build(status);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.insert_header((header::ALLOW, "GET, HEAD"));
    }
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(request_id_header())
        .content_type("application/json");
    Some((route, response.body(body.to_string())))
}

/// The status and the body for `/health/ready` with this query: `for=writes` asks for a process that can write.
fn ready(query: &str, phase: &Phase<'_>) -> (StatusCode, Value) {
    let mut purposes = query.split('&').filter_map(|pair| pair.strip_prefix("for="));
    let needs_writes = match purposes.next() {
        None => false,
        Some("writes") => true,
        Some(_) => {
            let body = json!({"status": "error", "reason": "for is writes, or is left out"});
            return (StatusCode::BAD_REQUEST, body);
        }
    };
    let Readiness { unready, degraded } = readiness(phase);
    let names: Vec<&str> = degraded.into_iter().map(Degradation::name).collect();
    let cannot_write = || (needs_writes && !names.is_empty()).then(|| "the process is degraded".to_owned());
    let reason = unready.or_else(cannot_write);
    let status = match reason {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut body = match reason {
        None => json!({"status": "ready"}),
        Some(reason) => json!({"status": "not ready", "reason": reason}),
    };
    if !names.is_empty() {
        body["degraded"] = json!(names);
    }
    (status, body)
}

fn readiness(phase: &Phase<'_>) -> Readiness {
    let unready = match phase {
        Phase::Serving(service) => return Readiness::of(service),
        Phase::Loading => "the tables are being read",
        Phase::Stopping => "the process stops",
    };
    Readiness {
        unready: Some(unready.to_owned()),
        degraded: Vec::new(),
    }
}
