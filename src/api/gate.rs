//! What every request passes, in the order in which clients see refusals: who asks, which version it speaks, whether
//! its head is sound, which route it takes, which media it wants, whether it may.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};

use super::access;
use super::call::Call;
use super::mount::{self, Mount};
use super::negotiate::{self, Unserved};
use super::refusal::Refusal;
use super::reply::Reply;
use super::route::{Guard, Media, Outside, Route};
use super::routes::ROUTES;
use super::seen::{Seen, text};
use super::service::Service;
use crate::auth::{Context, Presented};
use crate::error::Error;
use crate::policy::{Caller, Target, Verdict};
use crate::version::Version;
use crate::wire::usages;

const JSON: &str = "application/json";
const VERSION_HEADER: HeaderName = HeaderName::from_static("openstack-api-version");
const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// Answers any request at all.
pub async fn answer(request: HttpRequest, payload: Payload, service: Data<Service>) -> HttpResponse {
    let started = Instant::now();
    let mut seen = Seen::of(&request, &service.settings);
    let service = service.into_inner();
    let outcome = survive(serve(&request, payload, service, &mut seen)).await;
    let mut response = match outcome {
        Ok(reply) => reply.respond(seen.version),
        Err(refusal) => {
            if refusal.status().is_server_error() {
                log::error!(
                    "{} failed with {}: {}",
                    seen.request_id,
                    refusal.status(),
                    refusal.detail()
                );
            }
            refusal.respond(&seen)
        }
    };
    dress(&mut response, &seen);
    access::log(&request, &seen, &response, started.elapsed());
    response
}

/// Puts on the headers that every response has.
fn dress(response: &mut HttpResponse, seen: &Seen) {
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    put(REQUEST_ID_HEADER, &seen.request_id);
    put(actix_web::http::header::VARY, VERSION_HEADER.as_str());
    if let Some(version) = seen.version {
        put(VERSION_HEADER, &format!("placement {version}"));
    }
}

/// Makes of a panic a refusal: one request fails, the process and its other requests go on.
async fn survive(work: impl Future<Output = Result<Reply, Refusal>>) -> Result<Reply, Refusal> {
    let mut work = pin!(work);
    poll_fn(
        |task| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(poll) => poll,
            Err(panic) => {
                let told = panic.downcast_ref::<String>().map(String::as_str);
                let told = told
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("a panic");
                log::error!("a handler panicked: {told}");
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
    let context = authenticate(request, &path, &service)?;
    let version = negotiate_version(request, seen)?;
    check_length_has_type(request)?;
    let (route, fields) = find_route(request, &path, version, seen)?;
    authorize(request, route, context.as_ref(), &service)?;
    let body = match route.media {
        Media::Takes => read_body(request, payload, service.settings.max_body_size).await?,
        Media::Bare | Media::Gives => Default::default(),
    };
    let call = Call {
        version,
        query: request.query_string().to_owned(),
        body,
        mount: Mount::of(request, &service.settings),
        fields,
        service,
    };
    Ok((route.handler)(call).await?)
}

/// The root is open to everybody, whatever they do there.
fn authenticate(request: &HttpRequest, path: &str, service: &Service) -> Result<Option<Context>, Refusal> {
    if matches!(path, "" | "/") {
        return Ok(None);
    }
    let token = text(request, "x-auth-token");
    let roles = text(request, "x-roles");
    let system_scope = text(request, "openstack-system-scope");
    let presented = Presented {
        token: token.as_deref(),
        roles: roles.as_deref(),
        system_scope: system_scope.as_deref(),
    };
    let context = service.auth.authenticate(&presented);
    context
        .map(Some)
        .ok_or_else(|| Refusal::new(StatusCode::UNAUTHORIZED, ""))
}

fn negotiate_version(request: &HttpRequest, seen: &mut Seen) -> Result<Version, Refusal> {
    let header = text(request, "openstack-api-version");
    let version = negotiate::version(header.as_deref()).map_err(|unserved| match unserved {
        Unserved::Malformed(why) => Refusal::new(StatusCode::BAD_REQUEST, why),
        Unserved::Unsupported(why) => Refusal::not_acceptable(seen.accept.text(), &why),
    })?;
    seen.version = Some(version);
    Ok(version)
}

/// Who announces a body says of what type it is.
fn check_length_has_type(request: &HttpRequest) -> Result<(), Refusal> {
    let has_body = text(request, "content-length").is_some_and(|length| !length.trim_start_matches('0').is_empty());
    let has_type = text(request, "content-type").is_some_and(|content_type| !content_type.is_empty());
    if has_body && !has_type {
        let detail = "content-type header required when content-length > 0";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, detail));
    }
    Ok(())
}

