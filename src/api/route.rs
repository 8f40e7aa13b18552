//! What a route is, and which one a request takes.

use std::future::Future;
use std::pin::Pin;

use actix_web::http::Method;

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::policy::rules::Rule;
use crate::version::Version;

/// One row of the route table.
pub struct Route {
    pub method: Method,
    /// Segments between slashes; `{name}` takes any one segment.
    pub path: &'static str,
    pub first: Version,
    pub last: Version,
    /// How a request is turned away whose version is outside of `first..=last`.
    pub outside: Outside,
    pub media: Media,
    /// Whether the media are judged before the version is: where both are wrong, clients see the first refusal.
    pub media_first: bool,
    pub guard: Guard,
    pub handler: Handler,
}

/// The status of a request whose version a route does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    NotFound,
    MethodNotAllowed,
}

/// What a route asks of a request's media types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// Nothing: no body comes or goes.
    Bare,
    /// `Content-Type: application/json`.
    Takes,
    /// `Accept` has room for JSON.
    Gives,
}

/// Who may take a route.
#[derive(Debug, Clone, Copy)]
pub enum Guard {
    /// Everybody, without a token.
    Open,
    /// Whom the rule lets, with the caller's own project and user as its target.
    Own(&'static Rule),
    /// Whom the rule lets, with the project that the query's `project_id` names as its target.
    OfQuery(&'static Rule),
}

/// A handler, as a table can hold it.
pub type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Result<Reply>>>>;

impl Route {
    pub const fn get(path: &'static str, guard: Guard, handler: Handler) -> Route {
        Route::new(Method::GET, path, Media::Gives, guard, handler)
    }

    pub const fn post(path: &'static str, guard: Guard, handler: Handler) -> Route {
        Route::new(Method::POST, path, Media::Takes, guard, handler)
    }

    pub const fn put(path: &'static str, guard: Guard, handler: Handler) -> Route {
        Route::new(Method::PUT, path, Media::Takes, guard, handler)
    }

    pub const fn delete(path: &'static str, guard: Guard, handler: Handler) -> Route {
        Route::new(Method::DELETE, path, Media::Bare, guard, handler)
    }

    const fn new(method: Method, path: &'static str, media: Media, guard: Guard, handler: Handler) -> Route {
        Route {
            method,
            path,
            first: Version::MIN,
            last: Version::MAX,
            outside: Outside::NotFound,
            media,
            media_first: false,
            guard,
            handler,
        }
    }

    /// Served from this version on.
    pub const fn since(mut self, first: Version) -> Route {
        self.first = first;
        self
    }

    /// Served up to the version before this one.
    pub const fn before(mut self, end: Version) -> Route {
        self.last = end.before();
        self
    }

    /// Where the version is too old, the URL exists, but not this method of it.
    pub const fn or_method_not_allowed(mut self) -> Route {
        self.outside = Outside::MethodNotAllowed;
        self
    }

    /// Neither takes nor gives a body.
    pub const fn bare(mut self) -> Route {
        self.media = Media::Bare;
        self
    }

    pub const fn media_first(mut self) -> Route {
        self.media_first = true;
        self
    }

    /// The rule that decides who may, but for what is open to everybody.
    pub fn rule(&self) -> Option<&'static Rule> {
        match self.guard {
            Guard::Open => None,
            Guard::Own(rule) | Guard::OfQuery(rule) => Some(rule),
        }
    }

    pub fn serves(&self, version: Version) -> bool {
        (self.first..=self.last).contains(&version)
    }

    /// Whether `path` is this route's. Every request asks it of every route.
    pub fn fits(&self, path: &str) -> bool {
        let (places, path) = (self.path.as_bytes(), path.as_bytes());
        let segment = |text: &[u8]| text.iter().take_while(|byte| **byte != b'/').count();
        let (mut place, mut at) = (0, 0);
        while place < places.len() {
            if places[place] == b'{' {
                match segment(&path[at..]) {
                    0 => return false,
                    long => at += long,
                }
                place += segment(&places[place..]);
            } else if path.get(at) == Some(&places[place]) {
                (place, at) = (place + 1, at + 1);
            } else {
                return false;
            }
        }
        at == path.len()
    }

    /// What `path`, which fits, has in this route's places.
    pub fn fields(&self, path: &str) -> Vec<(&'static str, String)> {
        let named = self
            .path
            .split('/')
            .zip(path.split('/'))
            .filter_map(|(place, segment)| {
                let name = place.strip_prefix('{')?.strip_suffix('}')?;
                Some((name, segment.to_owned()))
            });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::ROUTES;

    fn paths(path: &str) -> Vec<&'static str> {
        let mut paths: Vec<&str> = ROUTES.iter().filter(|it| it.fits(path)).map(|it| it.path).collect();
        paths.dedup();
        paths
    }

    #[test]
    fn a_place_takes_any_one_segment_that_is_not_empty() {
        for (path, fitting) in [
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
            assert_eq!(paths(path), fitting, "{path}");
        }
    }

    #[test]
    fn what_stands_in_a_place_is_known_by_its_name() {
        let path = "/resource_providers/a b/inventories/VCPU";
        let route = ROUTES.iter().find(|it| it.fits(path)).expect("a route");
        let fields = route.fields(path);
        assert_eq!(
            fields,
            [("uuid", "a b".to_owned()), ("resource_class", "VCPU".to_owned())]
        );
    }
}
