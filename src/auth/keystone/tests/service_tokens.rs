//! Tests of `X-Service-Token`, with which a service forwards a user's request.

use super::*;

async fn both(keystone: &Keystone, user: &str, service: &str) -> Result<Arc<Caller>, Denied> {
    let headers = [("x-auth-token", user), ("x-service-token", service)];
    request(keystone, "/usages", &headers).await
}

fn server() -> TestKeystone {
    let server = TestKeystone::start();
    server.add("user", of_project("ann", &["member"]));
    server.add_expired("expired", of_project("ann", &["member"]));
    server.add("service", of_project("nova", &["service", "admin"]));
    server.add("no-service", of_project("bob", &["admin"]));
    server
}

#[tokio::test]
async fn the_credentials_of_the_service_come_beside_those_of_the_user() {
    let server = server();
    let keystone = start(&server, |_| ());
    let caller = both(&keystone, "user", "service").await.expect("a caller");
    assert_eq!(
        (caller.user_id.as_deref(), &*caller.roles),
        (Some("ann"), &["member".to_owned()][..])
    );
    assert_eq!(caller.service.user_id.as_deref(), Some("nova"));
    assert_eq!(caller.service.roles, ["service", "admin"]);
}

#[tokio::test]
async fn a_service_may_use_an_expired_token_and_nothing_else_may() {
    let server = server();
    let keystone = start(&server, |_| ());
    assert_eq!(with_token(&keystone, "expired").await, Err(rejected()));
    let caller = both(&keystone, "expired", "service").await.expect("a caller");
    assert_eq!(caller.user_id.as_deref(), Some("ann"));
    // It is in the cache now, and expired all the same.
    assert_eq!(with_token(&keystone, "expired").await, Err(rejected()));
    assert_eq!(both(&keystone, "expired", "no-service").await, Err(rejected()));
    assert_eq!(both(&keystone, "expired", "expired").await, Err(rejected()));
    both(&keystone, "expired", "service").await.expect("a caller");
    assert_eq!(both(&keystone, "garbage", "service").await, Err(rejected()));
}

#[tokio::test]
async fn a_service_token_must_be_valid_and_have_a_service_role() {
    let server = server();
    let keystone = start(&server, |_| ());
    for service in ["garbage", "expired", "no-service", " "] {
        assert_eq!(both(&keystone, "user", service).await, Err(rejected()), "{service}");
    }
    assert!(
        both(&keystone, "user", "")
            .await
            .expect("a caller")
            .service
            .user_id
            .is_none()
    );
    let lax = start(&server, |settings| settings.service_token_roles_required = false);
    let caller = both(&lax, "user", "no-service").await.expect("a caller");
    assert_eq!(caller.service.user_id.as_deref(), Some("bob"));
    // The user's token may still expire only with a service role.
    assert_eq!(both(&lax, "expired", "no-service").await, Err(rejected()));
}

#[tokio::test]
async fn the_scope_of_the_system_is_that_of_the_service_token() {
    let server = server();
    server.add(
        "system",
        json!({"user": {"id": "root"}, "system": {"all": true}, "roles": [{"name": "service"}]}),
    );
    let keystone = start(&server, |_| ());
    assert!(
        both(&keystone, "user", "system")
            .await
            .expect("a caller")
            .has_system_scope()
    );
    assert!(
        !both(&keystone, "system", "service")
            .await
            .expect("a caller")
            .has_system_scope()
    );
}
