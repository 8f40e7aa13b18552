//! A row of the route table, and the comparison of a path with the row.

use std::future::Future;
use std::pin::Pin;

use actix_web::http::Method;

use super::http::reply::Reply;
use super::http::request_context::RequestContext;
use crate::error::Result;
use crate::policy::rules::{self, PolicyRule};
use crate::version::Version;

/// A row of the route table.
pub struct Route {
    pub method: Method,
    /// Segments between slashes; the field `{name}` matches any single segment with a character.
    pub path: &'static str,
    pub family: Family,
    pub media: Media,
    /// Whether media types are checked before the version. If both are wrong, clients see the first refusal.
    pub media_first: bool,
    /// The policy rule for requests; `None`: the route is public and needs no token.
    pub rule: Option<&'static PolicyRule>,
    /// Whether the target of the rule is the project of the query's `project_id`, instead of the caller's own project
    /// and user.
    pub of_project: bool,
    /// A second rule, checked by the handler: for changes outside of the token's project.
    pub other_projects: Option<&'static PolicyRule>,
    /// Whether the last field of the path takes the rest of a path, with slashes.
    pub takes_rest: bool,
    /// The longest body, if `max_body_size` allows more.
    pub max_body_bytes: usize,
    pub handler: Handler,
}

/// The longest body about a single thing.
const ONE_THING_BYTES: usize = 1 << 20;
/// The longest body with the list of a provider, such as the traits.
const LIST_BYTES: usize = 4 << 20;

/// Which API a route belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// OpenStack's Placement API: served from a first to a last microversion.
    Placement {
        first: Version,
        last: Version,
        /// The refusal of a version outside of `first..=last`.
        outside: Outside,
    },
    /// placet's own API, below `/v1/`, without microversions.
    Native,
}

impl Family {
    /// A rule for all routes of the family.
    pub fn rule(self) -> Option<&'static PolicyRule> {
        match self {
            Family::Placement { .. } => None,
            Family::Native => Some(&rules::NATIVE_USE),
        }
    }
}

/// Whether a path belongs to the native API, even without a route: the family decides the form of a refusal.
pub fn is_native(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// The status of a request whose version a route does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    NotFound,
    MethodNotAllowed,
}

/// The requirements of a route on the media types of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// Nothing: neither header is checked, and a request body is not read.
    Unchecked,
    /// The request has a body: `Content-Type: application/json`, or of a `PATCH` also `application/merge-patch+json`.
    ConsumesJson,
    /// The answer has a body: `Accept` must allow JSON.
    ProducesJson,
    /// The answer is a list with pages: `Accept` must allow JSON or lines of JSON.
    ProducesList,
}

/// A handler, in the form for a static table.
pub type Handler = fn(RequestContext) -> Pin<Box<dyn Future<Output = Result<Reply>>>>;

impl Route {
    /// A route without a rule: `GET`, for any `Accept`.
    pub const fn public(path: &'static str, handler: Handler) -> Route {
        Route::new(Method::GET, path, Media::Unchecked, handler)
    }

    pub const fn get(path: &'static str, rule: &'static PolicyRule, handler: Handler) -> Route {
        Route::new(Method::GET, path, Media::ProducesJson, handler).with_rule(rule)
    }

    pub const fn post(path: &'static str, rule: &'static PolicyRule, handler: Handler) -> Route {
        Route::new(Method::POST, path, Media::ConsumesJson, handler).with_rule(rule)
    }

    pub const fn put(path: &'static str, rule: &'static PolicyRule, handler: Handler) -> Route {
        Route::new(Method::PUT, path, Media::ConsumesJson, handler).with_rule(rule)
    }

    pub const fn patch(path: &'static str, rule: &'static PolicyRule, handler: Handler) -> Route {
        Route::new(Method::PATCH, path, Media::ConsumesJson, handler).with_rule(rule)
    }

    pub const fn delete(path: &'static str, rule: &'static PolicyRule, handler: Handler) -> Route {
        Route::new(Method::DELETE, path, Media::Unchecked, handler).with_rule(rule)
    }

    const fn new(method: Method, path: &'static str, media: Media, handler: Handler) -> Route {
        Route {
            method,
            path,
            family: Family::Placement {
                first: Version::MIN,
                last: Version::MAX,
                outside: Outside::NotFound,
            },
            media,
            media_first: false,
            rule: None,
            of_project: false,
            other_projects: None,
            takes_rest: false,
            max_body_bytes: ONE_THING_BYTES,
            handler,
        }
    }

    const fn with_rule(mut self, rule: &'static PolicyRule) -> Route {
        self.rule = Some(rule);
        self
    }

    /// The answer is JSON, or lines of JSON if the client prefers lines.
    pub const fn with_pages(mut self) -> Route {
        self.media = Media::ProducesList;
        self
    }

    /// The target of the rule is the project of the query's `project_id`.
    pub const fn of_project(mut self) -> Route {
        self.of_project = true;
        self
    }

    /// A route of the native API.
    pub const fn native(mut self) -> Route {
        self.family = Family::Native;
        self
    }

    /// Changes outside of the token's project need this rule too.
    pub const fn with_rule_for_others(mut self, rule: &'static PolicyRule) -> Route {
        self.other_projects = Some(rule);
        self
    }

    /// The last field takes the rest of a path: a text with slashes, such as the path of a domain.
    pub const fn with_rest(mut self) -> Route {
        self.takes_rest = true;
        self
    }

