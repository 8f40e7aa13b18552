//! The login of a program that validates no tokens.

use super::*;

#[tokio::test]
async fn a_token_is_used_again_until_a_service_refuses_it() {
    let server = TestKeystone::start();
    let mut login = OwnLogin::new(&settings(&server)).expect("a client");
    let first = login.token().await.expect("a token");
    assert_eq!(login.token().await.expect("a token"), first);
    login.forget().await;
    let second = login.token().await.expect("a token");
    assert_ne!(second, first);
    assert!(second.is_sensitive());
}

#[tokio::test]
async fn wrong_credentials_are_a_sentence_with_the_section() {
    let server = TestKeystone::start();
    server.change(|state| state.refuses_logins = true);
    let mut login = OwnLogin::new(&settings(&server)).expect("a client");
    let refused = login.token().await.expect_err("no token");
    assert!(
        refused.contains("check the credentials in [keystone_authtoken]"),
        "{refused}"
    );
}
