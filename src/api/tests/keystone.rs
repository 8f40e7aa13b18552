//! Tests of the answers to requests without an authentication by Keystone's tokens. No Keystone answers here.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::auth::keystone::{Credentials, Keystone, KeystoneSettings, Scope};
use crate::http_client::ConnectionSettings;

fn server(delay_auth_decision: bool) -> TestServer {
    let settings = KeystoneSettings {
        // No server listens on this port.
        auth_url: "http://127.0.0.1:1".into(),
        credentials: Credentials::ApplicationCredentialId {
            id: "c".into(),
            secret: "s".into(),
        },
        scope: Scope::Unscoped,
        www_authenticate_uri: "https://keystone.example.org".into(),
        interface: "internal".into(),
        region_name: None,
        delay_auth_decision,
        cache_time: Duration::ZERO,
        service_token_roles: Vec::new(),
        service_token_roles_required: true,
        service_type: None,
        connection: ConnectionSettings {
            timeout: Duration::from_secs(5),
            cafile: None,
            insecure: false,
            certfile: None,
            keyfile: None,
        },
        max_retries: 0,
        limit: Duration::from_secs(60),
        recovery_pause: Duration::from_secs(3600),
    };
    let keystone = Keystone::start(settings).expect("a thread");
    TestServer::authenticating(Authenticator::Keystone(Box::new(keystone)))
}

const CHALLENGE: Option<&str> = Some("Keystone uri=\"https://keystone.example.org\"");

#[actix_web::test]
async fn without_a_token_the_answer_is_that_of_keystonemiddleware() {
    let server = server(false);
    let answer = server.send(anonymous("GET", "/resource_providers", "1.39")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("www-authenticate")),
        (401, CHALLENGE)
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let message = "The request you have made requires authentication.";
    let expected = json!({"error": {"code": 401, "title": "Unauthorized", "message": message}});
    assert_eq!(answer.json(), expected);
    // The answer is JSON for a browser too. HEAD has no body.
    let html = anonymous("GET", "/nothing", "1.0").insert_header(("accept", "text/html"));
    assert_eq!(server.send(html).await.json(), expected);
    let head = server.send(anonymous("HEAD", "/resource_providers", "1.0")).await;
    assert_eq!(
        (head.status.as_u16(), head.header("www-authenticate"), head.body.len()),
        (401, CHALLENGE, 0)
    );
    assert_eq!(server.send(anonymous("GET", "/", "1.0")).await.status, 200);
    // The native API has its own form.
    let native = server.send(anonymous("GET", "/v1/", "1.0")).await;
    assert_eq!(
        (native.error("code"), native.header("www-authenticate")),
        (json!("placet.unauthenticated"), CHALLENGE)
    );
    assert!(native.detail().contains("X-Auth-Token"), "{}", native.detail());
}

#[actix_web::test]
async fn with_a_delayed_decision_the_answer_is_that_of_placement() {
    let answer = server(true).send(admin("GET", "/resource_providers", "1.39")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("www-authenticate")),
        (401, CHALLENGE)
    );
    assert_eq!(answer.json()["code"], "401 Unauthorized");
}

#[actix_web::test]
async fn without_keystone_a_token_is_unavailable() {
    let answer = server(false).send(admin("GET", "/resource_providers", "1.39")).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")));
    let answer = answer.json();
    assert_eq!(answer["code"], "503 Service Unavailable");
    let message = answer["message"].as_str().expect("a text");
    assert!(
        message.contains("The Keystone service is temporarily unavailable."),
        "{message}"
    );
}
