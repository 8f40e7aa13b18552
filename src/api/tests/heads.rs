//! Tests of versions, request ids, tokens and the headers of answers.

use actix_web::test::TestRequest;

use super::{TestServer, admin, anonymous, with_token};

#[actix_web::test]
async fn the_root_needs_no_token_and_serves_every_version() {
    let server = TestServer::new();
    let answer = server.send(TestRequest::get().uri("/")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("openstack-api-version"), Some("placement 1.0"));
    assert_eq!(answer.header("vary"), Some("openstack-api-version"));
    assert_eq!(answer.header("cache-control"), None);
    let version = &answer.json()["versions"][0];
    assert_eq!(
        (&version["max_version"], &version["links"][0]["href"]),
        (&"1.39".into(), &"".into())
    );

    let answer = server.send(anonymous("GET", "/", "1.15")).await;
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    let modified = answer.header("last-modified").expect("a time");
    assert!(
        chrono::NaiveDateTime::parse_from_str(modified, "%a, %d %b %Y %H:%M:%S GMT").is_ok(),
        "{modified}"
    );
}

#[actix_web::test]
async fn a_target_that_is_a_bare_authority_is_refused() {
    let server = TestServer::new();
    for (method, target, status) in [
        ("GET", "evil", 400),
        ("GET", "evil:80", 400),
        ("OPTIONS", "evil", 400),
        ("CONNECT", "evil:80", 405),
        ("GET", "http://evil", 200),
    ] {
        let answer = server.send(anonymous(method, target, "1.0")).await;
        assert_eq!(answer.status, status, "{method} {target}");
    }
}

#[actix_web::test]
async fn the_version_is_negotiated_before_the_route_is_found() {
    let server = TestServer::new();
    let answer = server.send(admin("GET", "/nowhere", "1.40")).await;
    assert_eq!(answer.status, 406);
    assert!(
        answer
            .detail()
            .ends_with("\n\n Invalid microversion: Unacceptable version header: 1.40")
    );
    assert_eq!(
        (answer.error("min_version"), answer.error("max_version")),
        ("1.0".into(), "1.39".into())
    );
    assert_eq!(answer.header("openstack-api-version"), None);

    let answer = server.send(admin("GET", "/nowhere", "pony.horse")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.error("title")),
        (400, "Bad Request".into())
    );

    let answer = server.send(admin("GET", "/nowhere", "latest")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.error("title")),
        (404, "Not Found".into())
    );
    assert_eq!(answer.header("openstack-api-version"), Some("placement 1.39"));
    assert_eq!(answer.error("code"), "placement.undefined_code");
    let answer = server.send(admin("GET", "/nowhere", "1.22")).await;
    assert!(answer.error("code").is_null());
}

#[actix_web::test]
async fn several_version_headers_are_one_list() {
    let server = TestServer::new();
    let request = admin("GET", "/", "1.3").append_header(("openstack-api-version", "compute 2.90, placement 1.7"));
    assert_eq!(
        server.send(request).await.header("openstack-api-version"),
        Some("placement 1.7")
    );
}

#[actix_web::test]
async fn every_answer_has_a_request_id_of_its_own() {
    let server = TestServer::new();
    let foreign = "req-3875499c-74fd-4723-ac9a-c34bbb5f9738";
    for request in [
        admin("GET", "/traits", "1.6"),
        admin("GET", "/nowhere", "1.6"),
        anonymous("GET", "/traits", "1.6"),
    ] {
        let answer = server
            .send(request.insert_header(("x-openstack-request-id", foreign)))
            .await;
        let id = answer.header("x-openstack-request-id").expect("an id").to_owned();
        assert!(
            id.starts_with("req-") && id.len() == foreign.len() && id != foreign,
            "{id}"
        );
        if answer.status == 404 {
            assert_eq!(answer.error("request_id"), id);
        }
    }
}

#[actix_web::test]
async fn a_missing_token_is_refused_before_anything_else() {
    let server = TestServer::new();
    let answer = server.send(anonymous("GET", "/nowhere", "banana")).await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.json()["code"], "401 Unauthorized");
    assert_eq!(answer.header("openstack-api-version"), None);
}

