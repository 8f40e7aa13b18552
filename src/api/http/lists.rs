//! Pages of lists: the form that the client prefers, the validator of a page (`ETag`), the address of the next page.

use std::hash::{DefaultHasher, Hasher};

use actix_web::HttpRequest;
use actix_web::http::header;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::headers::text;
use super::reply::Reply;
use super::request_head::RequestHead;
use crate::model::version_cache::VersionCache;
use crate::wire::{ListForm, WrittenPage};

/// The media type of lines of JSON.
pub const LINES: &str = "application/x-ndjson";

/// What a request says about the form of a list.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    pub form: ListForm,
    /// The path of the route.
    path: &'static str,
    /// `If-None-Match`.
    known_tags: Option<String>,
}

impl ListRequest {
    /// Reads the headers of a request to the route with this path.
    pub fn of(request: &HttpRequest, path: &'static str, head: &RequestHead) -> ListRequest {
        let form = if head.accept.lines > head.accept.json {
            ListForm::Lines
        } else {
            ListForm::Object
        };
        ListRequest {
            form,
            path,
            known_tags: text(request, "if-none-match"),
        }
    }

    /// `None` if the query is too long.
    pub fn question(&self, query: &str) -> Option<PageQuestion> {
        (query.len() <= MAX_QUERY_BYTES).then(|| PageQuestion {
            path: self.path,
            query: query.to_owned(),
            form: self.form,
        })
    }

    /// Whether the client has the page with this tag.
    pub fn knows(&self, tag: &str) -> bool {
        let mut tags = self.known_tags.as_deref().unwrap_or_default().split(',').map(str::trim);
        tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
    }
}

/// Which page a request asks for. The service answers equal questions on one version of the snapshot with equal pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuestion {
    path: &'static str,
    query: String,
    form: ListForm,
}

/// A page without the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHead {
    /// The hash of the text and of the key of the next page, in the form of `ETag`.
    pub tag: String,
    /// The key of the next page.
    pub next: Option<String>,
}

impl PageHead {
    pub fn of(page: &WrittenPage) -> PageHead {
        // The keys of the hasher are constants, so equal pages of several processes have the same tag.
        let mut hasher = DefaultHasher::new();
        hasher.write(&page.text);
        hasher.write(page.next.as_deref().unwrap_or_default().as_bytes());
        PageHead {
            tag: format!("\"{:016x}\"", hasher.finish()),
            next: page.next.clone(),
        }
    }
}

/// The heads of the last pages that were made of the snapshot.
pub type KnownPages = VersionCache<PageQuestion, PageHead, MAX_KNOWN_PAGES>;

/// The number of kept heads of pages: enough for a client that reads a million providers again and again, in pages of
/// 1,000. A head takes some 200 bytes, with a long query at most about 3 kB.
const MAX_KNOWN_PAGES: usize = 1 << 10;

/// The head of a page with a longer query is not kept.
const MAX_QUERY_BYTES: usize = 2_000;

/// The answer to a request for a page of a list. `prefix` is the prefix of the routes in a link. A client that has the
/// page needs no `text`.
pub fn list_reply(request: &ListRequest, prefix: &str, query: &str, head: PageHead, text: Option<Vec<u8>>) -> Reply {
    let reply = match (text, request.form) {
        (None, _) => Reply::not_modified(),
        (Some(_), _) if request.knows(&head.tag) => Reply::not_modified(),
        (Some(text), ListForm::Object) => Reply::json(text),
        (Some(text), ListForm::Lines) => Reply::json(text).in_media_type(LINES),
    };
    let reply = match &head.next {
        Some(next) => reply.with_header(header::LINK, link(prefix, request.path, query, next)),
        None => reply,
    };
    reply
        .with_header(header::ETAG, head.tag)
        .with_header(header::VARY, "accept, x-auth-token".to_owned())
        .with_header(header::CACHE_CONTROL, "private, no-cache".to_owned())
}

/// The address of the next page, in the form of `Link`.
fn link(prefix: &str, path: &str, query: &str, next: &str) -> String {
    let is_after = |pair: &str| {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        percent_decode_str(name).eq(*b"after")
    };
    let kept = query
        .split(['&', ';'])
        .filter(|pair| !pair.is_empty() && !is_after(pair));
    let kept: String = kept.map(|pair| format!("{pair}&")).collect();
    let after = utf8_percent_encode(next, NON_ALPHANUMERIC);
    format!("<{prefix}{path}?{kept}after={after}>; rel=\"next\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ListRequest {
        /// A request to this route, without headers.
        pub fn at(path: &'static str) -> ListRequest {
            ListRequest {
                path,
                ..ListRequest::default()
            }
        }
    }

    #[test]
    fn a_link_has_the_query_with_the_key_of_the_next_page() {
        let after = "in a/b";
        for (query, expected) in [
            ("", "</p/v1/usages?after=in%20a%2Fb>; rel=\"next\""),
            (
                "by=type;%61fter=x&limit=2",
                "</p/v1/usages?by=type&limit=2&after=in%20a%2Fb>; rel=\"next\"",
            ),
            (
                "by=type&after=x&limit=2",
                "</p/v1/usages?by=type&limit=2&after=in%20a%2Fb>; rel=\"next\"",
            ),
        ] {
            assert_eq!(link("/p", "/v1/usages", query, after), expected);
        }
    }

    #[test]
    fn a_tag_is_known_among_several_and_as_a_weak_one() {
        let request = |tags: Option<&str>| ListRequest {
            form: ListForm::Object,
            path: "/v1/usages",
            known_tags: tags.map(str::to_owned),
        };
        for (tags, is_known) in [
            (None, false),
            (Some("\"b\""), false),
            (Some("\"a\""), true),
            (Some("\"b\", W/\"a\""), true),
            (Some("*"), true),
        ] {
            assert_eq!(request(tags).knows("\"a\""), is_known, "{tags:?}");
        }
    }
}
