//! Tests of the cache and of the login, and of failed validations that do or do not count against Keystone.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::*;
use crate::auth::keystone::KeystoneState;
use crate::auth::keystone::tests::server::TestKeystone;
use crate::auth::keystone::tests::{settings, valid_token};

#[tokio::test]
async fn a_cached_token_is_rejected_when_it_expires() {
    let server = TestKeystone::start();
    let validator = Validator::start(&settings(&server)).expect("a thread");
    let wait = Waiter {
        client: "192.0.2.1",
        deadline: Instant::now() + Duration::from_secs(600),
    };
    let lasting = valid_token("ann");
    let expired = ValidToken {
        expires: SystemTime::now() - Duration::from_millis(1),
        ..ValidToken::clone(&lasting)
    };
    let now = Instant::now().into_std();
    validator.asker.cache.insert(tokens::hash("lasting"), lasting, now);
    validator
        .asker
        .cache
        .insert(tokens::hash("expired"), Arc::new(expired), now);
    assert!(
        validator
            .validate("lasting", false, wait)
            .await
            .expect("an answer")
            .is_some()
    );
    assert!(
        validator
            .validate("expired", false, wait)
            .await
            .expect("an answer")
            .is_none()
    );
    // For a service the expired token is valid all the same.
    assert!(
        validator
            .validate("expired", true, wait)
            .await
            .expect("an answer")
            .is_some()
    );
    assert_eq!(server.validations(), 0);
}

fn until(deadline: Instant) -> Waiter<'static> {
    Waiter {
        client: "192.0.2.1",
        deadline,
    }
}

const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_request_without_time_does_not_end_the_login_for_which_others_wait() {
    let server = TestKeystone::start();
    server.add("t", json!({"user": {"id": "ann", "domain": {"id": "default"}}}));
    // Each validation needs a new token of the service.
    server.change(|state| state.own_lifetime = Duration::ZERO);
    let validator = Validator::start(&settings(&server)).expect("a thread");
    let first = validator.validate("t", false, until(Instant::now() + LATE)).await;
    assert!(first.is_ok_and(|token| token.is_some()));
    server.change(|state| state.hangs = true);
    let now = Instant::now();
    let hasty = async {
        let found = validator.validate("hasty", false, until(now + SOON)).await;
        server.change(|state| state.hangs = false);
        found
    };
    let patient = validator.validate("garbage", false, until(now + LATE));
    let (hasty, patient) = tokio::join!(hasty, patient);
    assert!(hasty.is_err_and(|failure| failure == Failure::NoTime));
    assert!(patient.is_ok_and(|token| token.is_none()));
}

/// Found by a reader: a token that was longer than a header of Keystone's server may be took the process out of
/// service.
#[tokio::test]
async fn found_n2_a_token_that_keystone_does_not_take_says_nothing_of_keystone() {
    let server = TestKeystone::start();
    let validator = Validator::start(&settings(&server)).expect("a thread");
    let found = validator.validate("garbage", false, until(Instant::now() + LATE)).await;
    assert!(found.is_ok_and(|token| token.is_none()));
    for status in [400, 413, 414, 431] {
        server.change(|state| state.status = Some(status));
        let found = validator.validate("long", false, until(Instant::now() + LATE)).await;
        assert!(found.is_err(), "{status}");
        let availability = &validator.asker.availability;
        assert_eq!(availability.state(), KeystoneState::Available, "{status}");
    }
}
