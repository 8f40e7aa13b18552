//! Tests of authentication by Keystone, against an HTTP server on loopback that speaks the part of Keystone's API that
//! is used. functional-tests/keystone compares with OpenStack Placement, on a real Keystone.

mod failures;
mod outages;
mod own_login;
mod recovery;
pub mod server;
mod service_tokens;

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::*;
use server::TestKeystone;
use statistics::TokenCheck;

/// A wait of a test ends far earlier.
const HANG: Duration = Duration::from_secs(40);

/// A token of `user` without roles that lasts for an hour.
pub fn valid_token(user: &str) -> Arc<ValidToken> {
    Arc::new(ValidToken {
        caller: Arc::new(Caller {
            user_id: Some(user.to_owned()),
            ..Caller::default()
        }),
        expires: SystemTime::now() + Duration::from_secs(3600),
        access_rules: None,
    })
}

pub fn settings(server: &TestKeystone) -> KeystoneSettings {
    KeystoneSettings {
        auth_url: server.url(),
        credentials: Credentials::Password {
            user: User::Name {
                name: "placement".into(),
                domain: LoginDomain::Id("default".into()),
            },
            password: server::PASSWORD.into(),
        },
        scope: Scope::Unscoped,
        www_authenticate_uri: "http://public".into(),
        interface: "internal".into(),
        region_name: None,
        delay_auth_decision: false,
        cache_time: Duration::from_secs(300),
        service_token_roles: vec!["service".into()],
        service_token_roles_required: true,
        service_type: Some("placement".into()),
        connection: ConnectionSettings {
            timeout: Duration::from_secs(10),
            cafile: None,
            insecure: false,
            certfile: None,
            keyfile: None,
        },
        max_retries: 0,
        limit: Duration::from_secs(60),
        // The tests count requests.
        recovery_pause: Duration::from_secs(3600),
    }
}

fn start(server: &TestKeystone, change: impl FnOnce(&mut KeystoneSettings)) -> Keystone {
    let mut settings = settings(server);
    change(&mut settings);
    Keystone::start(settings).expect("a thread")
}

async fn request(keystone: &Keystone, path: &str, headers: &[(&str, &str)]) -> Result<Arc<Caller>, Denied> {
    request_of("192.0.2.1", keystone, path, headers).await
}

async fn request_of(
    client: &str,
    keystone: &Keystone,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<Arc<Caller>, Denied> {
    let header = |name: &'static str| {
        let found = headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let request = AuthRequest {
        header: &header,
        method: "GET",
        path,
        client,
    };
    keystone.authenticate(&request).await
}

/// With short pauses between the questions after a failure.
fn recovering(server: &TestKeystone, change: impl FnOnce(&mut KeystoneSettings)) -> Keystone {
    start(server, |settings| {
        settings.recovery_pause = Duration::from_millis(20);
        change(settings);
    })
}

/// Waits for the state, and returns whether Keystone reached the state.
async fn reaches(keystone: &Keystone, state: KeystoneState) -> bool {
    let reached = async {
        while keystone.state() != state {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANG, reached).await.is_ok()
}

async fn with_token(keystone: &Keystone, token: &str) -> Result<Arc<Caller>, Denied> {
    request(keystone, "/usages", &[("x-auth-token", token)]).await
}

fn rejected() -> Denied {
    Denied::Unauthenticated {
        www_authenticate: Some("Keystone uri=\"http://public\"".into()),
        body: UnauthenticatedBody::Middleware,
    }
}

fn unavailable() -> Denied {
    Denied::Unavailable {
        detail: UNAVAILABLE.into(),
    }
}

/// What Keystone says about a token of `user` with a project and these roles.
fn of_project(user: &str, roles: &[&str]) -> Value {
    let roles: Vec<Value> = roles.iter().map(|role| json!({"id": role, "name": role})).collect();
    json!({
        "user": {"id": user, "name": user, "domain": {"id": "default", "name": "Default"}},
        "project": {"id": "lab", "name": "lab", "domain": {"id": "labs", "name": "Labs"}},
        "roles": roles,
    })
}

#[tokio::test]
async fn a_token_of_a_project_gives_the_credentials_that_policies_read() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["member", "reader"]));
    let keystone = start(&server, |_| ());
    let forged = [
        ("x-auth-token", " t "),
        ("x-roles", "admin"),
        ("x-user-id", "root"),
        ("x-project-id", "other"),
        ("x-domain-id", "default"),
        ("x-identity-status", "Confirmed"),
        ("openstack-system-scope", "all"),
        ("x-service-roles", "service"),
        ("x-service-user-id", "nova"),
        ("x-is-admin-project", "False"),
    ];
    let caller = request(&keystone, "/usages", &forged).await.expect("a caller");
    let expected = Caller {
        user_id: Some("ann".into()),
        user_domain_id: Some("default".into()),
        project_id: Some("lab".into()),
        project_domain_id: Some("labs".into()),
        roles: vec!["member".into(), "reader".into()],
        ..Caller::default()
    };
    assert_eq!(*caller, expected);
}

