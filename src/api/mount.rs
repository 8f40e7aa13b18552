//! Where the service is mounted: which part of a URL's path is the route's, and what stands before it in links.

use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;

use super::seen::{Forwarded, text};
use super::service::Settings;

/// One request's view of the mount.
#[derive(Debug)]
pub struct Mount {
    /// What stands before a route in a link.
    pub prefix: String,
    /// Scheme and host as the client used them, for `Location`; empty where it named no host.
    pub origin: String,
}

impl Mount {
    pub fn of(request: &HttpRequest, settings: &Settings) -> Mount {
        let forwarded = Forwarded::of(request, settings);
        let host = forwarded.host.or_else(|| text(request, "host"));
        let host = host.or_else(|| request.uri().authority().map(ToString::to_string));
        let scheme = forwarded.scheme.as_deref().unwrap_or("http");
        Mount {
            prefix: forwarded.prefix.unwrap_or_default() + &settings.url_prefix,
            origin: host.map(|host| format!("{scheme}://{host}")).unwrap_or_default(),
        }
    }
}

/// The path of the route: without the prefix, if the request came with it (a proxy may have taken it off), decoded. Each
/// byte is a character then, as clients know it from refusals that quote a path.
pub fn route_path(path: &str, settings: &Settings) -> String {
    let inside = path.strip_prefix(settings.url_prefix.as_str());
    let path = inside
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        .unwrap_or(path);
    decoded(path)
}

fn decoded(path: &str) -> String {
    let mut path: String = percent_decode_str(path).map(char::from).collect();
    // The patterns of the routes that clients know end before a line feed; but a place in a path is not empty.
    if path.ends_with('\n') && (path == "/\n" || !path.ends_with("/\n")) {
        path.pop();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_feed_at_the_end_of_a_path_is_not_seen() {
        for (path, seen) in [
            ("/traits/CUSTOM_A%0a", "/traits/CUSTOM_A"),
            ("/traits/CUSTOM_A%0a%0a", "/traits/CUSTOM_A\n"),
            ("/traits/%0a", "/traits/\n"),
            ("/%0a", "/"),
            ("%0a", ""),
            ("/traits%0a/x", "/traits\n/x"),
            ("/traits/%C3%A9", "/traits/\u{c3}\u{a9}"),
        ] {
            assert_eq!(decoded(path), seen, "{path}");
        }
    }
}