#[actix_web::test]
async fn a_policy_rule_may_depend_on_project_and_scope() {
    let server = TestServer::new();
    let usages = |project: &str| {
        let request = with_token("alice:lab", "GET", &format!("/usages?project_id={project}"), "1.9");
        request.insert_header(("x-roles", "member,reader"))
    };
    assert_eq!(server.send(usages("lab")).await.status, 200);
    let refused = server.send(usages("other")).await;
    assert_eq!(refused.status, 403);
    assert!(
        refused
            .detail()
            .ends_with("\n\n Policy does not allow placement:usages to be performed.  ")
    );
    let refused = server
        .send(usages("lab").insert_header(("openstack-system-scope", "all")))
        .await;
    assert!(refused.detail().ends_with("\n\n placement:usages  "));
}

#[actix_web::test]
async fn errors_have_the_form_that_the_client_accepts() {
    let server = TestServer::new();
    for (accept, form) in [
        ("*/*", "application/json"),
        ("application/json, text/html;q=0.9", "application/json"),
        ("text/html", "text/html; charset=UTF-8"),
        ("application/json, text/html", "text/html; charset=UTF-8"),
        ("text/plain", "text/plain; charset=UTF-8"),
    ] {
        let request = admin("DELETE", "/resource_providers/a%3Cb%3Ec", "1.0").insert_header(("accept", accept));
        let answer = server.send(request).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (404, Some(form)),
            "{accept}"
        );
        let name = if form.starts_with("text/html") {
            "a&lt;b&gt;c"
        } else {
            "ac"
        };
        assert!(
            answer
                .text()
                .contains(&format!("No resource provider with uuid {name} found for delete"))
        );
    }
}

#[actix_web::test]
async fn an_answer_that_is_the_same_at_any_version_does_not_vary() {
    let server = TestServer::new();
    let provider = "/resource_providers/00000000-0000-4000-8000-000000000001";
    for (token, method, url, version, status, varies) in [
        ("admin", "GET", "/traits", "1.40", 406, false),
        ("admin", "GET", "/traits", "x", 400, false),
        ("ada", "GET", "/traits", "1.39", 403, false),
        ("admin", "GET", "/nowhere", "1.39", 404, false),
        ("admin", "GET", provider, "1.39", 404, false),
        ("admin", "GET", "/resource_classes/CUSTOM_NO", "1.39", 404, false),
        ("admin", "GET", "/traits/CUSTOM_NO", "1.39", 404, true),
        ("admin", "DELETE", provider, "1.39", 404, true),
        ("admin", "GET", "/traits", "1.5", 404, true),
        ("admin", "PUT", "/traits", "1.39", 405, true),
        ("admin", "GET", "/traits", "1.39", 200, true),
    ] {
        let answer = server.send(with_token(token, method, url, version)).await;
        assert_eq!(answer.status, status, "{method} {url} at {version}");
        let vary = answer.header("vary");
        assert_eq!(
            vary,
            varies.then_some("openstack-api-version"),
            "{method} {url} at {version}"
        );
    }
    assert_eq!(
        server.send(anonymous("GET", "/traits", "1.39")).await.header("vary"),
        None
    );
}

#[actix_web::test]
async fn an_answer_without_a_time_of_its_own_has_no_last_modified() {
    let server = TestServer::new();
    let uuids = [
        "00000000-0000-4000-8000-000000000001",
        "00000000-0000-4000-8000-000000000002",
    ];
    for (uuid, parent) in [(uuids[0], None), (uuids[1], Some(uuids[0]))] {
        let body = serde_json::json!({"name": uuid, "uuid": uuid, "parent_provider_uuid": parent});
        let created = server
            .send(admin("POST", "/resource_providers", "1.39").set_json(body))
            .await;
        assert!(created.header("last-modified").is_some());
    }
    let child = format!("/resource_providers/{}", uuids[1]);
    let none = server.send(admin("GET", &format!("{child}/inventories"), "1.39")).await;
    assert_eq!(
        (none.header("last-modified"), none.header("cache-control")),
        (None, Some("no-cache"))
    );
    // `Last-Modified` of an update is the time of the update before.
    let rename = |name| admin("PUT", &child, "1.39").set_json(serde_json::json!({"name": name}));
    assert_eq!(server.send(rename("one")).await.header("last-modified"), None);
    assert!(server.send(rename("two")).await.header("last-modified").is_some());
}