#[tokio::test]
async fn a_token_has_the_scope_that_keystone_says() {
    let server = TestKeystone::start();
    let user = json!({"id": "ann", "domain": {"id": "default"}});
    server.add(
        "domain",
        json!({"user": user, "domain": {"id": "labs"}, "roles": [{"name": "reader"}]}),
    );
    server.add(
        "system",
        json!({"user": user, "system": {"all": true}, "roles": [{"name": "admin"}]}),
    );
    server.add("unscoped", json!({"user": user, "is_admin_project": false}));
    let keystone = start(&server, |_| ());
    let caller = with_token(&keystone, "domain").await.expect("a caller");
    assert!(caller.has_domain_scope() && !caller.has_system_scope() && caller.project_id.is_none());
    let caller = with_token(&keystone, "system").await.expect("a caller");
    assert!(caller.has_system_scope() && !caller.has_domain_scope() && caller.is_admin_project);
    let caller = with_token(&keystone, "unscoped").await.expect("a caller");
    assert!(caller.roles.is_empty() && caller.project_id.is_none() && !caller.is_admin_project);
}

#[tokio::test]
async fn a_token_that_keystone_does_not_know_is_rejected_each_time() {
    let server = TestKeystone::start();
    server.add_expired("expired", of_project("ann", &["admin"]));
    let keystone = start(&server, |_| ());
    let long = "x".repeat(20_000);
    for token in ["garbage", "expired", "", " ", "two words", "caf\u{e9}", &long] {
        assert_eq!(with_token(&keystone, token).await, Err(rejected()), "{token}");
    }
    assert_eq!(request(&keystone, "/usages", &[]).await, Err(rejected()));
    // Only the first two can be tokens. A rejection is not cached: the token may become valid when keys are replicated.
    assert_eq!(server.validations(), 2);
    assert_eq!(with_token(&keystone, "garbage").await, Err(rejected()));
    assert_eq!(server.validations(), 3);
    let counted = keystone.statistics();
    assert_eq!(
        (
            counted.validations(TokenCheck::Rejected),
            counted.look_ups(LookUp::Miss)
        ),
        (3, 3)
    );
    assert_eq!(counted.calls(Call::Validation, CallOutcome::Rejected), 3);
}

#[tokio::test]
async fn a_validated_token_is_asked_for_once_until_it_leaves_the_cache() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |_| ());
    for _ in 0..3 {
        with_token(&keystone, "t").await.expect("a caller");
    }
    let counted = keystone.statistics();
    assert_eq!(
        (
            counted.look_ups(LookUp::Miss),
            counted.look_ups(LookUp::Hit),
            server.validations()
        ),
        (1, 2, 1)
    );
    assert_eq!(counted.call_times(Call::Validation).count, 1);
    let forgetful = start(&server, |settings| settings.cache_time = Duration::from_millis(50));
    with_token(&forgetful, "t").await.expect("a caller");
    server.revoke("t");
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(with_token(&forgetful, "t").await, Err(rejected()));
    with_token(&keystone, "t").await.expect("a cached token");
}

#[tokio::test]
async fn requests_with_one_token_share_its_validation() {
    let server = TestKeystone::start();
    server.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| settings.cache_time = Duration::ZERO);
    server.change(|state| state.delay = Duration::from_secs(1));
    let requests: Vec<_> = (0..20).map(|_| with_token(&keystone, "t")).collect();
    for answer in futures_join(requests).await {
        answer.expect("a caller");
    }
    assert_eq!(server.validations(), 1);
    let counted = keystone.statistics();
    assert_eq!(
        (counted.look_ups(LookUp::Miss), counted.look_ups(LookUp::Shared)),
        (1, 19)
    );
}

/// Runs all futures at the same time, on this thread.
async fn futures_join<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut pinned: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<T>> = pinned.iter().map(|_| None).collect();
    std::future::poll_fn(|task| {
        for (future, done) in pinned.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(task)
            {
                *done = Some(value);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn access_rules_limit_what_a_token_may_do() {
    let server = TestKeystone::start();
    let mut token = of_project("ann", &["admin"]);
    token["application_credential"] = json!({
        "id": "c", "restricted": true,
        "access_rules": [{"id": "r", "service": "placement", "method": "GET", "path": "/resource_providers/*"}],
    });
    token["catalog"] = json!([{"type": "placement", "id": "p", "name": "placement", "endpoints": []}]);
    server.add("t", token.clone());
    token["catalog"] = json!([]);
    server.add("elsewhere", token);
    let keystone = start(&server, |_| ());
    let get = async |path: &str, token| request(&keystone, path, &[("x-auth-token", token)]).await;
    get("/resource_providers/1", "t").await.expect("a caller");
    assert_eq!(get("/usages", "t").await, Err(rejected()));
    assert_eq!(get("/resource_providers/1", "elsewhere").await, Err(rejected()));
    let without_type = start(&server, |settings| settings.service_type = None);
    let answer = request(&without_type, "/resource_providers/1", &[("x-auth-token", "t")]).await;
    assert_eq!(answer, Err(rejected()));
}

#[tokio::test]
async fn tokens_are_validated_at_the_endpoint_of_the_catalogue() {
    let (server, public, internal) = (TestKeystone::start(), TestKeystone::start(), TestKeystone::start());
    internal.share_tokens(&server);
    let endpoint =
        |interface: &str, region: &str, url: String| json!({"interface": interface, "region": region, "url": url});
    server.change(|state| {
        state.catalog = json!([{"type": "compute", "endpoints": [endpoint("internal", "two", "http://nova".into())]},
        {"type": "identity", "endpoints": [
            endpoint("public", "two", public.url()),
            endpoint("internal", "one", "http://other".into()),
            endpoint("internal", "two", internal.url()),
        ]}]);
    });
    internal.add("t", of_project("ann", &["admin"]));
    let keystone = start(&server, |settings| settings.region_name = Some("two".into()));
    with_token(&keystone, "t").await.expect("a caller");
    assert_eq!(
        (server.validations(), public.validations(), internal.validations()),
        (0, 0, 1)
    );
}
