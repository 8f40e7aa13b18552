//! Tests of a Keystone that accepts requests without an answer, and of clients with many tokens.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::*;
use crate::auth::keystone::slots::MAX_RUNNING_OF_CLIENT;

/// How long a request may wait for Keystone in these tests.
const LIMIT: Duration = Duration::from_secs(2);
fn with_limit(settings: &mut KeystoneSettings) {
    settings.limit = LIMIT;
    settings.max_retries = 3;
}

fn tokens(number: usize) -> Vec<String> {
    (0..number).map(|number| format!("token-{number}")).collect()
}

#[tokio::test]
async fn hostile_06_while_keystone_hangs_no_request_waits_longer_than_the_limit() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, with_limit);
    with_token(&keystone, "t").await.expect("a caller");
    server.change(|state| state.hangs = true);
    let (tokens, before) = (tokens(400), server.requests());
    let began = Instant::now();
    let answers = futures_join(tokens.iter().map(|token| with_token(&keystone, token)).collect()).await;
    assert!(answers.iter().all(|answer| *answer == Err(unavailable())));
    assert!(began.elapsed() < HANG, "{:?}", began.elapsed());
    // Before Keystone was found to be down, the first failure gave its place to a further request.
    let asked = (server.requests() - before) as usize;
    assert!(asked < 2 * MAX_RUNNING_OF_CLIENT, "{asked} of 400 asked");
    with_token(&keystone, "t").await.expect("a cached token");
}

#[tokio::test]
async fn hostile_06_while_keystone_is_down_requests_are_refused_at_once() {
    let server = TestKeystone::start();
    let keystone = start(&server, |settings| settings.connection.timeout = LIMIT);
    assert!(reaches(&keystone, KeystoneState::Available).await);
    server.change(|state| state.hangs = true);
    for token in ["first", "second"] {
        assert_eq!(with_token(&keystone, token).await, Err(unavailable()), "{token}");
    }
    let before = server.requests();
    let task = &mut Context::from_waker(Waker::noop());
    for token in tokens(400) {
        let mut other = pin!(with_token(&keystone, &token));
        assert_eq!(other.as_mut().poll(task), Poll::Ready(Err(unavailable())), "{token}");
    }
    assert_eq!(server.requests(), before);
    assert_eq!(keystone.statistics().look_ups(LookUp::Refused), 400);
}

#[tokio::test]
async fn hostile_06_when_keystone_is_back_all_requests_ask() {
    let server = TestKeystone::start();
    server.add("later", of_project("ann", &["admin"]));
    let keystone = recovering(&server, |settings| settings.connection.timeout = LIMIT);
    assert!(reaches(&keystone, KeystoneState::Available).await);
    // As a proxy without a Keystone behind it.
    server.change(|state| state.status = Some(503));
    assert_eq!(with_token(&keystone, "first").await, Err(unavailable()));
    assert!(reaches(&keystone, KeystoneState::NeverAvailable).await);
    server.change(|state| state.status = None);
    assert!(reaches(&keystone, KeystoneState::Available).await);
    with_token(&keystone, "later").await.expect("a caller");
    assert_eq!(with_token(&keystone, "garbage").await, Err(rejected()));
}

#[tokio::test]
async fn hostile_06_both_tokens_of_a_request_share_the_limit() {
    let server = TestKeystone::start();
    server.add("service", of_project("nova", &["service"]));
    let keystone = start(&server, with_limit);
    server.change(|state| state.delay = LIMIT * 3 / 4);
    let headers = [("x-auth-token", "user"), ("x-service-token", "service")];
    assert_eq!(request(&keystone, "/usages", &headers).await, Err(unavailable()));
    // Keystone is not down: it has answered.
    server.change(|state| state.delay = Duration::ZERO);
    assert_eq!(with_token(&keystone, "user").await, Err(rejected()));
}

#[tokio::test]
async fn hostile_06_many_tokens_of_a_client_do_not_delay_those_of_others() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |_| ());
    server.change(|state| state.delay = Duration::from_millis(100));
    let invalid: Vec<_> = tokens(500);
    let invalid_headers: Vec<_> = invalid.iter().map(|token| [("x-auth-token", token.as_str())]).collect();
    let flood = invalid_headers
        .iter()
        .map(|headers| request_of("192.0.2.66", &keystone, "/usages", headers));
    let mut flood: Vec<_> = flood.map(Box::pin).collect();
    let task = &mut Context::from_waker(Waker::noop());
    assert!(flood.iter_mut().all(|request| request.as_mut().poll(task).is_pending()));
    with_token(&keystone, "t").await.expect("a caller");
    // Without shares all earlier tokens are validated first.
    let place = server.place("t").expect("it was asked");
    assert!(place <= 2 * MAX_RUNNING_OF_CLIENT, "{place} were asked before");
}
