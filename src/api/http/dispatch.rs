//! Dispatch: the checks of every request before the handler runs, in the order in which clients see refusals.
//!
//! The order is: target, authentication, microversion, headers, route, media types, authorization, body. After the
//! handler, dispatch adds the headers of every answer, and writes a line of the access log.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use actix_web::http::header::{HeaderName, HeaderValue, VARY};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};

use super::access::Times;
use super::base_url::{self, BaseUrl};
use super::body::{self, RequestBody};
use super::connections::{Connection, ServedGuard};
use super::disconnect::DisconnectWatch;
use super::headers::REQUEST_ID_HEADER;
use super::lists::ListRequest;
use super::paced_body::paced;
use super::refusal::HttpRefusal;
use super::reply::Reply;
use super::request_context::RequestContext;
use super::request_head::RequestHead;
use super::{access, checks, streaming};
use crate::api::route::{self, Media, Route};
use crate::api::service::Service;
use crate::log_context;
use crate::version::Version;

const VERSION_HEADER: HeaderName = HeaderName::from_static("openstack-api-version");

/// Answers any request by the table of routes.
pub async fn answer(
    request: HttpRequest,
    payload: Payload,
    service: Data<Service>,
    routes: &'static [Route],
) -> HttpResponse {
    let started = Instant::now();
    let connection = request.conn_data::<Rc<Connection>>();
    let is_last = request.head().connection_type() == ConnectionType::Close;
    let is_admitted = connection.is_none_or(|connection| connection.admits(is_last));
    let head = RequestHead::of(&request, service.settings.parse_proxy_headers);
    let context = Arc::new(head.log_context());
    log_context::scope(
        context,
        answer_logged(
            request,
            payload,
            (service.into_inner(), routes),
            head,
            started,
            is_admitted,
        ),
    )
    .await
}

/// A request after all its bytes have arrived.
struct Arrived {
    at: Instant,
    /// Counts the request as being served until the whole answer is made.
    served: Option<ServedGuard>,
}

/// Answers a request in the context of the request's log lines, and logs the access.
async fn answer_logged(
    request: HttpRequest,
    payload: Payload,
    (service, routes): (Arc<Service>, &'static [Route]),
    mut head: RequestHead,
    started: Instant,
    is_admitted: bool,
) -> HttpResponse {
    let _in_flight = service.statistics.begin();
    let mut arrived = None;
    let mut outcome = if is_admitted {
        let served = serve(
            &request,
            payload,
            (Arc::clone(&service), routes),
            &mut head,
            &mut arrived,
        );
        catch_panic(served).await
    } else {
        Err(checks::behind_the_last_request())
    };
    let decided = match &mut outcome {
        Ok(reply) => reply.take_decided(),
        Err(refusal) => refusal.log_reason().map(access::Decided::Refused),
    };
    let varies = !head.native && outcome.as_ref().map_or_else(HttpRefusal::varies, |_| true);
    let mut response = match outcome {
        Ok(reply) => reply.respond(head.version),
        Err(refusal) => {
            log_refusal(&refusal);
            refusal.respond(&head)
        }
    };
    add_headers(&mut response, &head, varies);
    streaming::set_framing(&request, &mut response);
    let body_read = arrived.as_ref().map(|arrived| arrived.at);
    response = paced(response, arrived.and_then(|arrived| arrived.served));
    if let Some(cors) = &service.settings.cors {
        response = cors.add_headers(&request, response);
    }
    let times = Times {
        total: started.elapsed(),
        body: body_read.map(|read| read - started),
    };
    access::log(&request, &head, &response, &times, decided.as_ref());
    access::log_slow(&request, service.settings.slow_request, &times);
    let statistics = &service.statistics;
    statistics.record(head.route, &head.method, response.status(), head.version, times.total);
    response
}

/// Logs a refusal with the status 500 or 503, which is not the client's fault.
fn log_refusal(refusal: &HttpRefusal) {
    let level = match refusal.status() {
        StatusCode::INTERNAL_SERVER_ERROR => log::Level::Error,
        StatusCode::SERVICE_UNAVAILABLE => log::Level::Warn,
        _ => return,
    };
    log::log!(level, "failed with {}: {}", refusal.status(), refusal.detail());
}

/// Adds the headers of every response.
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

/// Turns a panic into a refusal: the request fails, and the process continues to serve requests.
pub(in crate::api) async fn catch_panic(
    work: impl Future<Output = Result<Reply, HttpRefusal>>,
) -> Result<Reply, HttpRefusal> {
    let mut work = pin!(work);
    poll_fn(
        |task| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(poll) => poll,
            Err(panic) => {
                let message = panic.downcast_ref::<String>().map(String::as_str);
                let message = message
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("a panic");
                log::error!("panicked: {message}");
                let detail = "The request met a defect of placet; the log has more under its request id.";
                Poll::Ready(Err(HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail)))
            }
        },
    )
    .await
}

async fn serve(
    request: &HttpRequest,
    payload: Payload,
    (service, routes): (Arc<Service>, &'static [Route]),
    head: &mut RequestHead,
    arrived: &mut Option<Arrived>,
) -> Result<Reply, HttpRefusal> {
    checks::check_target(request)?;
    let path = base_url::route_path(request.path(), &service.settings);
    head.native = route::is_native(&path);
    let rows = checks::rows(routes, &path);
    head.route = rows.first().map(|row| row.path);
    let connection = request.conn_data::<Rc<Connection>>();
    let caller = checks::authenticate(request, head, &rows, &service).await?;
    if let (Some(connection), Some(_)) = (connection, &caller) {
        connection.has_token.set(true);
    }
    head.caller.clone_from(&caller);
    let caller = caller.unwrap_or_default();
    access::set_caller(&caller);
    let version = checks::negotiate_version(request, head)?;
    checks::check_length_has_type(request)?;
    let route = checks::find_route(request, &rows, version, head)?;
    checks::authorize(request, (route, &path), &caller, &service)?;
    let body = match route.media {
        Media::ConsumesJson => {
            let limit = service.settings.max_body_size.min(route.max_body_bytes);
            body::read(request, payload, limit, &service.bodies).await?
        }
        Media::Unchecked | Media::ProducesJson | Media::ProducesList => RequestBody::default(),
    };
    *arrived = Some(Arrived {
        at: Instant::now(),
        served: connection.map(Connection::serve_request),
    });
    let context = RequestContext {
        caller,
        version: version.unwrap_or(Version::MAX),
        query: request.query_string().to_owned(),
        body,
        base_url: BaseUrl::of(request, &service.settings),
        client: request.conn_data::<DisconnectWatch>().cloned(),
        list: ListRequest::of(request, route.path, head),
        address: request.peer_addr().map(|address| address.ip()),
        fields: route.fields(&path),
        may_lag: route.method == Method::GET && service.settings.slave_routes.contains(&route.path),
        service,
    };
    Ok((route.handler)(context).await?)
}
