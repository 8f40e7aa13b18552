//! `/health/live` and `/health/ready`, for balancers and supervisors. They need no token, so they tell nothing of the
//! cloud, of the configuration, or of the database's address.

use std::time::Duration;

use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::dispatch::request_id_header;
use super::front::Phase;

pub const LIVE: &str = "/health/live";
pub const READY: &str = "/health/ready";

/// Whether a request may be one for health: most are not, and their paths need no decoding for that.
pub fn may_be_for(path: &str) -> bool {
    path.ends_with(LIVE) || path.ends_with(READY)
}

/// The answer to a request for health, and its route; `None` for any other path. `limit`: how long the database may be
/// silent.
pub fn answer(
    request: &HttpRequest,
    path: &str,
    phase: &Phase<'_>,
    limit: Duration,
) -> Option<(&'static str, HttpResponse)> {
    let (route, unready) = match path {
        LIVE => (LIVE, None),
        READY => (READY, unready(phase, limit)),
        _ => return None,
    };
    let response = match (request.method(), &unready) {
        (&Method::GET | &Method::HEAD, None) => HttpResponse::Ok(),
        (&Method::GET | &Method::HEAD, Some(_)) => HttpResponse::ServiceUnavailable(),
        _ => {
            let mut refusal = HttpResponse::build(StatusCode::METHOD_NOT_ALLOWED);
            refusal.insert_header((header::ALLOW, "GET, HEAD"));
            return Some((
                route,
                with_body(refusal, &json!({"status": "error", "reason": "use GET"})),
            ));
        }
    };
    let body = match (path, unready) {
        (LIVE, _) => json!({"status": "live"}),
        (_, None) => json!({"status": "ready"}),
        (_, Some(reason)) => json!({"status": "not ready", "reason": reason}),
    };
    Some((route, with_body(response, &body)))
}

fn with_body(mut response: actix_web::HttpResponseBuilder, body: &serde_json::Value) -> HttpResponse {
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(request_id_header())
        .content_type("application/json")
        .body(body.to_string())
}

/// Why requests should go to another process, if they should.
fn unready(phase: &Phase<'_>, limit: Duration) -> Option<String> {
    let service = match phase {
        Phase::Loading => return Some("the tables are being read".to_owned()),
        Phase::Stopping => return Some("the process stops".to_owned()),
        Phase::Serving(service) => service,
    };
    let silence = service.model.database_state().silence();
    (silence > limit).then(|| format!("the database has not answered for {} s", silence.as_secs()))
}
