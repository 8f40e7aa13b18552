//! Tests of request bodies: types, lengths, and the answers to bodies.

use super::{TestServer, admin};

const UUID: &str = "11111111-1111-4111-8111-111111111111";

#[actix_web::test]
async fn a_body_without_an_accepted_content_type_is_refused() {
    let server = TestServer::new();
    let answer = server
        .send(admin("GET", "/nowhere", "1.0").insert_header(("content-length", "2")))
        .await;
    assert_eq!(answer.status, 400);
    assert!(
        answer
            .detail()
            .ends_with("content-type header required when content-length > 0  ")
    );
    for (content_type, named) in [(None, "None"), (Some("text/plain; charset=utf-8"), "text/plain")] {
        let mut request = admin("POST", "/resource_providers", "1.0");
        if let Some(content_type) = content_type {
            request = request.insert_header(("content-type", content_type));
        }
        let answer = server.send(request).await;
        assert_eq!(answer.status, 415);
        let sentence = format!("The media type {named} is not supported, use application/json");
        assert!(answer.detail().ends_with(&sentence), "{}", answer.detail());
    }
}

#[actix_web::test]
async fn a_body_above_the_limit_is_refused() {
    let server = TestServer::new();
    let post = |body: String| {
        admin("POST", "/resource_providers", "1.0")
            .insert_header(("content-type", "application/json"))
            .set_payload(body)
    };
    let too_long = post(" ".repeat(1001)).insert_header(("content-length", "1001"));
    for request in [too_long, post(" ".repeat(1001))] {
        let answer = server.send(request).await;
        assert_eq!(
            (answer.status.as_u16(), answer.error("title")),
            (413, "Request Entity Too Large".into())
        );
    }
    let answer = server.send(post(" ".repeat(1000))).await;
    assert_eq!(answer.status, 400);
    assert!(answer.detail().contains("Malformed JSON: "));
}

#[actix_web::test]
async fn an_unknown_provider_is_reported_before_errors_in_the_body() {
    let server = TestServer::new();
    for (url, status) in [
        (format!("/resource_providers/{UUID}"), 404),
        (format!("/resource_providers/{UUID}/inventories"), 404),
        (format!("/resource_providers/{UUID}/inventories/VCPU"), 404),
        (format!("/resource_providers/{UUID}/aggregates"), 404),
        (format!("/resource_providers/{UUID}/traits"), 400),
    ] {
        let request = admin("PUT", &url, "1.39")
            .insert_header(("content-type", "application/json"))
            .set_payload("{");
        assert_eq!(server.send(request).await.status, status, "{url}");
    }
}

#[actix_web::test]
async fn a_provider_is_created_read_and_deleted() {
    let server = TestServer::new();
    let json = ("content-type", "application/json");
    let body = format!("{{\"name\": \"host\", \"uuid\": \"{UUID}\"}}");
    let request = admin("POST", "/resource_providers", "1.19")
        .insert_header(json)
        .set_payload(body.clone());
    let answer = server.send(request.insert_header(("host", "cloud.example:8778"))).await;
    assert_eq!((answer.status.as_u16(), answer.text()), (201, ""));
    let url = format!("/resource_providers/{UUID}");
    assert_eq!(
        answer.header("location"),
        Some(&*format!("http://cloud.example:8778{url}"))
    );
    assert_eq!(
        (answer.header("content-type"), answer.header("last-modified")),
        (None, None)
    );

    let again = server
        .send(
            admin("POST", "/resource_providers", "1.23")
                .insert_header(json)
                .set_payload(body),
        )
        .await;
    assert_eq!(
        (again.status.as_u16(), again.error("code")),
        (409, "placement.duplicate_name".into())
    );

    let shown = server.send(admin("GET", &url, "1.15")).await;
    assert_eq!((shown.status.as_u16(), &shown.json()["name"]), (200, &"host".into()));
    assert!(shown.header("last-modified").is_some());
    assert_eq!(
        server.send(admin("GET", &url, "1.14")).await.header("last-modified"),
        None
    );

    let gone = server.send(admin("DELETE", &url, "1.15")).await;
    assert_eq!(
        (gone.status.as_u16(), gone.text(), gone.header("cache-control")),
        (204, "", None)
    );
    assert_eq!(server.send(admin("GET", &url, "1.15")).await.status, 404);
}
