//! The refusals of a route: from the route's row, and from the errors in the route's description.

use actix_web::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::route::{Family, Media, Outside, Route};
use super::sentences;
use crate::api::http::checks::LIST_TYPES;
use crate::api::http::errors::{UNDEFINED, status_and_code};
use crate::api::http::native_codes::{UNAUTHENTICATED, native_code};
use crate::error::Error;
use crate::version::Version;

/// A refusal in the list of the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalDescription {
    pub status: u16,
    pub code: &'static str,
    /// The detail, with the variable parts as names in braces.
    pub detail: String,
}

impl RefusalDescription {
    fn new(status: StatusCode, detail: &str) -> RefusalDescription {
        RefusalDescription {
            status: status.as_u16(),
            code: UNDEFINED,
            detail: detail.to_owned(),
        }
    }

    pub fn json(&self) -> Value {
        json!({"status": self.status, "code": self.code, "detail": self.detail})
    }
}

impl From<&Error> for RefusalDescription {
    fn from(error: &Error) -> RefusalDescription {
        let (status, code) = status_and_code(error);
        RefusalDescription {
            code,
            ..RefusalDescription::new(status, &error.to_string())
        }
    }
}

/// The refusals of a route: the errors in the route's description, before the refusals of the row.
pub fn of_route(route: &Route, description: &Value) -> Vec<RefusalDescription> {
    let names = description["refusals"].as_array().into_iter().flatten();
    let own = names.filter_map(Value::as_str).filter_map(|name| {
        let error = sentences::all()
            .into_iter()
            .find(|error| sentences::name(error) == name);
        error.as_ref().map(RefusalDescription::from)
    });
    let mut refusals: Vec<RefusalDescription> = own.collect();
    refusals.extend(parse_errors(route, description));
    refusals.extend(dispatch_refusals(route));
    refusals.extend(server_errors(route));
    if route.family == Family::Native {
        for refusal in &mut refusals {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            refusal.code = native_code(status, refusal.code);
        }
    }
    refusals
}

/// Errors of an unreadable request.
fn parse_errors(route: &Route, description: &Value) -> Vec<RefusalDescription> {
    let mut errors = Vec::new();
    if route.media == Media::ConsumesJson {
        errors.push(Error::MalformedJson("{problem}".into()));
        if route.family != Family::Native {
            errors.push(Error::InvalidBody("{problem}".into()));
        }
    }
    if description["query"].is_string() || route.of_project {
        errors.push(Error::InvalidQuery("{problem}".into()));
    }
    errors.iter().map(RefusalDescription::from).collect()
}

/// Refusals by dispatch.
fn dispatch_refusals(route: &Route) -> Vec<RefusalDescription> {
    let mut refusals = vec![RefusalDescription::new(
        StatusCode::BAD_REQUEST,
        "content-type header required when content-length > 0",
    )];
    refusals.extend(microversion_refusals(route.family));
    if let Some(rule) = route.rule {
        let rule = rule.name.to_owned();
        let detail = match route.family {
            Family::Native => UNAUTHENTICATED,
            Family::Placement { .. } => "The token is missing or not accepted.",
        };
        refusals.push(RefusalDescription::new(StatusCode::UNAUTHORIZED, detail));
        refusals.push(RefusalDescription::from(&Error::Forbidden { rule }));
    }
    let of_media: &[(StatusCode, &str)] = match route.media {
        Media::Unchecked => &[],
        Media::ProducesJson => &[(StatusCode::NOT_ACCEPTABLE, "Only application/json is provided")],
        Media::ProducesList => &[(StatusCode::NOT_ACCEPTABLE, LIST_TYPES)],
        Media::ConsumesJson => &[
            (StatusCode::REQUEST_TIMEOUT, "Its body did not arrive in time."),
            (
                StatusCode::PAYLOAD_TOO_LARGE,
                "Request is too large. Larger than {limit}.",
            ),
            (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The media type {type} is not supported, use application/json",
            ),
        ],
    };
    refusals.extend(
        of_media
            .iter()
            .map(|(status, detail)| RefusalDescription::new(*status, detail)),
    );
    refusals
}

/// Errors of a request whose microversion cannot be read or served.
fn microversion_refusals(family: Family) -> Vec<RefusalDescription> {
    let Family::Placement { first, outside, .. } = family else {
        return Vec::new();
    };
    let mut refusals = vec![
        RefusalDescription::new(
            StatusCode::BAD_REQUEST,
            "Invalid microversion: invalid version string: {version}; {problem}",
        ),
        RefusalDescription::new(
            StatusCode::NOT_ACCEPTABLE,
            "Invalid microversion: Unacceptable version header: {version}",
        ),
    ];
    if first > Version::MIN {
        let (status, detail) = match outside {
            Outside::NotFound => (StatusCode::NOT_FOUND, "The microversion does not know this URL."),
            Outside::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "The microversion does not know this method of the URL.",
            ),
        };
        refusals.push(RefusalDescription::new(status, detail));
    }
    refusals
}

/// Errors caused by the server.
fn server_errors(route: &Route) -> Vec<RefusalDescription> {
    let detail = || "{detail}".to_owned();
    let mut errors = vec![Error::Internal { detail: detail() }];
    if route.rule.is_some() {
        errors.push(Error::Unavailable {
            detail: detail().into(),
        });
    }
    if !matches!(route.method, Method::GET) {
        errors.extend([
            Error::UnknownOutcome {
                detail: detail().into(),
            },
            Error::Busy { detail: detail() },
        ]);
    }
    errors.iter().map(RefusalDescription::from).collect()
}
