//! Successful answers, and the headers that depend on the microversion.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::body::BoxBody;
use actix_web::http::header::HeaderName;
use actix_web::http::{StatusCode, header};
use actix_web::web::Bytes;
use chrono::{DateTime, Utc};

use super::access::Decided;
use super::streaming::StreamingBody;
use crate::version::{self, Version};

/// The answer of a handler.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    body: Option<BoxBody>,
    media_type: &'static str,
    location: Option<String>,
    /// Further headers.
    headers: Vec<(HeaderName, String)>,
    modified: Option<DateTime<Utc>>,
    /// Whether the answer has `Cache-Control: no-cache`, from 1.15 on.
    no_cache: bool,
    /// The age of the snapshot, if it may be stale.
    stale: Option<Duration>,
    /// What a write granted or released, for the line of the log.
    decided: Option<Decided>,
}

impl Reply {
    /// 200 with a JSON body.
    pub fn json(body: impl Into<Bytes>) -> Reply {
        Reply {
            body: Some(BoxBody::new(body.into())),
            ..Reply::empty(StatusCode::OK)
        }
    }

    /// 200 with a JSON body, sent while the body is made.
    pub fn streaming(body: StreamingBody) -> Reply {
        Reply {
            body: Some(BoxBody::new(body)),
            ..Reply::empty(StatusCode::OK)
        }
    }

    /// 204.
    pub fn no_content() -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }

    /// 304: the client has the answer already.
    pub fn not_modified() -> Reply {
        Reply::empty(StatusCode::NOT_MODIFIED)
    }

    /// With a body in this media type.
    pub fn in_media_type(self, media_type: &'static str) -> Reply {
        Reply { media_type, ..self }
    }

    /// With a further header.
    pub fn with_header(mut self, name: HeaderName, value: String) -> Reply {
        self.headers.push((name, value));
        self
    }

    /// 201 if something was created, else 204; both without a body.
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
            media_type: "application/json",
            location: None,
            headers: Vec::new(),
            modified: None,
            no_cache: false,
            stale: None,
            decided: None,
        }
    }

    /// With what the write granted, for the line of the log.
    pub fn granted(self, text: Option<String>) -> Reply {
        Reply {
            decided: text.map(Decided::Granted),
            ..self
        }
    }

    /// With what the write released, for the line of the log.
    pub fn released(self, text: Option<String>) -> Reply {
        Reply {
            decided: text.map(Decided::Released),
            ..self
        }
    }

    pub(in crate::api) fn take_decided(&mut self) -> Option<Decided> {
        self.decided.take()
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

    /// From 1.15 on, with `Last-Modified` and `Cache-Control: no-cache`. Without a time the answer was modified now.
    pub fn modified(self, moment: impl Into<Option<DateTime<Utc>>>) -> Reply {
        self.modified_if(Some(moment.into().unwrap_or_else(Utc::now)))
    }

    /// Like `modified`, but without a time there is no `Last-Modified`.
    pub fn modified_if(self, modified: Option<DateTime<Utc>>) -> Reply {
        Reply {
            modified,
            no_cache: true,
            ..self
        }
    }

    /// With the age of the snapshot, if later commits may be missing: `Age` and `placet-stale`.
    pub fn stale(self, stale: Option<Duration>) -> Reply {
        Reply { stale, ..self }
    }

    /// The response, without the headers of every response.
    pub(in crate::api) fn respond(self, version: Option<Version>) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if let Some(location) = self.location {
            response.insert_header((header::LOCATION, location));
        }
        for header in self.headers {
            response.insert_header(header);
        }
        if self.no_cache && version >= Some(version::LAST_MODIFIED) {
            response.insert_header((header::CACHE_CONTROL, "no-cache"));
            if let Some(modified) = self.modified {
                let time = modified.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
                response.insert_header((header::LAST_MODIFIED, time));
            }
        }
        if let Some(age) = self.stale {
            // Rounded up, because an age of 0 would mean that nothing is missing.
            let seconds = age.as_secs() + 1;
            response.insert_header((header::AGE, seconds.to_string()));
            response.insert_header(("placet-stale", seconds.to_string()));
        }
        match self.body {
            Some(body) => response.content_type(self.media_type).body(body),
            None => response.finish(),
        }
    }
}
