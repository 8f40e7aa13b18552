//! Tests of the native API: it has no microversions, its own policy rules, and errors that always have a code.

use super::{TestServer, admin, anonymous, with_token};

#[actix_web::test]
async fn the_root_lists_every_operation_with_its_rule() {
    let answer = TestServer::new().send(with_token("demo", "GET", "/v1/", "1.7")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("openstack-api-version"), None);
    assert_eq!(answer.header("vary"), None);
    let body = answer.json();
    assert_eq!(body["api"], "v1");
    assert_eq!(
        body["operations"][0],
        serde_json::json!({
            "method": "GET", "path": "/v1/", "summary": "List the operations of the native API", "rule": "placet:api:show",
        })
    );
}

#[actix_web::test]
async fn every_refusal_has_a_code_and_no_microversion() {
    let server = TestServer::new();
    for (request, status, code) in [
        (anonymous("GET", "/v1/", "1.0"), 401, "placet.unauthenticated"),
        (admin("GET", "/v1/unknown", "1.0"), 404, "placet.not_found"),
        (admin("GET", "/v1", "1.0"), 404, "placet.not_found"),
        (admin("PUT", "/v1/", "1.0"), 405, "placet.method_not_allowed"),
        (admin("GET", "/v1/?limit=1", "1.0"), 400, "placet.bad_request"),
        (
            admin("GET", "/v1/", "1.0").insert_header(("accept", "text/html")),
            406,
            "placet.not_acceptable",
        ),
    ] {
        let answer = server.send(request).await;
        assert_eq!(answer.status, status, "{code}");
        assert_eq!(answer.error("code"), code);
        assert_eq!(answer.error("status"), status);
        let detail = answer.detail();
        assert!(!detail.is_empty() && !detail.contains('<'), "{detail}");
        assert!(
            answer
                .error("request_id")
                .as_str()
                .is_some_and(|id| id.starts_with("req-"))
        );
        assert_eq!(answer.header("openstack-api-version"), None);
    }
}

#[actix_web::test]
async fn a_microversion_in_the_request_is_ignored() {
    let answer = TestServer::new().send(admin("GET", "/v1/", "9.99")).await;
    assert_eq!(answer.status, 200);
}

#[actix_web::test]
async fn a_request_without_a_token_learns_which_header_to_send() {
    let server = TestServer::new();
    let native = server.send(anonymous("GET", "/v1/limits", "1.0")).await.detail();
    assert!(
        native.contains("X-Auth-Token") && !native.contains("browser"),
        "{native}"
    );
}

#[actix_web::test]
async fn a_patch_may_have_the_media_type_of_merge_patches() {
    const MERGE_PATCH: &str = "application/merge-patch+json";
    let server = TestServer::new();
    for (method, media_type, status) in [
        ("PATCH", MERGE_PATCH, 200),
        ("PATCH", "application/merge-patch+json; charset=utf-8", 200),
        ("PATCH", "application/json", 200),
        ("PATCH", "application/json-patch+json", 415),
        ("PUT", MERGE_PATCH, 415),
    ] {
        let request = admin(method, "/v1/limits/VCPU?dry_run=true", "1.0")
            .set_payload(r#"{"generation": null, "normal": null}"#)
            .insert_header(("content-type", media_type));
        assert_eq!(server.send(request).await.status, status, "{method} {media_type}");
    }
}
