//! Tests of a Keystone that is down, slow or faulty, or does not accept the service's own token.

use super::*;

#[tokio::test]
async fn while_keystone_is_down_cached_tokens_go_on_and_others_are_unavailable() {
    let mut server = TestKeystone::start();
    server.add("cached", of_project("ann", &["admin"]));
    server.add("new", of_project("bob", &["admin"]));
    let keystone = recovering(&server, |_| ());
    with_token(&keystone, "cached").await.expect("a caller");
    server.stop();
    with_token(&keystone, "cached").await.expect("a caller");
    assert_eq!(with_token(&keystone, "new").await, Err(unavailable()));
    // Without a token no server is needed to refuse.
    assert_eq!(request(&keystone, "/usages", &[]).await, Err(rejected()));
    assert!(reaches(&keystone, KeystoneState::Gone).await);
    server.restart();
    assert!(reaches(&keystone, KeystoneState::Available).await);
    with_token(&keystone, "new").await.expect("a caller");
    assert_eq!(keystone.statistics().validations(TokenCheck::Failed), 1);
}

#[tokio::test]
async fn a_request_that_finds_no_answer_is_repeated() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| settings.max_retries = 1);
    with_token(&keystone, "t").await.expect("a caller");
    server.add("u", of_project("ann", &["admin"]));
    server.change(|state| state.dropped_connections = 3);
    with_token(&keystone, "u").await.expect("a caller");
    server.add("v", of_project("ann", &["admin"]));
    server.change(|state| state.dropped_connections = 4);
    assert_eq!(with_token(&keystone, "v").await, Err(unavailable()));
}

#[tokio::test]
async fn a_request_whose_connection_is_closed_is_sent_once_more_without_retries() {
    let server = TestKeystone::start();
    for token in ["t", "u", "v"] {
        server.add(token, of_project("ann", &["admin"]));
    }
    let keystone = start(&server, |settings| settings.max_retries = 0);
    with_token(&keystone, "t").await.expect("a caller");
    server.change(|state| state.dropped_connections = 1);
    with_token(&keystone, "u").await.expect("a caller");
    server.change(|state| state.dropped_connections = 2);
    assert_eq!(with_token(&keystone, "v").await, Err(unavailable()));
}

#[tokio::test]
async fn a_slow_keystone_is_given_up() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| {
        settings.connection.timeout = Duration::from_millis(200)
    });
    server.change(|state| state.delay = Duration::from_secs(20));
    let begun = std::time::Instant::now();
    assert_eq!(with_token(&keystone, "t").await, Err(unavailable()));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_answer_that_is_neither_yes_nor_no_is_unavailable() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |_| ());
    for status in [500, 403, 400, 302, 204] {
        server.change(|state| state.status = Some(status));
        assert_eq!(with_token(&keystone, "t").await, Err(unavailable()), "{status}");
    }
    server.change(|state| state.status = None);
    for body in ["<html>", "{}", "{\"token\": {\"user\": {\"id\": \"ann\"}}}"] {
        server.change(|state| state.body = Some(body.to_owned()));
        assert_eq!(with_token(&keystone, "t").await, Err(unavailable()), "{body}");
    }
    server.change(|state| state.body = None);
    with_token(&keystone, "t").await.expect("a caller");
}

#[tokio::test]
async fn the_own_token_is_renewed_if_keystone_refuses_it() {
    let server = TestKeystone::start();
    for token in ["t", "u", "v"] {
        server.add(token, of_project("ann", &["admin"]));
    }
    let keystone = start(&server, |_| ());
    with_token(&keystone, "t").await.expect("a caller");
    server.change(|state| state.own_tokens.clear());
    with_token(&keystone, "u").await.expect("a caller");
    assert_eq!(server.logins(), 2);
    // If even a new token of the service is refused, the client's token is neither valid nor invalid.
    server.change(|state| state.status = Some(401));
    assert_eq!(with_token(&keystone, "v").await, Err(unavailable()));
    assert_eq!(
        keystone.statistics().calls(Call::Login, CallOutcome::Accepted),
        u64::from(server.logins())
    );
}

#[tokio::test]
async fn the_own_token_is_renewed_before_it_expires() {
    let server = TestKeystone::start();
    server.change(|state| state.own_lifetime = Duration::from_secs(119));
    for token in ["t", "u"] {
        server.add(token, of_project("ann", &["admin"]));
    }
    let keystone = start(&server, |_| ());
    with_token(&keystone, "t").await.expect("a caller");
    let logins = server.logins();
    server.change(|state| state.own_lifetime = Duration::from_secs(600));
    with_token(&keystone, "u").await.expect("a caller");
    assert_eq!(server.logins(), logins + 1);
    // A token that lasts is used again.
    assert_eq!(with_token(&keystone, "garbage").await, Err(rejected()));
    assert_eq!(server.logins(), logins + 1);
}

#[tokio::test]
async fn with_wrong_credentials_no_token_is_believed() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| {
        settings.credentials = Credentials::ApplicationCredentialId {
            id: "c".into(),
            secret: "wrong".into(),
        };
    });
    assert_eq!(with_token(&keystone, "t").await, Err(unavailable()));
    assert_eq!(server.validations(), 0);
}

#[tokio::test]
async fn with_a_delayed_decision_placement_refuses() {
    let mut server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| settings.delay_auth_decision = true);
    let refused = Denied::Unauthenticated {
        www_authenticate: Some("Keystone uri=\"http://public\"".into()),
        body: UnauthenticatedBody::Placement,
    };
    assert_eq!(with_token(&keystone, "garbage").await, Err(refused.clone()));
    // With a delayed decision an invalid service's token does not matter.
    let headers = [("x-auth-token", "t"), ("x-service-token", "garbage")];
    let caller = request(&keystone, "/usages", &headers).await.expect("a caller");
    assert!(caller.service.user_id.is_none());
    server.stop();
    assert_eq!(with_token(&keystone, "new").await, Err(refused));
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let server = TestKeystone::start();
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("ca.pem");
    let refusal = |settings: KeystoneSettings| {
        Keystone::start(settings)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let with = |path: &std::path::Path| {
        let mut settings = settings(&server);
        settings.connection.cafile = Some(path.to_owned());
        settings
    };
    assert!(refusal(with(&file)).contains("cannot read [keystone_authtoken] cafile"));
    std::fs::write(&file, "no certificate").expect("a file");
    assert!(refusal(with(&file)).contains("no certificate in PEM form"));
}
