//! The error codes of the native API, where every refusal has a code, and the sentence for a request without a token.

use actix_web::http::StatusCode;

use super::errors::UNDEFINED;

/// The detail of a refusal with 401.
pub const UNAUTHENTICATED: &str = "The request has no token that is accepted. Send a valid token in the header \
                                   X-Auth-Token.";

/// The code of a refusal by the native API: the error's code, or a code for its status.
pub fn native_code(status: StatusCode, code: &'static str) -> &'static str {
    if code != UNDEFINED {
        return code;
    }
    match status {
        StatusCode::BAD_REQUEST => "placet.bad_request",
        StatusCode::UNAUTHORIZED => "placet.unauthenticated",
        StatusCode::FORBIDDEN => "placet.forbidden",
        StatusCode::NOT_FOUND => "placet.not_found",
        StatusCode::METHOD_NOT_ALLOWED => "placet.method_not_allowed",
        StatusCode::NOT_ACCEPTABLE => "placet.not_acceptable",
        StatusCode::REQUEST_TIMEOUT => "placet.request_timeout",
        StatusCode::CONFLICT => "placet.conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "placet.body_too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "placet.unsupported_media_type",
        StatusCode::SERVICE_UNAVAILABLE => "placet.unavailable",
        _ => "placet.internal",
    }
}
