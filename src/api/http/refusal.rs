//! Error answers, in a form that the client accepts: JSON, HTML or plain text; in the native API always JSON.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::{Method, StatusCode, header};
use regex::Regex;
use serde_json::{Value, json};

use super::errors::{self, UNDEFINED};
use super::native_codes::{UNAUTHENTICATED, native_code};
use super::request_head::RequestHead;
use crate::auth::{Denied, UnauthenticatedBody};
use crate::error::Error;
use crate::version::{self, Version};
use crate::wire::cut::cut_at;
use crate::wire::{claims, reasons};

/// A longer detail is cut off: a request of megabytes is not sent back. The longest sentences of the schemas fit.
const MAX_DETAIL_BYTES: usize = 128 * 1024;
/// The explanation quotes a method or a header.
const MAX_EXPLANATION_BYTES: usize = 4 * 1024;

const MIDDLEWARE_MESSAGE: &str = "The request you have made requires authentication.";

/// An error answer to a request.
#[derive(Debug, Clone)]
pub struct HttpRefusal {
    status: StatusCode,
    /// The sentence before the detail.
    explanation: Explanation,
    detail: String,
    code: &'static str,
    /// An error with more than a sentence, for the log and for the native API: of a refused claim, for example.
    error: Option<Box<Error>>,
    /// The methods of the URL, for `Allow`.
    allow: Option<Box<str>>,
    /// The value of `WWW-Authenticate`.
    www_authenticate: Option<Box<str>>,
    /// Whether the refusal comes from a part in front of Placement, whose JSON has a different form.
    before_placement: bool,
    /// Whether the answer has `Vary` with the version header.
    varies: bool,
    /// Whether the connection ends with the answer.
    closes: bool,
}

#[derive(Debug, Clone)]
enum Explanation {
    /// The standard sentence of the status.
    Standard,
    /// A sentence about this request.
    Custom(String),
    /// The whole body is keystonemiddleware's.
    Middleware,
}

impl From<Error> for HttpRefusal {
    fn from(error: Error) -> Self {
        let (status, code) = errors::status_and_code(&error);
        let has_more = error.log_reason().is_some() || error.reasons().is_some();
        HttpRefusal {
            code,
            error: has_more.then(|| Box::new(error.clone())),
            varies: errors::varies(&error),
            ..HttpRefusal::new(status, error.to_string())
        }
    }
}

impl From<Denied> for HttpRefusal {
    fn from(denied: Denied) -> Self {
        let refusal = match denied {
            Denied::Unauthenticated { www_authenticate, body } => HttpRefusal {
                www_authenticate: www_authenticate.map(String::into_boxed_str),
                explanation: match body {
                    UnauthenticatedBody::Placement => Explanation::Standard,
                    UnauthenticatedBody::Middleware => Explanation::Middleware,
                },
                ..HttpRefusal::new(StatusCode::UNAUTHORIZED, "")
            },
            Denied::Unavailable { detail } => HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, detail),
        };
        HttpRefusal {
            before_placement: true,
            ..refusal.at_any_version()
        }
    }
}

