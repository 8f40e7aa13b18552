//! `/metrics`: placet's counters and the numbers of the cloud, in Prometheus's text form.
//!
//! A scrape reads atomics and the newest snapshot, on a thread of its own, without a delay for requests: sums over a
//! large cloud take milliseconds. One scrape is served at a time.

mod census;
mod cloud;
mod families;
mod keystone;
mod process;
mod service;
mod text;

use std::sync::Arc;
use std::time::SystemTime;

use actix_web::http::header::{self, HeaderName};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use tokio::sync::{Mutex, oneshot};

use self::text::MetricsPage;
use super::http::headers::{request_id_header, text as header_text};
use super::http::statistics::HttpStatistics;
use super::readiness::Readiness;
use super::service::Service;
use crate::model::statistics;
use crate::statistics::Counter;

pub const PATH: &str = "/metrics";
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The clients that may read the metrics.
pub enum MetricsAccess {
    /// The metrics are not served.
    Off,
    /// The port is open to all clients of the API, and the metrics say how full the cloud is: scrapes are refused.
    Closed,
    Open,
    /// A client with the token that is read for each scrape, as `Authorization: Bearer …`; `None` if the token cannot
    /// be read.
    Token(Box<dyn Fn() -> Option<String> + Send + Sync>),
}

/// Numbers of the process from further layers.
#[derive(Debug, Clone)]
pub struct ProcessCounters {
    pub started: SystemTime,
    pub panics: Arc<Counter>,
    pub dropped_log_lines: Arc<Counter>,
}

/// The metrics of one process.
pub struct Metrics {
    pub access: MetricsAccess,
    /// Whether the metrics have a port of their own, and are not served on the API's.
    pub has_own_port: bool,
    /// `[placet] metrics_aggregates`.
    pub max_aggregates: usize,
    pub http: Arc<HttpStatistics>,
    pub process: ProcessCounters,
    /// Held during a scrape.
    pub scrape: Mutex<()>,
}

impl Metrics {
    /// Refuses a request that may not read the metrics.
    fn refusal(&self, request: &HttpRequest) -> Option<HttpResponse> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let allow = (header::ALLOW, "GET, HEAD");
            return Some(refuse(StatusCode::METHOD_NOT_ALLOWED, "use GET", Some(allow)));
        }
        match &self.access {
            MetricsAccess::Open => None,
            MetricsAccess::Off | MetricsAccess::Closed => Some(refuse(
                StatusCode::FORBIDDEN,
                "the metrics need [placet] metrics_token_file or metrics_bind",
                None,
            )),
            MetricsAccess::Token(read) => {
                let wanted = read().filter(|token| !token.is_empty());
                let sent = header_text(request, "authorization");
                let sent = sent.as_deref().and_then(|sent| sent.split_once(' '));
                let sent = sent.and_then(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer").then_some(token));
                let is_allowed = wanted.zip(sent).is_some_and(|(wanted, sent)| are_equal(&wanted, sent));
                (!is_allowed).then(|| {
                    let advice = "send the token of [placet] metrics_token_file as Authorization: Bearer";
                    let scheme = (header::WWW_AUTHENTICATE, "Bearer");
                    refuse(StatusCode::UNAUTHORIZED, advice, Some(scheme))
                })
            }
        }
    }
}

/// The answer to a request for the metrics. Without a service, the process's metrics alone.
pub async fn answer(
    request: &HttpRequest,
    metrics: Arc<Metrics>,
    service: Option<actix_web::web::Data<Service>>,
) -> HttpResponse {
    if let Some(refusal) = metrics.refusal(request) {
        return refusal;
    }
    let scraped = Arc::clone(&metrics);
    let _one_at_a_time = scraped.scrape.lock().await;
    let (done, written) = oneshot::channel();
    let spawned = std::thread::Builder::new()
        .name("placet-metrics".to_owned())
        .spawn(move || {
            let page = page(&metrics, service.as_deref().map(|service| &**service));
            drop(service);
            // The client may be gone.
            let _ = done.send(page);
        });
    match (spawned, written.await) {
        (Ok(_), Ok(page)) => HttpResponse::Ok()
            .insert_header(request_id_header())
            .content_type(CONTENT_TYPE)
            .body(page),
        _ => refuse(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be read", None),
    }
}

fn page(metrics: &Metrics, service: Option<&Service>) -> String {
    let mut page = MetricsPage::default();
    process::write(&mut page, &metrics.process);
    service::write_http(&mut page, &metrics.http);
    if let Some(service) = service {
        let numbers = statistics::read(&service.model);
        service::write_pools(&mut page, service.model.pools());
        service::write_model(&mut page, &numbers);
        census::write(&mut page, &numbers.census);
        service::write_degraded(&mut page, &Readiness::of(service));
        cloud::write(&mut page, &numbers, metrics.max_aggregates);
        if let Some(keystone) = service.auth.keystone() {
            keystone::write(&mut page, keystone);
        }
    }
    page.into_text()
}

fn refuse(status: StatusCode, reason: &str, header: Option<(HeaderName, &str)>) -> HttpResponse {
    let mut response = HttpResponse::build(status);
    if let Some(header) = header {
        response.insert_header(header);
    }
    response
        .insert_header(request_id_header())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("application/json")
        .body(json!({"status": "error", "reason": reason}).to_string())
}

/// Compares every byte, so the time says nothing about the position of a difference.
fn are_equal(wanted: &str, sent: &str) -> bool {
    let differences = wanted.bytes().zip(sent.bytes()).map(|(a, b)| a ^ b);
    wanted.len() == sent.len() && differences.fold(0, |all, each| all | each) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_equal_only_as_a_whole() {
        assert!(are_equal("secret", "secret"));
        for sent in ["", "secre", "secrets", "Secret"] {
            assert!(!are_equal("secret", sent), "{sent}");
        }
    }
}