    /// Served from this version on.
    pub const fn since(mut self, since: Version) -> Route {
        if let Family::Placement { first, .. } = &mut self.family {
            *first = since;
        }
        self
    }

    /// Served up to the version before `end`.
    pub const fn before(mut self, end: Version) -> Route {
        if let Family::Placement { last, .. } = &mut self.family {
            *last = end.before();
        }
        self
    }

    /// Refuses a version outside of the route's versions with 405 instead of 404: the URL exists, but not with this
    /// method.
    pub const fn or_method_not_allowed(mut self) -> Route {
        if let Family::Placement { outside, .. } = &mut self.family {
            *outside = Outside::MethodNotAllowed;
        }
        self
    }

    /// Serves any `Accept` and `Content-Type`, and reads no body.
    pub const fn without_media_check(mut self) -> Route {
        self.media = Media::Unchecked;
        self
    }

    /// The body is a list of a provider.
    pub const fn with_list(mut self) -> Route {
        self.max_body_bytes = LIST_BYTES;
        self
    }

    /// The body names any number of consumers or providers: only `max_body_size` limits it.
    pub const fn with_long_body(mut self) -> Route {
        self.max_body_bytes = usize::MAX;
        self
    }

    /// Media types are checked before the version.
    pub const fn media_first(mut self) -> Route {
        self.media_first = true;
        self
    }

    /// Whether the route serves a request of this microversion; `None` is a request of the native API.
    pub fn serves(&self, version: Option<Version>) -> bool {
        match (self.family, version) {
            (Family::Placement { first, last, .. }, Some(version)) => (first..=last).contains(&version),
            (Family::Native, None) => true,
            _ => false,
        }
    }

    /// Whether `path` matches. Every request is compared with every route, so the comparison allocates nothing.
    pub fn matches(&self, path: &str) -> bool {
        let (pattern, path) = (self.path.as_bytes(), path.as_bytes());
        let segment_length = |text: &[u8]| text.iter().take_while(|byte| **byte != b'/').count();
        let (mut pattern_at, mut path_at) = (0, 0);
        while pattern_at < pattern.len() {
            if pattern[pattern_at] == b'{' {
                pattern_at += segment_length(&pattern[pattern_at..]);
                let is_rest = self.takes_rest && pattern_at == pattern.len();
                let length = match &path[path_at..] {
                    rest if is_rest => rest.len(),
                    rest => segment_length(rest),
                };
                if length == 0 {
                    return false;
                }
                path_at += length;
            } else if path.get(path_at) == Some(&pattern[pattern_at]) {
                (pattern_at, path_at) = (pattern_at + 1, path_at + 1);
            } else {
                return false;
            }
        }
        path_at == path.len()
    }

    /// The fields of `path`, which must match this route, by name.
    pub fn fields(&self, path: &str) -> Vec<(&'static str, String)> {
        let segments = self.path.split('/').count();
        let pairs = self.path.split('/').zip(path.splitn(segments, '/'));
        let fields = pairs.filter_map(|(pattern, segment)| {
            let name = pattern.strip_prefix('{')?.strip_suffix('}')?;
            Some((name, segment.to_owned()))
        });
        fields.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::ROUTES;

    fn paths(path: &str) -> Vec<&'static str> {
        let mut paths: Vec<&str> = ROUTES
            .iter()
            .filter(|route| route.matches(path))
            .map(|route| route.path)
            .collect();
        paths.dedup();
        paths
    }

    #[test]
    fn a_field_matches_any_one_segment_that_is_not_empty() {
        for (path, matching) in [
            ("", &[""][..]),
            ("/", &["/"]),
            ("/traits", &["/traits"]),
            ("/traits/", &[]),
            ("/traits/\u{e9} {name}", &["/traits/{name}"]),
            ("/traits/a/", &[]),
            ("/traits//", &[]),
            ("/traitsx", &[]),
            ("/trait", &[]),
            ("traits", &[]),
            (
                "/resource_providers/a/inventories",
                &["/resource_providers/{uuid}/inventories"],
            ),
            ("/resource_providers//inventories", &[]),
            ("/resource_providers/a/inventories/", &[]),
            (
                "/resource_providers/inventories/inventories/inventories",
                &["/resource_providers/{uuid}/inventories/{resource_class}"],
            ),
        ] {
            assert_eq!(paths(path), matching, "{path}");
        }
    }

    #[test]
    fn the_last_field_of_a_domain_and_of_a_type_takes_the_rest_of_a_path() {
        for (path, fields) in [
            (
                "/v1/domains/fault/fd:/dc1/r0",
                &[("dimension", "fault"), ("path", "fd:/dc1/r0")][..],
            ),
            ("/v1/domains/fault//dc1", &[("dimension", "fault"), ("path", "/dc1")]),
            ("/v1/types/a/b", &[("name", "a/b")]),
        ] {
            let route = ROUTES.iter().find(|route| route.matches(path)).expect(path);
            let found = route.fields(path);
            let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (*name, text.as_str())).collect();
            assert_eq!(found, fields);
        }
        assert_eq!(paths("/v1/domains/fault/"), [""; 0]);
        assert_eq!(paths("/v1/domains//r0"), [""; 0]);
    }

    #[test]
    fn the_fields_of_a_path_are_found_by_name() {
        let path = "/resource_providers/a b/inventories/VCPU";
        let route = ROUTES.iter().find(|route| route.matches(path)).expect("a route");
        let fields = route.fields(path);
        assert_eq!(
            fields,
            [("uuid", "a b".to_owned()), ("resource_class", "VCPU".to_owned())]
        );
    }
}
