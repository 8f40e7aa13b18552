//! `/docs`: a page for readers, which shows the description of the API with samples.
//!
//! The page is static. A script on the page reads `/openapi.json` and the samples. All URLs of the page are relative,
//! so the page is right under any prefix. A request for the page needs no token, because the description needs none.

use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};

use super::http::headers::request_id_header;
use super::http::paced_body::paced;

/// The path of the page. The further files of the page are below the path.
pub const PATH: &str = "/docs";

/// The page loads files of its origin, reads from its origin, and does nothing else. No script or style is inline.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct PageFile {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

static FILES: &[PageFile] = &[
    PageFile {
        path: PATH,
        media_type: "text/html; charset=utf-8",
        text: include_str!("docs/page.html"),
    },
    PageFile {
        path: "/docs/page.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("docs/page.css"),
    },
    PageFile {
        path: "/docs/page.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("docs/page.js"),
    },
    PageFile {
        path: "/docs/render.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("docs/render.js"),
    },
    PageFile {
        path: "/docs/samples.json",
        media_type: "application/json",
        text: include_str!("../../api-ref/samples.json"),
    },
];

/// Whether a request may be for the page. Most requests are not, and their paths need no decoding.
pub fn may_be_for(path: &str) -> bool {
    FILES.iter().any(|file| path.ends_with(file.path))
}

/// The answer to a request for a file of the page; `None` for any further path.
pub fn answer(request: &HttpRequest, path: &str) -> Option<HttpResponse> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let is_read = matches!(request.method(), &Method::GET | &Method::HEAD);
    let status = if is_read {
        StatusCode::OK
    } else {
        StatusCode::METHOD_NOT_ALLOWED
    };
    let mut response = HttpResponse::build(status);
    // After an upgrade no browser shows the description of one version with the script of the version before.
    response
        .insert_header(request_id_header())
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    if !is_read {
        response
            .insert_header((header::ALLOW, "GET, HEAD"))
            .content_type("text/plain; charset=utf-8");
        return Some(response.body("The page can be read alone: use GET.\n"));
    }
    Some(paced(response.content_type(file.media_type).body(file.text), None))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// The texts in double quotes.
    fn quoted(file: &PageFile) -> impl Iterator<Item = &'static str> {
        file.text.split('"').skip(1).step_by(2)
    }

    fn file(path: &str) -> &'static PageFile {
        FILES.iter().find(|file| file.path == path).expect("a file")
    }

    fn header_of(response: &HttpResponse, name: header::HeaderName) -> &str {
        let value = response.headers().get(name).expect("a header");
        value.to_str().expect("a text")
    }

    #[test]
    fn the_page_names_every_file_and_no_further_one() {
        let below = |name: &str| name.strip_prefix("docs/").map(|name| format!("/docs/{name}"));
        let beside = |name: &str| name.strip_prefix("./").map(|name| format!("/docs/{name}"));
        let of_page = quoted(file(PATH)).filter_map(below);
        let of_script = quoted(file("/docs/page.js")).filter_map(|name| below(name).or_else(|| beside(name)));
        let mut named: Vec<String> = of_page.chain(of_script).collect();
        named.sort();
        let served: Vec<&str> = FILES
            .iter()
            .map(|file| file.path)
            .filter(|path| *path != PATH)
            .collect();
        assert_eq!(named, served);
    }

    #[test]
    fn nothing_comes_from_another_origin() {
        for file in FILES.iter().filter(|file| file.media_type != "application/json") {
            for foreign in ["://", "\"//", "url(", "@import"] {
                assert!(!file.text.contains(foreign), "{}: {foreign}", file.path);
            }
        }
    }

    #[test]
    fn the_page_can_be_read_and_not_written() {
        for file in FILES {
            assert!(may_be_for(&format!("/placement{}", file.path)));
            let get = TestRequest::get().to_http_request();
            let response = answer(&get, file.path).expect("an answer");
            assert_eq!(response.status(), StatusCode::OK, "{}", file.path);
            assert_eq!(header_of(&response, header::CONTENT_TYPE), file.media_type);
            let put = TestRequest::put().to_http_request();
            let refused = answer(&put, file.path).expect("an answer");
            assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
            assert_eq!(header_of(&refused, header::ALLOW), "GET, HEAD");
        }
        let get = TestRequest::get().to_http_request();
        assert!(answer(&get, "/docs/").is_none() && answer(&get, "/allocations/docs").is_none());
        assert!(!may_be_for("/docs/page.html") && !may_be_for("/allocations"));
    }
}
