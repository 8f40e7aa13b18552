//! The checks of dispatch, one function each.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::{Method, StatusCode};

use super::headers::text;
use super::negotiate::{self, Unserved};
use super::refusal::HttpRefusal;
use super::request_head::RequestHead;
use crate::api::route::{Family, Media, Outside, Route};
use crate::api::service::Service;
use crate::auth::AuthRequest;
use crate::error::Error;
use crate::policy::rules::{self, PolicyRule};
use crate::policy::{Caller, PolicyDecision, Target};
use crate::version::Version;
use crate::wire::{usages, uuid};

const JSON: &str = "application/json";
/// The body of a `PATCH` (RFC 7396).
const MERGE_PATCH: &str = "application/merge-patch+json";

/// The target of a request is a path, `*` or a URL. A bare authority, as in `GET host HTTP/1.1`, is for `CONNECT`
/// alone.
pub fn check_target(request: &HttpRequest) -> Result<(), HttpRefusal> {
    let target = request.uri();
    let is_authority = target.scheme().is_none() && target.authority().is_some();
    if is_authority && request.method() != Method::CONNECT {
        let detail = "The target of the request must be a path.";
        return Err(HttpRefusal::new(StatusCode::BAD_REQUEST, detail).at_any_version());
    }
    Ok(())
}

/// Refuses a request behind a request that the client announced as the last on the connection.
pub fn behind_the_last_request() -> HttpRefusal {
    let detail = "The request before this one was announced as the last on its connection.";
    let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, detail).at_any_version();
    refusal.closing()
}

