//! The head of a request: the data for the answer and the log line that is known before the body is read.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::Method;

use super::accept::Accept;
use super::headers::{new_request_id, text};
use crate::log_context::{LogContext, TraceParent};
use crate::policy::Caller;
use crate::version::Version;

/// The head of a request.
#[derive(Debug)]
pub struct RequestHead {
    pub method: Method,
    /// placet's id of the request.
    pub request_id: String,
    /// The sender's id of the request.
    pub global_id: Option<String>,
    /// The sender's trace.
    pub trace: Option<TraceParent>,
    pub accept: Accept,
    /// The address of the client; from a proxy's headers only with `enable_proxy_headers_parsing`.
    pub remote: String,
    /// Whether the request is for the native API, which has no microversions.
    pub native: bool,
    /// The path of the row in the route table, for the metrics; `None` for an unknown path.
    pub route: Option<&'static str>,
    /// `None` until the version is negotiated.
    pub version: Option<Version>,
    /// `None` until the request is authenticated, and on public routes.
    pub caller: Option<Arc<Caller>>,
}

impl RequestHead {
    /// `is_behind_proxy`: `enable_proxy_headers_parsing`.
    pub fn of(request: &HttpRequest, is_behind_proxy: bool) -> RequestHead {
        let peer = || request.peer_addr().map_or("-".to_owned(), |peer| peer.ip().to_string());
        RequestHead {
            method: request.method().clone(),
            request_id: new_request_id(),
            global_id: text(request, "x-openstack-request-id").filter(|id| is_request_id(id)),
            trace: text(request, "traceparent").and_then(|header| TraceParent::read(&header)),
            accept: Accept::read(text(request, "accept").as_deref()),
            remote: Forwarded::of(request, is_behind_proxy).address.unwrap_or_else(peer),
            native: false,
            route: None,
            version: None,
            caller: None,
        }
    }

    /// The parts of every line of the log about the request.
    pub fn log_context(&self) -> LogContext {
        LogContext {
            request_id: self.request_id.clone(),
            global_id: self.global_id.clone(),
            trace: self.trace.clone(),
            ..LogContext::default()
        }
    }
}

/// A proxy's report about the request; empty without `enable_proxy_headers_parsing`.
#[derive(Debug, Default)]
pub struct Forwarded {
    pub scheme: Option<String>,
    pub host: Option<String>,
    pub address: Option<String>,
    pub prefix: Option<String>,
}

impl Forwarded {
    /// `is_behind_proxy`: `enable_proxy_headers_parsing`.
    pub fn of(request: &HttpRequest, is_behind_proxy: bool) -> Forwarded {
        if !is_behind_proxy {
            return Forwarded::default();
        }
        let prefix = text(request, "x-forwarded-prefix");
        match text(request, "forwarded") {
            Some(header) => {
                let first = header.split(',').next().unwrap_or_default();
                let field = |wanted: &str| {
                    let mut pairs = first.split(';').filter_map(|pair| pair.split_once('='));
                    pairs
                        .find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))
                        .map(|(_, value)| value.trim().to_owned())
                };
                Forwarded {
                    scheme: field("proto"),
                    host: field("host"),
                    address: field("for"),
                    prefix,
                }
            }
            None => Forwarded {
                scheme: text(request, "x-forwarded-proto"),
                host: text(request, "x-forwarded-host"),
                address: text(request, "x-forwarded-for"),
                prefix,
            },
        }
    }
}

fn is_request_id(text: &str) -> bool {
    let hex = |group: &str| group.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    text.strip_prefix("req-").is_some_and(|uuid| {
        let groups: Vec<&str> = uuid.split('-').collect();
        groups.iter().all(|group| hex(group)) && groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_id_is_a_global_id() {
        assert!(is_request_id("req-3875499c-74fd-4723-ac9a-c34bbb5f9738"));
        for text in [
            "",
            "req-",
            "3875499c-74fd-4723-ac9a-c34bbb5f9738",
            "req-3875499C-74fd-4723-ac9a-c34bbb5f9738",
        ] {
            assert!(!is_request_id(text), "{text}");
        }
        assert!(!is_request_id("req-3875499c-74fd-4723-ac9a-c34bbb5f9738\n"));
    }
}
