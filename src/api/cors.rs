//! CORS, as `[cors]` configures it: what lets a browser's page of another origin read an answer.
//!
//! It answers as oslo.middleware does, outside of everything that asks who the caller is: a browser asks its preflight
//! question without a token.

use actix_web::http::header::{self, HeaderName, HeaderValue, VARY};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};

use super::gate::REQUEST_ID_HEADER;
use super::seen::text;

/// `[cors]`
#[derive(Debug, Clone)]
pub struct Cors {
    /// Origins as browsers spell them, such as `https://horizon.example.com`; `*` is every one.
    pub allowed_origin: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    /// Seconds for which a browser may remember the answer to a preflight question; 0: it is not told.
    pub max_age: i64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

/// What a page may always send and read.
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
    /// The response with what the browser has to know.
    pub fn dress(&self, request: &HttpRequest, response: HttpResponse) -> HttpResponse {
        if request.method() == Method::OPTIONS {
            return self.dress_preflight(request, response);
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
                put(&mut response, header::ACCESS_CONTROL_EXPOSE_HEADERS, &exposed);
            }
        }
        response
    }

    /// Every OPTIONS request is answered, whatever its URL: nothing of the service has that method itself.
    fn dress_preflight(&self, request: &HttpRequest, response: HttpResponse) -> HttpResponse {
        let mut response = match response.status().is_success() {
            true => response,
            false => plain_ok(&response),
        };
        let (Some(origin), Some(method)) = (self.origin(request), text(request, "access-control-request-method"))
        else {
            return response;
        };
        let wanted = text(request, "access-control-request-headers").unwrap_or_default();
        let wanted: Vec<&str> = wanted
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        if !self.allow_methods.contains(&method) || !wanted.iter().all(|name| self.allows_header(name)) {
            return response;
        }
        self.allow(&mut response, &origin, "Origin");
        if self.max_age != 0 {
            put(&mut response, header::ACCESS_CONTROL_MAX_AGE, &self.max_age.to_string());
        }
        put(&mut response, header::ACCESS_CONTROL_ALLOW_METHODS, &method);
        if !wanted.is_empty() {
            put(&mut response, header::ACCESS_CONTROL_ALLOW_HEADERS, &wanted.join(","));
        }
        response
    }

    /// The origin that the answer names, if the request's is allowed.
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
        put(response, VARY, vary);
        put(response, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials {
            put(response, header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
        }
    }
}

/// 200 without a body, under the id of the response that it stands in for.
fn plain_ok(response: &HttpResponse) -> HttpResponse {
    let mut plain = HttpResponse::new(StatusCode::OK);
    if let Some(id) = response.headers().get(&REQUEST_ID_HEADER) {
        plain.headers_mut().insert(REQUEST_ID_HEADER, id.clone());
    }
    plain
}

fn put(response: &mut HttpResponse, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(name, value);
    }
}