/// The rows of the route table that match this path.
pub fn rows(routes: &'static [Route], path: &str) -> Vec<&'static Route> {
    routes.iter().filter(|route| route.matches(path)).collect()
}

/// Authenticates the caller. If all rows of the path are public, like the rows of the root, no method needs a token.
pub async fn authenticate(
    request: &HttpRequest,
    head: &RequestHead,
    rows: &[&Route],
    service: &Service,
) -> Result<Option<Arc<Caller>>, HttpRefusal> {
    if !rows.is_empty() && rows.iter().all(|route| route.rule.is_none()) {
        return Ok(None);
    }
    let header = |name| text(request, name);
    let request = AuthRequest {
        header: &header,
        method: request.method().as_str(),
        path: request.path(),
        client: &head.remote,
    };
    Ok(Some(service.auth.authenticate(&request).await?))
}

/// The microversion of the request, which is also set in `head` for the answer; `None` for the native API, which has no
/// versions.
pub fn negotiate_version(request: &HttpRequest, head: &mut RequestHead) -> Result<Option<Version>, HttpRefusal> {
    if head.native {
        return Ok(None);
    }
    let header = text(request, "openstack-api-version");
    let version = negotiate::version(header.as_deref()).map_err(|unserved| match unserved {
        Unserved::Malformed(reason) => HttpRefusal::new(StatusCode::BAD_REQUEST, reason),
        Unserved::Unsupported(reason) => HttpRefusal::not_acceptable(&head.accept.text, &reason),
    });
    let version = version.map_err(HttpRefusal::at_any_version)?;
    head.version = Some(version);
    Ok(head.version)
}

/// A request that announces a body must have a `Content-Type`.
pub fn check_length_has_type(request: &HttpRequest) -> Result<(), HttpRefusal> {
    let has_body = text(request, "content-length").is_some_and(|length| !length.trim_start_matches('0').is_empty());
    let has_type = text(request, "content-type").is_some_and(|content_type| !content_type.is_empty());
    if has_body && !has_type {
        let detail = "content-type header required when content-length > 0";
        return Err(HttpRefusal::new(StatusCode::BAD_REQUEST, detail).at_any_version());
    }
    Ok(())
}

/// The row that serves the request, from the rows of its path.
pub fn find_route(
    request: &HttpRequest,
    rows: &[&'static Route],
    version: Option<Version>,
    head: &RequestHead,
) -> Result<&'static Route, HttpRefusal> {
    if rows.is_empty() {
        return Err(HttpRefusal::new(StatusCode::NOT_FOUND, "").at_any_version());
    }
    let method = request.method();
    let Some(first) = rows.iter().find(|route| route.method == *method) else {
        return Err(HttpRefusal::method_not_allowed(method, Some(methods(rows))));
    };
    if first.media_first {
        check_media(request, first.media, head)?;
    }
    let outside = match first.family {
        Family::Placement {
            outside: Outside::MethodNotAllowed,
            ..
        } => HttpRefusal::method_not_allowed(method, None),
        Family::Placement { .. } | Family::Native => HttpRefusal::new(StatusCode::NOT_FOUND, ""),
    };
    let mut serving = rows
        .iter()
        .filter(|route| route.method == *method && route.serves(version));
    let route = *serving.next().ok_or(outside)?;
    if !route.media_first {
        check_media(request, route.media, head)?;
    }
    Ok(route)
}

/// The value of `Allow`: each method once, in the order of the table.
fn methods(routes: &[&Route]) -> String {
    let mut methods: Vec<&str> = Vec::new();
    for route in routes {
        if !methods.contains(&route.method.as_str()) {
            methods.push(route.method.as_str());
        }
    }
    methods.join(", ")
}

fn check_media(request: &HttpRequest, media: Media, head: &RequestHead) -> Result<(), HttpRefusal> {
    match media {
        Media::ConsumesJson => {
            let header = text(request, "content-type");
            let content_type = header.as_deref().and_then(|text| text.split(';').next());
            let is_merge_patch = request.method() == Method::PATCH && content_type == Some(MERGE_PATCH);
            if content_type != Some(JSON) && !is_merge_patch {
                return Err(HttpRefusal::unsupported_media_type(header.as_deref(), JSON));
            }
        }
        Media::ProducesJson if head.accept.json == 0.0 => {
            return Err(HttpRefusal::not_acceptable(
                &head.accept.text,
                "Only application/json is provided",
            ));
        }
        Media::ProducesList if head.accept.json == 0.0 && head.accept.lines == 0.0 => {
            return Err(HttpRefusal::not_acceptable(&head.accept.text, LIST_TYPES));
        }
        Media::ProducesJson | Media::ProducesList | Media::Unchecked => {}
    }
    Ok(())
}

/// The refusal of a list in other media types.
pub const LIST_TYPES: &str = "Only application/json and application/x-ndjson are provided";

/// Checks the policy rule of the route's family, if any, and the policy rule of the route. For the token of a host the
/// route and the host decide, and not the policy rule of the route.
pub fn authorize(
    request: &HttpRequest,
    (route, path): (&Route, &str),
    caller: &Caller,
    service: &Service,
) -> Result<(), HttpRefusal> {
    let Some(rule) = route.rule else { return Ok(()) };
    if let Some(rule) = route.family.rule() {
        authorize_rule(rule, &Target::Own(caller), caller, service)?;
    }
    if let Some(host) = &caller.host {
        return authorize_host(rule, route.fields(path), host);
    }
    let project;
    let target = if route.of_project {
        project = usages::read_project(request.query_string())?;
        Target::Project(project.as_deref())
    } else {
        Target::Own(caller)
    };
    authorize_rule(rule, &target, caller, service)
}

/// The token of a host is for the reports of this host alone.
fn authorize_host(rule: &PolicyRule, fields: Vec<(&str, String)>, host: &str) -> Result<(), HttpRefusal> {
    let mut fields = fields.into_iter();
    let reported = fields.find_map(|(name, value)| uuid::canonical(&value).filter(|_| name == "uuid"));
    if *rule == rules::HOSTS_REPORT && reported.as_deref() == Some(host) {
        return Ok(());
    }
    Err(forbidden(rule))
}

fn forbidden(rule: &PolicyRule) -> HttpRefusal {
    let rule = rule.name.to_owned();
    Error::Forbidden { rule }.into()
}

fn authorize_rule(rule: &PolicyRule, target: &Target, caller: &Caller, service: &Service) -> Result<(), HttpRefusal> {
    match service.policy.current().authorize(rule, caller, target) {
        PolicyDecision::Allowed => Ok(()),
        PolicyDecision::Denied => Err(forbidden(rule)),
        // A token of the wrong scope is refused with the rule's name alone.
        PolicyDecision::WrongScope => Err(HttpRefusal::new(StatusCode::FORBIDDEN, rule.name).at_any_version()),
        PolicyDecision::Undecided(reason) => Err(HttpRefusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("The policy {} cannot be decided: {reason}.", rule.name),
        )),
    }
}