impl HttpRefusal {
    /// A refusal with the standard sentence of its status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> HttpRefusal {
        HttpRefusal {
            status,
            explanation: Explanation::Standard,
            detail: cut_at(detail.into(), MAX_DETAIL_BYTES),
            code: UNDEFINED,
            error: None,
            allow: None,
            www_authenticate: None,
            before_placement: false,
            varies: true,
            closes: false,
        }
    }

    /// The same refusal, announced as the last answer on its connection.
    pub fn closing(self) -> HttpRefusal {
        HttpRefusal { closes: true, ..self }
    }

    /// The same refusal at every version, so the answer does not vary.
    pub fn at_any_version(self) -> HttpRefusal {
        HttpRefusal { varies: false, ..self }
    }

    fn with_explanation(status: StatusCode, explanation: String, detail: &str) -> HttpRefusal {
        HttpRefusal {
            explanation: Explanation::Custom(cut_at(explanation, MAX_EXPLANATION_BYTES)),
            ..HttpRefusal::new(status, detail)
        }
    }

    /// The URL does not have this method. `allow` lists the methods of the URL, if the answer is to name them.
    pub fn method_not_allowed(method: &Method, allow: Option<String>) -> HttpRefusal {
        let explanation = format!("The method {method} is not allowed for this resource. ");
        let detail = allow
            .as_ref()
            .map_or("", |_| "The method specified is not allowed for this resource.");
        HttpRefusal {
            allow: allow.map(String::into_boxed_str),
            ..HttpRefusal::with_explanation(StatusCode::METHOD_NOT_ALLOWED, explanation, detail)
        }
    }

    /// No media type that the client accepts can be served.
    pub fn not_acceptable(accept: &str, detail: &str) -> HttpRefusal {
        let explanation = format!(
            "The resource could not be generated that was acceptable to your browser\n(content of type {accept}. "
        );
        HttpRefusal::with_explanation(StatusCode::NOT_ACCEPTABLE, explanation, detail)
    }

    /// The route does not accept the body's media type.
    pub fn unsupported_media_type(content_type: Option<&str>, supported: &str) -> HttpRefusal {
        let requested = content_type.filter(|text| !text.is_empty()).unwrap_or("None");
        let requested = &*cut_at(requested.to_owned(), MAX_EXPLANATION_BYTES / 2);
        let explanation = format!("The request media type {requested} is not supported by this server. ");
        let without_parameters = requested.split(';').next().unwrap_or(requested);
        let detail = format!("The media type {without_parameters} is not supported, use {supported}");
        HttpRefusal::with_explanation(StatusCode::UNSUPPORTED_MEDIA_TYPE, explanation, &detail)
    }

    pub fn varies(&self) -> bool {
        self.varies
    }

    /// The text for the log, beside the sentence for the client.
    pub fn log_reason(&self) -> Option<String> {
        self.error.as_ref().and_then(|error| error.log_reason())
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The detail for the client.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The response, without the headers of every response.
    pub fn respond(&self, head: &RequestHead) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if self.closes {
            response.force_close();
        }
        if let Some(allow) = &self.allow {
            response.insert_header((header::ALLOW, &**allow));
        }
        if let Some(challenge) = &self.www_authenticate {
            response.insert_header((header::WWW_AUTHENTICATE, &**challenge));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((header::RETRY_AFTER, "1"));
        }
        let (html, json) = (head.accept.html, head.accept.json);
        let is_middleware = matches!(self.explanation, Explanation::Middleware) && !head.native;
        let is_head = head.method == Method::HEAD;
        let (media_type, body) = if is_middleware {
            ("application/json", self.middleware_json().to_string())
        } else if is_head {
            ("text/html; charset=UTF-8", String::new())
        } else if head.native {
            ("application/json", self.native_json(head).to_string())
        } else if html > 0.0 && html >= json {
            ("text/html; charset=UTF-8", self.html())
        } else if json > 0.0 {
            ("application/json", self.json(head).to_string())
        } else {
            ("text/plain; charset=UTF-8", self.plain())
        };
        response.content_type(media_type);
        if is_head {
            response.finish()
        } else {
            response.body(body)
        }
    }

    /// The JSON of an answer to a request that could not be parsed as HTTP.
    pub fn json_for_unparsable(&self, request_id: &str) -> String {
        json!({"errors": [{
            "status": self.status.as_u16(),
            "title": self.title(),
            "detail": without_tags(&self.text(str::to_owned)),
            "request_id": request_id,
        }]})
        .to_string()
    }

    fn json(&self, head: &RequestHead) -> Value {
        if self.before_placement {
            return json!({"message": self.text(str::to_owned), "code": self.status_line(), "title": self.title()});
        }
        let mut error = json!({
            "status": self.status.as_u16(),
            "title": self.title(),
            "detail": without_tags(&self.text(str::to_owned)),
        });
        if head.version.is_some_and(|version| version >= version::ERROR_CODES) {
            error["code"] = self.code.into();
        }
        error["request_id"] = head.request_id.as_str().into();
        if self.status == StatusCode::NOT_ACCEPTABLE && head.version.is_none() {
            error["max_version"] = Version::MAX.to_string().into();
            error["min_version"] = Version::MIN.to_string().into();
        }
        json!({"errors": [error]})
    }

    /// The form of the native API: always with a code; the explanation stands in for an empty detail.
    fn native_json(&self, head: &RequestHead) -> Value {
        let explanation = || match self.status {
            StatusCode::UNAUTHORIZED => UNAUTHENTICATED.to_owned(),
            _ => without_tags(&self.text(str::to_owned)).trim().to_owned(),
        };
        let mut body = json!({"errors": [{
            "status": self.status.as_u16(),
            "title": self.title(),
            "detail": if self.detail.is_empty() { explanation() } else { self.detail.clone() },
            "code": native_code(self.status, self.code),
            "request_id": head.request_id,
        }]});
        if let Some(Error::ClaimRefused(refusal)) = self.error.as_deref() {
            body["consumers"] = json!(claims::refused_consumers(refusal));
        }
        if let Some(reasons) = self.error.as_deref().and_then(Error::reasons) {
            let (reasons, counts) = reasons::reasons_and_counts(&reasons);
            body["reasons"] = json!(reasons);
            body["counts"] = json!(counts);
        }
        if let Some(Error::NoPlace { refusal }) = self.error.as_deref() {
            body["exact"] = refusal.is_exact.into();
        }
        body
    }

    fn html(&self) -> String {
        let (line, text) = (self.status_line(), self.text(escaped));
        format!(
            "<html>\n <head>\n  <title>{line}</title>\n </head>\n <body>\n  <h1>{line}</h1>\n  {text}\n </body>\n</html>"
        )
    }

    fn plain(&self) -> String {
        format!("{}\n\n{}", self.status_line(), without_tags(&self.text(str::to_owned)))
    }

    fn middleware_json(&self) -> Value {
        json!({"error": {"code": self.status.as_u16(), "title": self.title(), "message": MIDDLEWARE_MESSAGE}})
    }

    /// Explanation and detail, with OpenStack Placement's markup between the two.
    fn text(&self, escape: fn(&str) -> String) -> String {
        let detail = escape(&self.detail);
        match &self.explanation {
            Explanation::Standard => format!("{}<br /><br />\n{detail}\n\n", self.standard_explanation()),
            Explanation::Custom(sentence) => format!("{}<br /><br />\n{detail}", escape(sentence)),
            Explanation::Middleware => MIDDLEWARE_MESSAGE.to_owned(),
        }
    }

    fn status_line(&self) -> String {
        format!("{} {}", self.status.as_u16(), self.title())
    }

    fn title(&self) -> &'static str {
        match self.status {
            StatusCode::PAYLOAD_TOO_LARGE => "Request Entity Too Large",
            status => status.canonical_reason().unwrap_or("Error"),
        }
    }

    fn standard_explanation(&self) -> &'static str {
        match self.status {
            StatusCode::BAD_REQUEST => {
                "The server could not comply with the request since it is either malformed or otherwise incorrect."
            }
            StatusCode::UNAUTHORIZED => {
                "This server could not verify that you are authorized to access the document you requested. Either \
                 you supplied the wrong credentials (e.g., bad password), or your browser does not understand how to \
                 supply the credentials required."
            }
            StatusCode::FORBIDDEN => "Access was denied to this resource.",
            StatusCode::NOT_FOUND => "The resource could not be found.",
            StatusCode::REQUEST_TIMEOUT => "The server has waited too long for the request to be sent by the client.",
            StatusCode::CONFLICT => "There was a conflict when trying to complete your request.",
            StatusCode::PAYLOAD_TOO_LARGE => "The body of your request was too large for this server.",
            StatusCode::URI_TOO_LONG => "The request URI was too long for this server.",
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "The head of your request was too large for this server.",
            StatusCode::SERVICE_UNAVAILABLE => "The server is currently unavailable. Please try again at a later time.",
            _ => "The server has either erred or is incapable of performing the requested operation.",
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
}

/// The text without markup: line feeds become blanks, `<br />` becomes a line feed, all further tags are removed.
fn without_tags(text: &str) -> String {
    static BREAKS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?is)<br.*?>").expect("a constant pattern that the tests compile"));
    static TAGS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)<!--|-->|<.*?>").expect("a constant pattern that the tests compile"));
    let line = text.replace('\n', " ").replace('\r', "");
    TAGS.replace_all(&BREAKS.replace_all(&line, "\n"), "").into_owned()
}
