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
    percent_decode_str(path).map(char::from).collect()
}