type Found = (&'static Route, Vec<(&'static str, String)>);

fn find_route(request: &HttpRequest, path: &str, version: Version, seen: &Seen) -> Result<Found, Refusal> {
    let here: Vec<Found> = ROUTES
        .iter()
        .filter_map(|route| Some((route, route.fields(path)?)))
        .collect();
    if here.is_empty() {
        return Err(Refusal::new(StatusCode::NOT_FOUND, ""));
    }
    let method = request.method();
    let Some((first, _)) = here.iter().find(|(route, _)| route.method == *method) else {
        return Err(Refusal::method_not_allowed(method, Some(methods(&here))));
    };
    if first.media_first {
        check_media(request, first.media, seen)?;
    }
    let outside = match first.outside {
        Outside::NotFound => Refusal::new(StatusCode::NOT_FOUND, ""),
        Outside::MethodNotAllowed => Refusal::method_not_allowed(method, None),
    };
    let mut serving = here
        .into_iter()
        .filter(|(route, _)| route.method == *method && route.serves(version));
    let (route, fields) = serving.next().ok_or(outside)?;
    if !route.media_first {
        check_media(request, route.media, seen)?;
    }
    Ok((route, fields))
}

/// What `Allow` says: each method once, in the order of the table.
fn methods(routes: &[Found]) -> String {
    let mut methods: Vec<&str> = Vec::new();
    for (route, _) in routes {
        if !methods.contains(&route.method.as_str()) {
            methods.push(route.method.as_str());
        }
    }
    methods.join(", ")
}

fn check_media(request: &HttpRequest, media: Media, seen: &Seen) -> Result<(), Refusal> {
    match media {
        Media::Takes => {
            let header = text(request, "content-type");
            let content_type = header.as_deref().and_then(|text| text.split(';').next()).map(str::trim);
            if content_type != Some(JSON) {
                return Err(Refusal::unsupported_media_type(content_type, JSON));
            }
        }
        Media::Gives if !seen.accept.accepts_json() => {
            return Err(Refusal::not_acceptable(
                seen.accept.text(),
                "Only application/json is provided",
            ));
        }
        Media::Gives | Media::Bare => {}
    }
    Ok(())
}

fn authorize(
    request: &HttpRequest,
    route: &Route,
    context: Option<&Context>,
    service: &Service,
) -> Result<(), Refusal> {
    let (Guard::Own(rule) | Guard::OfQuery(rule)) = route.guard else {
        return Ok(());
    };
    let caller = caller(context.cloned().unwrap_or_default());
    let target = match route.guard {
        Guard::OfQuery(_) => Target {
            project_id: usages::read_project(request.query_string())?,
            user_id: None,
        },
        Guard::Own(_) | Guard::Open => Target::of(&caller),
    };
    match service.policy.judge(rule, &caller, &target) {
        Verdict::Allowed => Ok(()),
        Verdict::Denied => Err(Error::Forbidden {
            rule: rule.name.to_owned(),
        }
        .into()),
        // A token of the wrong scope is told the rule's name alone.
        Verdict::WrongScope => Err(Refusal::new(StatusCode::FORBIDDEN, rule.name)),
    }
}

fn caller(context: Context) -> Caller {
    Caller {
        user_id: context.user_id,
        project_id: context.project_id,
        domain_id: context.domain_id,
        system_scope: context.system_scope,
        roles: context.roles,
    }
}

async fn read_body(request: &HttpRequest, payload: Payload, limit: usize) -> Result<actix_web::web::Bytes, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("Request is too large. Larger than {limit}."),
        )
    };
    let announced = text(request, "content-length").and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    match payload.to_bytes_limited(limit).await {
        Err(_) => Err(too_large()),
        Ok(Err(broken)) => Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            format!("The body could not be read: {broken}"),
        )),
        Ok(Ok(body)) => Ok(body),
    }
}
