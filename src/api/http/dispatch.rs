//! Dispatch: the checks that every request passes before its handler runs, in the order in which clients see refusals.
//!
//! The order is: target, authentication, microversion, headers, route, media types, authorization, body. After the
//! handler, dispatch adds the headers that every answer has, and writes a line of the access log.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use actix_web::http::header::{HeaderName, HeaderValue, VARY};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use uuid::Uuid;

use super::base_url::{self, BaseUrl};
use super::connections::Connection;
use super::disconnect::DisconnectWatch;
use super::refusal::Refusal;
use super::reply::Reply;
use super::request_context::RequestContext;
use super::request_head::RequestHead;
use super::{access, body, checks, streaming};
use crate::api::route::{self, Media};
use crate::api::service::Service;
use crate::version::Version;

const VERSION_HEADER: HeaderName = HeaderName::from_static("openstack-api-version");
pub(in crate::api) const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// The header with a new request id.
pub(in crate::api) fn request_id_header() -> (HeaderName, String) {
    (REQUEST_ID_HEADER, format!("req-{}", Uuid::new_v4()))
}

/// Answers any request.
pub async fn answer(request: HttpRequest, payload: Payload, service: Data<Service>) -> HttpResponse {
    let started = Instant::now();
    let connection = request.conn_data::<Rc<Connection>>();
    let _answering = connection.map(Connection::begin_request);
    let is_last = request.head().connection_type() == ConnectionType::Close;
    let is_admitted = connection.is_none_or(|connection| connection.admits(is_last));
    let mut head = RequestHead::of(&request, &service.settings);
    let service = service.into_inner();
    let _in_flight = service.statistics.begin();
    let id = head.request_id.clone();
    let outcome = if is_admitted {
        catch_panic(&id, serve(&request, payload, Arc::clone(&service), &mut head)).await
    } else {
        Err(checks::behind_the_last_request())
    };
    let varies = !head.native && outcome.as_ref().map_or_else(Refusal::varies, |_| true);
    let mut response = match outcome {
        Ok(reply) => reply.respond(head.version),
        Err(refusal) => {
            log_refusal(&head, &refusal);
            refusal.respond(&head)
        }
    };
    add_headers(&mut response, &head, varies);
    streaming::set_framing(&request, &mut response);
    if let Some(cors) = &service.settings.cors {
        response = cors.add_headers(&request, response);
    }
    let time = started.elapsed();
    access::log(&request, &head, &response, time);
    let statistics = &service.statistics;
    statistics.record(head.route, &head.method, response.status(), head.version, time);
    response
}

/// Logs a refusal that the client did not cause.
fn log_refusal(head: &RequestHead, refusal: &Refusal) {
    let level = match refusal.status() {
        StatusCode::INTERNAL_SERVER_ERROR => log::Level::Error,
        StatusCode::SERVICE_UNAVAILABLE => log::Level::Warn,
        _ => return,
    };
    log::log!(
        level,
        "{} failed with {}: {}",
        head.request_id,
        refusal.status(),
        refusal.detail()
    );
}

/// Adds the headers that every response has.
pub(in crate::api) fn add_headers(response: &mut HttpResponse, head: &RequestHead, varies: bool) {
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    put(REQUEST_ID_HEADER, &head.request_id);
    if varies {
        put(VARY, VERSION_HEADER.as_str());
    }
    if let Some(version) = head.version {
        put(VERSION_HEADER, &format!("placement {version}"));
    }
}

/// Turns a panic into a refusal: the request fails, and the process continues to serve other requests.
pub(in crate::api) async fn catch_panic(
    request_id: &str,
    work: impl Future<Output = Result<Reply, Refusal>>,
) -> Result<Reply, Refusal> {
    let mut work = pin!(work);
    poll_fn(
        |task| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(poll) => poll,
            Err(panic) => {
                let message = panic.downcast_ref::<String>().map(String::as_str);
                let message = message
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("a panic");
                log::error!("{request_id} panicked: {message}");
                let detail = "The request met a defect of placet; the log has more under its request id.";
                Poll::Ready(Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail)))
            }
        },
    )
    .await
}

async fn serve(
    request: &HttpRequest,
    payload: Payload,
    service: Arc<Service>,
    head: &mut RequestHead,
) -> Result<Reply, Refusal> {
    checks::check_target(request)?;
    let path = base_url::route_path(request.path(), &service.settings);
    head.native = route::is_native(&path);
    let rows = checks::rows(&path);
    head.route = rows.first().map(|row| row.path);
    let caller = checks::authenticate(request, &rows, &service).await?;
    head.caller.clone_from(&caller);
    let caller = caller.unwrap_or_default();
    let version = checks::negotiate_version(request, head)?;
    checks::check_length_has_type(request)?;
    let route = checks::find_route(request, &rows, version, head)?;
    checks::authorize(request, route, &caller, &service)?;
    let body = match route.media {
        Media::ConsumesJson => {
            let limit = service.settings.max_body_size.min(route.max_body_bytes);
            body::read(request, payload, limit, &service.bodies).await?
        }
        Media::Unchecked | Media::ProducesJson => Bytes::new(),
    };
    let context = RequestContext {
        caller,
        version: version.unwrap_or(Version::MAX),
        query: request.query_string().to_owned(),
        body,
        base_url: BaseUrl::of(request, &service.settings),
        client: request.conn_data::<DisconnectWatch>().cloned(),
        fields: route.fields(&path),
        may_lag: route.method == Method::GET && service.settings.slave_routes.contains(&route.path),
        service,
    };
    Ok((route.handler)(context).await?)
}
