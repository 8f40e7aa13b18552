//! A good answer, and the headers that came with a microversion.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use chrono::{DateTime, Utc};

use super::pieces::Pieces;
use crate::version::{self, Version};

/// A body in JSON.
#[derive(Debug)]
enum Body {
    Whole(Vec<u8>),
    Pieces(Pieces),
}

/// What a handler answers.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    body: Option<Body>,
    location: Option<String>,
    modified: Option<DateTime<Utc>>,
    /// Whether caches are told to ask again.
    no_cache: bool,
    stale: Option<Duration>,
}

impl Reply {
    /// 200 with a JSON body.
    pub fn json(body: Vec<u8>) -> Reply {
        Reply {
            body: Some(Body::Whole(body)),
            ..Reply::empty(StatusCode::OK)
        }
    }

    /// The same, sent while it is made.
    pub fn pieces(body: Pieces) -> Reply {
        Reply {
            body: Some(Body::Pieces(body)),
            ..Reply::empty(StatusCode::OK)
        }
    }

    /// 204.
    pub fn no_content() -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }

    /// 201 where something was made, else 204; both without a body.
    pub fn created(created: bool) -> Reply {
        Reply::empty(if created {
            StatusCode::CREATED
        } else {
            StatusCode::NO_CONTENT
        })
    }

    fn empty(status: StatusCode) -> Reply {
        Reply {
            status,
            body: None,
            location: None,
            modified: None,
            no_cache: false,
            stale: None,
        }
    }

    /// 201 instead of 200, with `Location`.
    pub fn created_at(self, url: String) -> Reply {
        Reply {
            status: StatusCode::CREATED,
            ..self.location(url)
        }
    }

    /// With `Location`.
    pub fn location(self, url: String) -> Reply {
        Reply {
            location: Some(url),
            ..self
        }
    }

    /// From 1.15, with `Last-Modified` and `Cache-Control: no-cache`. What has no time of its own was modified now.
    pub fn modified(self, moment: impl Into<Option<DateTime<Utc>>>) -> Reply {
        self.modified_if(Some(moment.into().unwrap_or_else(Utc::now)))
    }

    /// The same, but without a time there is no `Last-Modified`.
    pub fn modified_if(self, modified: Option<DateTime<Utc>>) -> Reply {
        Reply {
            modified,
            no_cache: true,
            ..self
        }
    }

    /// With the age of what was answered from, where that is not everything that is committed.
    pub fn stale(self, stale: Option<Duration>) -> Reply {
        Reply { stale, ..self }
    }

    /// The response, without the headers that every response has.
    pub(super) fn respond(self, version: Option<Version>) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if let Some(location) = self.location {
            response.insert_header((header::LOCATION, location));
        }
        if self.no_cache && version >= Some(version::LAST_MODIFIED) {
            response.insert_header((header::CACHE_CONTROL, "no-cache"));
            if let Some(modified) = self.modified {
                let time = modified.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
                response.insert_header((header::LAST_MODIFIED, time));
            }
        }
        if let Some(age) = self.stale {
            // A part of a second is a second: 0 would say that nothing is missing.
            let seconds = age.as_secs() + 1;
            response.insert_header((header::AGE, seconds.to_string()));
            response.insert_header(("placet-stale", seconds.to_string()));
        }
        match self.body {
            Some(Body::Whole(body)) => response.content_type("application/json").body(body),
            Some(Body::Pieces(body)) => response.content_type("application/json").body(body),
            None => response.finish(),
        }
    }
}
