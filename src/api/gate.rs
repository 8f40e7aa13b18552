//! What every request passes, in the order in which clients see refusals: who asks, which version it speaks, whether
//! its head is sound, which route it takes, which media it wants, whether it may.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use actix_web::http::header::{HeaderName, HeaderValue, VARY};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};

use super::call::Call;
use super::client::Client;
use super::mount::{self, Mount};
use super::refusal::Refusal;
use super::reply::Reply;
use super::route::Media;
use super::seen::Seen;
use super::service::Service;
use super::{access, checks, pieces};

const VERSION_HEADER: HeaderName = HeaderName::from_static("openstack-api-version");
pub(super) const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// Answers any request at all.
pub async fn answer(request: HttpRequest, payload: Payload, service: Data<Service>) -> HttpResponse {
    let started = Instant::now();
    let mut seen = Seen::of(&request, &service.settings);
    let service = service.into_inner();
    let id = seen.request_id.clone();
    let outcome = survive(&id, serve(&request, payload, Arc::clone(&service), &mut seen)).await;
    let varies = outcome.as_ref().map_or_else(Refusal::varies, |_| true);
    let mut response = match outcome {
        Ok(reply) => reply.respond(seen.version),
        Err(refusal) => {
            report(&seen, &refusal);
            refusal.respond(&seen)
        }
    };
    dress(&mut response, &seen, varies);
    pieces::dress(&request, &mut response);
    if let Some(cors) = &service.settings.cors {
        response = cors.dress(&request, response);
    }
    access::log(&request, &seen, &response, started.elapsed());
    response
}

/// Tells the operator of what is not the client's doing.
fn report(seen: &Seen, refusal: &Refusal) {
    let level = match refusal.status() {
        StatusCode::INTERNAL_SERVER_ERROR => log::Level::Error,
        StatusCode::SERVICE_UNAVAILABLE => log::Level::Warn,
        _ => return,
    };
    log::log!(
        level,
        "{} failed with {}: {}",
        seen.request_id,
        refusal.status(),
        refusal.detail()
    );
}

/// Puts on the headers that do not depend on what a response says.
fn dress(response: &mut HttpResponse, seen: &Seen, varies: bool) {
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    put(REQUEST_ID_HEADER, &seen.request_id);
    if varies {
        put(VARY, VERSION_HEADER.as_str());
    }
    if let Some(version) = seen.version {
        put(VERSION_HEADER, &format!("placement {version}"));
    }
}

/// Makes of a panic a refusal: one request fails, the process and its other requests go on.
pub(super) async fn survive(
    request_id: &str,
    work: impl Future<Output = Result<Reply, Refusal>>,
) -> Result<Reply, Refusal> {
    let mut work = pin!(work);
    poll_fn(
        |task| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(poll) => poll,
            Err(panic) => {
                let told = panic.downcast_ref::<String>().map(String::as_str);
                let told = told
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("a panic");
                log::error!("{request_id} panicked: {told}");
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
    seen: &mut Seen,
) -> Result<Reply, Refusal> {
    let path = mount::route_path(request.path(), &service.settings);
    let rows = checks::rows(&path);
    let context = checks::authenticate(request, &rows, &service)?;
    let version = checks::negotiate_version(request, seen)?;
    checks::check_length_has_type(request)?;
    let route = checks::find_route(request, &rows, version, seen)?;
    checks::authorize(request, route, context, &service)?;
    let body = match route.media {
        Media::Takes => checks::read_body(request, payload, service.settings.max_body_size).await?,
        Media::Bare | Media::Gives => Bytes::new(),
    };
    let call = Call {
        version,
        query: request.query_string().to_owned(),
        body,
        mount: Mount::of(request, &service.settings),
        client: request.conn_data::<Client>().cloned(),
        fields: route.fields(&path),
        may_lag: route.method == Method::GET && service.settings.slave_routes.contains(&route.path),
        service,
    };
    Ok((route.handler)(call).await?)
}
