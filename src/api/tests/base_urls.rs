//! Tests of a service mounted below a prefix, or behind a proxy.

use super::{TestAnswer, TestServer, admin, anonymous};

async fn create(server: &TestServer, url: &str, headers: &[(&'static str, &'static str)]) -> TestAnswer {
    let mut request = admin("POST", url, "1.20").insert_header(("content-type", "application/json"));
    for header in headers {
        request = request.insert_header(*header);
    }
    server
        .send(request.set_payload(r#"{"name": "host", "uuid": "11111111-1111-4111-8111-111111111111"}"#))
        .await
}

#[actix_web::test]
async fn links_have_the_prefix_even_if_the_request_had_none() {
    for url in ["/placement/resource_providers", "/resource_providers"] {
        let server = TestServer::with(|settings| settings.url_prefix = "/placement".into());
        let answer = create(&server, url, &[("host", "cloud")]).await;
        assert_eq!(answer.status, 200, "{url}");
        let path = "/placement/resource_providers/11111111-1111-4111-8111-111111111111";
        assert_eq!(answer.json()["links"][0]["href"], path);
        assert_eq!(answer.header("location"), Some(&*format!("http://cloud{path}")));
    }
}

#[actix_web::test]
async fn the_root_is_served_at_the_prefix_with_and_without_a_slash() {
    let server = TestServer::with(|settings| settings.url_prefix = "/placement".into());
    for url in ["/placement", "/placement/", "/"] {
        let answer = server.send(anonymous("GET", url, "1.0")).await;
        assert_eq!(
            (
                answer.status.as_u16(),
                &answer.json()["versions"][0]["links"][0]["href"]
            ),
            (200, &"".into()),
            "{url}"
        );
    }
    assert_eq!(server.send(admin("GET", "/placements", "1.0")).await.status, 404);
    assert_eq!(server.send(admin("GET", "/placement//traits", "1.6")).await.status, 404);
    let encoded = server.send(admin("GET", "/placement/trait%73", "1.6")).await;
    assert_eq!(encoded.status, 200);
}

#[actix_web::test]
async fn headers_of_a_proxy_are_used_only_if_the_option_is_set() {
    let proxy = [
        ("host", "inside"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "outside"),
        ("x-forwarded-prefix", "/front"),
    ];
    let path = "/resource_providers/11111111-1111-4111-8111-111111111111";
    let answer = create(&TestServer::new(), "/resource_providers", &proxy).await;
    assert_eq!(answer.header("location"), Some(&*format!("http://inside{path}")));

    let behind_proxy = || TestServer::with(|settings| settings.parse_proxy_headers = true);
    let answer = create(&behind_proxy(), "/resource_providers", &proxy).await;
    assert_eq!(
        answer.header("location"),
        Some(&*format!("https://outside/front{path}"))
    );
    assert_eq!(answer.json()["links"][0]["href"], format!("/front{path}"));

    let standard = [
        ("x-forwarded-host", "ignored"),
        ("forwarded", "for=1.2.3.4; Proto=https; host=first, host=second"),
    ];
    let answer = create(&behind_proxy(), "/resource_providers", &standard).await;
    assert_eq!(answer.header("location"), Some(&*format!("https://first{path}")));
}
