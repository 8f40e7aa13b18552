//! The base URL under which clients see the service: the prefix to strip from a request's path and to put before links.

use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;

use super::headers::text;
use super::request_head::Forwarded;
use crate::api::service::HttpSettings;

/// The base URL for the client of one request.
#[derive(Debug)]
pub struct BaseUrl {
    /// The prefix of a route in a link.
    pub prefix: String,
    /// Scheme and host as the client used them, for `Location`; empty without a host in the request.
    pub origin: String,
}

impl BaseUrl {
    pub fn of(request: &HttpRequest, settings: &HttpSettings) -> BaseUrl {
        let forwarded = Forwarded::of(request, settings.parse_proxy_headers);
        let host = forwarded.host.or_else(|| text(request, "host"));
        let host = host.or_else(|| request.uri().authority().map(ToString::to_string));
        let scheme = forwarded.scheme.as_deref().unwrap_or(settings.scheme);
        BaseUrl {
            prefix: forwarded.prefix.unwrap_or_default() + &settings.url_prefix,
            origin: host.map(|host| format!("{scheme}://{host}")).unwrap_or_default(),
        }
    }
}

/// The path of the route: decoded, and without the prefix. A proxy may have stripped the prefix. Each byte becomes one
/// character, as in OpenStack Placement, whose refusals quote paths in this form.
pub fn route_path(path: &str, settings: &HttpSettings) -> String {
    let below_prefix = path.strip_prefix(settings.url_prefix.as_str());
    let path = below_prefix
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        .unwrap_or(path);
    decoded(path)
}

fn decoded(path: &str) -> String {
    let mut path: String = percent_decode_str(path).map(char::from).collect();
    // OpenStack Placement's route patterns match before a final line feed, but a field of a path must not be empty.
    if path.ends_with('\n') && (path == "/\n" || !path.ends_with("/\n")) {
        path.pop();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_feed_at_the_end_of_a_path_is_ignored() {
        for (path, expected) in [
            ("/traits/CUSTOM_A%0a", "/traits/CUSTOM_A"),
            ("/traits/CUSTOM_A%0a%0a", "/traits/CUSTOM_A\n"),
            ("/traits/%0a", "/traits/\n"),
            ("/%0a", "/"),
            ("%0a", ""),
            ("/traits%0a/x", "/traits\n/x"),
            ("/traits/%C3%A9", "/traits/\u{c3}\u{a9}"),
        ] {
            assert_eq!(decoded(path), expected, "{path}");
        }
    }
}
