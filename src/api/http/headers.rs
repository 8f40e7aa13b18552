//! Headers of requests as texts, and the request id, which every answer has.

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderName, HeaderValue};
use uuid::Builder;

pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// The header with a new request id.
pub fn request_id_header() -> (HeaderName, String) {
    (REQUEST_ID_HEADER, new_request_id())
}

/// A new id of a request. The randomness is the process's, without a system call: a repeated id after a machine was
/// cloned does no harm.
pub fn new_request_id() -> String {
    format!("req-{}", Builder::from_random_bytes(rand::random()).into_uuid())
}

/// The text of a header, a character for each byte, as refusals quote headers. Headers of the same name are joined by
/// commas.
pub fn text(request: &HttpRequest, name: &'static str) -> Option<String> {
    let mut values = request.headers().get_all(HeaderName::from_static(name));
    let characters = |value: &HeaderValue| {
        value
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect::<String>()
    };
    let mut text = characters(values.next()?);
    for value in values {
        text.push(',');
        text.push_str(&characters(value));
    }
    Some(text)
}
