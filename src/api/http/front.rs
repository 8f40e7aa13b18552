//! The front of the service, which answers as soon as the listener exists, before the tables are read.
//!
//! Health and the page `/docs` are answered at once. Every further early request waits until the service has loaded: a
//! restart fails no request of a patient client. Naively, nothing is accepted until the service has loaded. Early
//! requests wait as well, in the kernel's queue. But a balancer's check also waits, and learns nothing.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::{ConnectionType, StatusCode};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tokio::sync::{SetOnce, watch};

use super::base_url::route_path;
use super::connections::Connection;
use super::dispatch;
use super::expectation::Expectation;
use super::headers::request_id_header;
use super::health::{self, Phase};
use super::refusal::HttpRefusal;
use super::request_head::RequestHead;
use super::statistics::HttpStatistics;
use crate::api::docs;
use crate::api::metrics::{self, Metrics, MetricsAccess};
use crate::api::route::Route;
use crate::api::service::{HttpSettings, Service};

/// The state that all workers share before there is a service.
pub struct Front {
    service: SetOnce<Data<Service>>,
    stopping: watch::Sender<bool>,
    settings: HttpSettings,
    routes: &'static [Route],
    metrics: Arc<Metrics>,
}

impl Front {
    pub fn new(settings: HttpSettings, routes: &'static [Route], metrics: Metrics) -> Front {
        Front {
            service: SetOnce::new(),
            stopping: watch::channel(false).0,
            settings,
            routes,
            metrics: metrics.into(),
        }
    }

    /// The service has loaded: waiting requests are answered.
    pub fn begin_serving(&self, service: Service) {
        if self.service.set(Data::new(service)).is_err() {
            log::error!("The service was loaded twice; the first one goes on");
        }
    }

    /// A signal to stop has arrived: the service is not ready any more.
    pub fn begin_stop(&self) {
        self.stopping.send_replace(true);
    }

    /// The scheme of the service's URLs.
    pub fn scheme(&self) -> &'static str {
        self.settings.scheme
    }

    pub fn statistics(&self) -> &Arc<HttpStatistics> {
        &self.metrics.http
    }

    pub fn phase(&self) -> Phase<'_> {
        match self.service.get() {
            _ if *self.stopping.borrow() => Phase::Stopping,
            Some(service) => Phase::Serving(service),
            None => Phase::Loading,
        }
    }

    /// The service, as soon as it has loaded; `None` if the process stops before.
    async fn service(&self) -> Option<Data<Service>> {
        if let Some(service) = self.service.get() {
            return Some(service.clone());
        }
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            service = self.service.wait() => Some(service.clone()),
            _ = stopping.wait_for(|stopping| *stopping) => None,
        }
    }

    /// The answer to a request for health or for the metrics; `None` for all further requests.
    async fn answer_operator(&self, request: &HttpRequest, has_metrics: bool) -> Option<HttpResponse> {
        let path = request.path();
        if !health::may_be_for(path) && !path.ends_with(metrics::PATH) {
            return None;
        }
        let (began, path) = (Instant::now(), route_path(path, &self.settings));
        let (route, response) = if path == metrics::PATH {
            let has_metrics = has_metrics && !matches!(self.metrics.access, MetricsAccess::Off);
            if !has_metrics {
                return None;
            }
            let (shown, service) = (Arc::clone(&self.metrics), self.service.get().cloned());
            (metrics::PATH, metrics::answer(request, shown, service).await)
        } else {
            health::answer(request, &path, &self.phase())?
        };
        let http = &self.metrics.http;
        http.record_since(route, request.method(), response.status(), began);
        Some(response)
    }

    /// The answer to a request for the page of the API; `None` for all further requests.
    fn answer_docs(&self, request: &HttpRequest) -> Option<HttpResponse> {
        if !docs::may_be_for(request.path()) {
            return None;
        }
        let began = Instant::now();
        let response = docs::answer(request, &route_path(request.path(), &self.settings))?;
        let http = &self.metrics.http;
        http.record_since(docs::PATH, request.method(), response.status(), began);
        Some(response)
    }

    fn refuse_while_loading(&self, request: &HttpRequest) -> HttpResponse {
        let detail = "placet stops before it has read its tables.";
        let refusal = HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, detail).at_any_version();
        let head = RequestHead::of(request, self.settings.parse_proxy_headers);
        let mut response = refusal.respond(&head);
        dispatch::add_headers(&mut response, &head, false);
        response
    }
}

/// Answers any request on the API's port. After a signal to stop the answer closes its connection: the client must not
/// find a closed connection with its next request. So does a refusal before the body has arrived, because the client
/// may send the body all the same.
pub async fn answer(request: HttpRequest, payload: Payload, front: Data<Front>) -> HttpResponse {
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    let _answering = connection.as_ref().map(Connection::begin_request);
    if let Some(connection) = &connection {
        connection.expectation.set(Expectation::of(&request));
    }
    let mut response = answer_open(request, payload, front.clone()).await;
    let is_unsent = |connection: &Rc<Connection>| connection.expectation.get() == Expectation::Undecided;
    let unsent = connection.filter(is_unsent);
    if let Some(connection) = &unsent {
        connection.expectation.set(Expectation::Refused);
    }
    if unsent.is_some() || *front.stopping.borrow() {
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
    response
}

async fn answer_open(request: HttpRequest, payload: Payload, front: Data<Front>) -> HttpResponse {
    if let Some(response) = front.answer_operator(&request, !front.metrics.has_own_port).await {
        return response;
    }
    if let Some(response) = front.answer_docs(&request) {
        return response;
    }
    match front.service().await {
        Some(service) => dispatch::answer(request, payload, service, front.routes).await,
        None => front.refuse_while_loading(&request),
    }
}

/// Answers any request on the port for the metrics and health alone.
pub async fn answer_metrics_port(request: HttpRequest, front: Data<Front>) -> HttpResponse {
    let _answering = request.conn_data::<Rc<Connection>>().map(Connection::begin_request);
    match front.answer_operator(&request, true).await {
        Some(response) => response,
        None => HttpResponse::NotFound()
            .insert_header(request_id_header())
            .content_type("text/plain; charset=utf-8")
            .body("This port has /metrics, /health/live and /health/ready.\n"),
    }
}
