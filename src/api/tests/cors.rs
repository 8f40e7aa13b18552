//! Tests of the CORS headers in answers, and of preflight requests.

use super::*;
use crate::api::http::cors::Cors;

fn cors() -> Cors {
    Cors {
        allowed_origin: vec!["https://a.example".into(), "https://b.example".into()],
        allow_credentials: true,
        expose_headers: vec!["X-One".into(), "X-Two".into()],
        max_age: 3600,
        allow_methods: vec!["GET".into(), "PUT".into()],
        allow_headers: vec!["OpenStack-API-Version".into(), "X-Auth-Token".into()],
    }
}

fn server(change: impl FnOnce(&mut Cors)) -> TestServer {
    let mut cors = cors();
    change(&mut cors);
    TestServer::with(|settings| settings.cors = Some(cors))
}

/// The CORS headers of an answer, without the prefix of their names.
fn cors_headers(answer: &TestAnswer) -> Vec<(&str, &str)> {
    let mut found: Vec<(&str, &str)> = answer
        .headers
        .iter()
        .filter_map(|(name, value)| {
            let name = name.as_str().strip_prefix("access-control-")?;
            Some((name, value.to_str().expect("a text")))
        })
        .collect();
    found.sort_unstable();
    found
}

fn preflight(origin: &'static str, method: &'static str, headers: &'static str) -> TestRequest {
    let request = TestRequest::default().method("OPTIONS".parse().expect("a method"));
    let request = request.uri("/resource_providers").insert_header(("origin", origin));
    let request = request.insert_header(("access-control-request-method", method));
    request.insert_header(("access-control-request-headers", headers))
}

#[actix_web::test]
async fn a_preflight_request_needs_no_token() {
    let answer = server(|_| ())
        .send(preflight(
            "https://b.example",
            "PUT",
            "x-auth-token, openstack-api-VERSION,",
        ))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(
        cors_headers(&answer),
        [
            ("allow-credentials", "true"),
            ("allow-headers", "x-auth-token,openstack-api-VERSION"),
            ("allow-methods", "PUT"),
            ("allow-origin", "https://b.example"),
            ("max-age", "3600"),
        ]
    );
    assert!(answer.body.is_empty() && answer.header("x-openstack-request-id").is_some());
    assert_eq!(
        (answer.header("content-type"), answer.header("openstack-api-version")),
        (None, None)
    );
}

#[actix_web::test]
async fn a_forbidden_preflight_request_gets_no_cors_headers() {
    let server = server(|_| ());
    for (origin, method, headers) in [
        ("https://c.example", "GET", ""),
        ("https://a.example", "DELETE", ""),
        ("https://a.example", "get", ""),
        ("https://a.example", "GET", "x-other"),
        ("https://a.example", "GET", "accept,x-other"),
    ] {
        let answer = server.send(preflight(origin, method, headers)).await;
        assert_eq!(answer.status, StatusCode::OK, "{origin} {method} {headers}");
        assert_eq!(cors_headers(&answer), [], "{origin} {method} {headers}");
        assert_eq!(answer.header("vary"), None);
    }
    // Without an origin or a requested method the request is no preflight request.
    for header in [
        ("origin", "https://a.example"),
        ("access-control-request-method", "GET"),
    ] {
        let request = TestRequest::default().method("OPTIONS".parse().expect("a method"));
        let answer = server.send(request.uri("/nothing").insert_header(header)).await;
        assert_eq!(
            (answer.status, cors_headers(&answer)),
            (StatusCode::OK, Vec::new()),
            "{header:?}"
        );
    }
}

#[actix_web::test]
async fn an_answer_names_the_origin_that_may_read_it() {
    let server = server(|_| ());
    let expected = [
        ("allow-credentials", "true"),
        ("allow-origin", "https://a.example"),
        ("expose-headers", "X-One,X-Two"),
    ];
    for (request, status) in [
        (admin("GET", "/resource_providers", "1.0"), StatusCode::OK),
        (admin("GET", "/nothing", "1.0"), StatusCode::NOT_FOUND),
        (anonymous("GET", "/resource_providers", "1.0"), StatusCode::UNAUTHORIZED),
    ] {
        let answer = server
            .send(request.insert_header(("origin", "https://a.example")))
            .await;
        assert_eq!((answer.status, cors_headers(&answer)), (status, expected.to_vec()));
        // A missing token and an unknown path are refused alike at every version.
        let varies = match status {
            StatusCode::OK => "openstack-api-version,Origin",
            _ => "Origin",
        };
        assert_eq!(answer.header("vary"), Some(varies));
    }
    let answer = server
        .send(admin("GET", "/", "1.0").insert_header(("origin", "https://c.example")))
        .await;
    assert_eq!(
        (cors_headers(&answer), answer.header("vary")),
        (Vec::new(), Some("openstack-api-version"))
    );
}

#[actix_web::test]
async fn a_star_allows_every_origin_and_empty_options_send_no_header() {
    let server = server(|cors| {
        cors.allowed_origin = vec!["https://a.example".into(), "*".into()];
        cors.allow_credentials = false;
        cors.expose_headers.clear();
        cors.max_age = 0;
    });
    for (origin, named) in [
        ("https://a.example", "https://a.example"),
        ("https://c.example", "*"),
        ("null", "*"),
    ] {
        let answer = server
            .send(admin("GET", "/", "1.0").insert_header(("origin", origin)))
            .await;
        assert_eq!(cors_headers(&answer), [("allow-origin", named)]);
    }
    let answer = server.send(preflight("https://c.example", "GET", "")).await;
    assert_eq!(cors_headers(&answer), [("allow-methods", "GET"), ("allow-origin", "*")]);
}

#[actix_web::test]
async fn without_cors_options_no_answer_has_cors_headers() {
    let server = TestServer::new();
    let answer = server.send(preflight("https://a.example", "GET", "")).await;
    assert_eq!(
        (answer.status, cors_headers(&answer)),
        (StatusCode::UNAUTHORIZED, Vec::new())
    );
    let answer = server
        .send(admin("GET", "/", "1.0").insert_header(("origin", "https://a.example")))
        .await;
    assert_eq!(cors_headers(&answer), []);
}
