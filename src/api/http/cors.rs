//! CORS, as `[cors]` configures it: lets pages of foreign origins read answers in a browser.
//!
//! The rules are oslo.middleware's. CORS runs before authentication, because a browser sends its preflight request
//! without a token.

use actix_web::http::header::{self, HeaderName, HeaderValue, VARY};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};

use super::headers::{REQUEST_ID_HEADER, text};

/// `[cors]`
#[derive(Debug, Clone)]
pub struct Cors {
    /// Origins as browsers spell them, such as `https://horizon.example.com`; `*` means every origin.
    pub allowed_origin: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    /// Seconds for which a browser may cache the answer to a preflight request. 0 omits the header.
    pub max_age: i64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

/// The headers that a page may always send and read.
const SIMPLE_HEADERS: [&str; 8] = [
    "Accept",
    "Accept-Language",
    "Content-Type",
    "Cache-Control",
    "Content-Language",
    "Expires",
    "Last-Modified",
    "Pragma",
];

impl Cors {
    /// Adds the CORS headers to the response.
    pub fn add_headers(&self, request: &HttpRequest, response: HttpResponse) -> HttpResponse {
        if request.method() == Method::OPTIONS {
            return self.add_preflight_headers(request, response);
        }
        let mut response = response;
        if let Some(origin) = self.origin(request) {
            let vary = match response.headers().get(VARY).and_then(|vary| vary.to_str().ok()) {
                Some(vary) => format!("{vary},Origin"),
                None => "Origin".to_owned(),
            };
            self.allow(&mut response, &origin, &vary);
            if !self.expose_headers.is_empty() {
                let exposed = self.expose_headers.join(",");
                set_header(&mut response, header::ACCESS_CONTROL_EXPOSE_HEADERS, &exposed);
            }
        }
        response
    }

    /// Answers every OPTIONS request with 200, for any URL: no route of the service has this method.
    fn add_preflight_headers(&self, request: &HttpRequest, response: HttpResponse) -> HttpResponse {
        let mut response = if response.status().is_success() {
            response
        } else {
            ok_without_body(&response)
        };
        let (Some(origin), Some(method)) = (self.origin(request), text(request, "access-control-request-method"))
        else {
            return response;
        };
        let requested = text(request, "access-control-request-headers").unwrap_or_default();
        let requested: Vec<&str> = requested
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        if !self.allow_methods.contains(&method) || !requested.iter().all(|name| self.allows_header(name)) {
            return response;
        }
        self.allow(&mut response, &origin, "Origin");
        if self.max_age != 0 {
            set_header(&mut response, header::ACCESS_CONTROL_MAX_AGE, &self.max_age.to_string());
        }
        set_header(&mut response, header::ACCESS_CONTROL_ALLOW_METHODS, &method);
        if !requested.is_empty() {
            set_header(
                &mut response,
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                &requested.join(","),
            );
        }
        response
    }

    /// The origin for the answer, if the request's origin is allowed.
    fn origin(&self, request: &HttpRequest) -> Option<String> {
        let origin = text(request, "origin")?;
        let allowed = |origin: &str| self.allowed_origin.iter().any(|allowed| allowed == origin);
        if allowed(&origin) {
            return Some(origin);
        }
        allowed("*").then(|| "*".to_owned())
    }

    fn allows_header(&self, name: &str) -> bool {
        let allowed = self.allow_headers.iter().map(String::as_str).chain(SIMPLE_HEADERS);
        allowed.into_iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }

    fn allow(&self, response: &mut HttpResponse, origin: &str, vary: &str) {
        set_header(response, VARY, vary);
        set_header(response, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials {
            set_header(response, header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
        }
    }
}

/// 200 without a body, with the request id of the replaced response.
fn ok_without_body(response: &HttpResponse) -> HttpResponse {
    let mut ok = HttpResponse::new(StatusCode::OK);
    if let Some(id) = response.headers().get(&REQUEST_ID_HEADER) {
        ok.headers_mut().insert(REQUEST_ID_HEADER, id.clone());
    }
    ok
}

fn set_header(response: &mut HttpResponse, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(name, value);
    }
}
