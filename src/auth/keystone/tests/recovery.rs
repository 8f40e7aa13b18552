//! A process finds the end of a failure without a request: a balancer sends no request to a process that is not ready.

use super::*;

#[tokio::test]
async fn found_n2_a_process_that_no_client_asks_is_available_with_its_own_token() {
    let server = TestKeystone::start();
    let keystone = start(&server, |_| ());
    assert!(reaches(&keystone, KeystoneState::Available).await);
    assert_eq!(server.validations(), 0);
}

#[tokio::test]
async fn found_n2_a_process_that_starts_before_keystone_waits_for_it() {
    let mut server = TestKeystone::start();
    server.stop();
    let keystone = recovering(&server, |_| ());
    assert!(reaches(&keystone, KeystoneState::NeverAvailable).await);
    assert_eq!(with_token(&keystone, "t").await, Err(unavailable()));
    server.restart();
    assert!(reaches(&keystone, KeystoneState::Available).await);
}

#[tokio::test]
async fn found_n2_an_outage_after_a_validation_ends_without_a_request() {
    let mut server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = recovering(&server, |_| ());
    with_token(&keystone, "t").await.expect("a caller");
    server.stop();
    assert_eq!(with_token(&keystone, "new").await, Err(unavailable()));
    assert!(reaches(&keystone, KeystoneState::Gone).await);
    with_token(&keystone, "t").await.expect("a cached token");
    server.restart();
    assert!(reaches(&keystone, KeystoneState::Available).await);
    assert!(!keystone.is_failing());
}

#[tokio::test]
async fn found_n2_a_wrong_password_counts_until_keystone_accepts_it() {
    let server = TestKeystone::start();
    let keystone = recovering(&server, |settings| {
        if let Credentials::Password { password, .. } = &mut settings.credentials {
            *password = "wrong".into();
        }
    });
    assert!(reaches(&keystone, KeystoneState::RefusesCredentials).await);
    assert_eq!(with_token(&keystone, "t").await, Err(unavailable()));
    assert_eq!(keystone.state(), KeystoneState::RefusesCredentials);
}

/// A login succeeds in this state, and so would the validation of placet's own token: neither may end it.
#[tokio::test]
async fn found_n2_a_user_that_may_not_validate_tokens_counts_until_the_same_token_is_validated() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = recovering(&server, |_| ());
    assert!(reaches(&keystone, KeystoneState::Available).await);
    server.change(|state| state.status = Some(403));
    assert_eq!(with_token(&keystone, "t").await, Err(unavailable()));
    let before = server.requests();
    while server.requests() < before + 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(keystone.state(), KeystoneState::RefusesCredentials);
    }
    server.change(|state| state.status = None);
    assert!(reaches(&keystone, KeystoneState::Available).await);
}

/// Found by a reader: placet repeated the validation of the token that failed, and of no further token. A proxy that
/// closes the connection on a long token so took a process out of service for ever.
#[tokio::test]
async fn found_n2_a_failure_of_one_token_ends_with_placets_own() {
    let server = TestKeystone::start();
    let keystone = recovering(&server, |_| ());
    assert!(reaches(&keystone, KeystoneState::Available).await);
    server.change(|state| state.status = Some(500));
    assert_eq!(with_token(&keystone, "long").await, Err(unavailable()));
    assert!(reaches(&keystone, KeystoneState::NeverAvailable).await);
    server.change(|state| state.status = None);
    assert!(reaches(&keystone, KeystoneState::Available).await);
    assert!(server.has_validated_own_token());
}

/// Before, 20 requests with 20 new tokens were 20 logins, and Keystone locked the user of placet out.
#[tokio::test]
async fn found_n1_with_a_wrong_password_no_request_logs_in() {
    let server = TestKeystone::start();
    let tokens: Vec<String> = (0..20).map(|number| format!("token-{number}")).collect();
    for token in &tokens {
        server.add(token, of_project("ann", &["admin"]));
    }
    let keystone = start(&server, |_| ());
    with_token(&keystone, &tokens[0]).await.expect("a caller");
    // As Keystone does when an operator changes the password.
    server.change(|state| {
        state.own_tokens.clear();
        state.refuses_logins = true;
    });
    for token in &tokens[1..] {
        assert_eq!(with_token(&keystone, token).await, Err(unavailable()), "{token}");
    }
    assert_eq!(server.refused_logins(), 1);
    with_token(&keystone, &tokens[0]).await.expect("a cached token");
}

#[tokio::test]
async fn found_n1_requests_are_served_when_the_password_is_mended() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    server.change(|state| state.refuses_logins = true);
    let keystone = recovering(&server, |_| ());
    assert!(reaches(&keystone, KeystoneState::RefusesCredentials).await);
    assert_eq!(with_token(&keystone, "t").await, Err(unavailable()));
    server.change(|state| state.refuses_logins = false);
    assert!(reaches(&keystone, KeystoneState::Available).await);
    with_token(&keystone, "t").await.expect("a caller");
}

/// A second login takes place after a pause, and each further pause is longer: 20 logins would take a minute.
#[tokio::test]
async fn found_n1_a_renewal_that_fails_is_not_repeated_by_each_request() {
    let server = TestKeystone::start();
    server.change(|state| state.own_lifetime = Duration::from_secs(119));
    let keystone = start(&server, |_| ());
    assert!(reaches(&keystone, KeystoneState::Available).await);
    server.change(|state| state.refuses_logins = true);
    for number in 0..20 {
        assert_eq!(
            with_token(&keystone, &format!("garbage-{number}")).await,
            Err(rejected())
        );
    }
    let refused = server.refused_logins();
    assert!((1..20).contains(&refused), "{refused} logins");
}

/// A proxy answers 502 to a long header. Every such token closed Keystone for the tokens of all clients.
#[tokio::test]
async fn found_n1_a_token_that_a_proxy_refuses_does_not_keep_other_tokens_from_keystone() {
    let server = TestKeystone::start();
    server.add("good", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| settings.max_retries = 0);
    // Placet's own token, which placet validates beside, is short.
    server.change(|state| {
        state.status = Some(502);
        state.token_with_status = Some("long".to_owned());
    });
    assert_eq!(with_token(&keystone, "long").await, Err(unavailable()));
    with_token(&keystone, "good").await.expect("a caller");
}
