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

    /// The fields that `path` has in this route's places, or `None` where it is another path.
    pub fn fields(&self, path: &str) -> Option<Vec<(&'static str, String)>> {
        let (mut places, mut segments) = (self.path.split('/'), path.split('/'));
        let mut fields = Vec::new();
        loop {
            match (places.next(), segments.next()) {
                (None, None) => return Some(fields),
                (Some(place), Some(segment)) => match place.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
                    Some(name) if !segment.is_empty() => fields.push((name, segment.to_owned())),
                    None if place == segment => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
}
