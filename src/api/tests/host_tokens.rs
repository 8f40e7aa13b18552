//! Tests of tokens that report for one host: all other routes and hosts refuse the tokens.

use serde_json::{Value, json};

use super::*;
use crate::auth::LiveTokens;
use crate::auth::tokens::{hash, hex};

const HOST: &str = "77777777-0000-4000-8000-000000000001";
const SECOND: &str = "77777777-0000-4000-8000-000000000002";

/// A file with the token `agent`, of a host.
struct TokenFile;

impl Files<String> for TokenFile {
    fn changed(&self) -> bool {
        false
    }

    fn read(&self) -> Result<String, String> {
        let hash = hex(&hash("agent"));
        Ok(format!(
            "sha256={hash} id=1 user=agents project=lab roles= host={HOST} created=2026-01-01T00:00:00Z expires=never\n"
        ))
    }
}

fn server() -> TestServer {
    let tokens = LiveTokens::start("tokens".to_owned(), Box::new(TokenFile)).expect("tokens");
    TestServer::authenticating(Authenticator::Tokens(tokens))
}

fn request(method: &str, url: &str, body: &Value) -> TestRequest {
    let request = with_token("agent", method, url, "1.39");
    request
        .insert_header(("content-type", "application/json"))
        .set_payload(body.to_string())
}

/// A report that makes its host.
fn report(host: &str) -> Value {
    json!({"holder": "a", "boot": "b", "number": 1, "providers": [{"uuid": host, "name": host}]})
}

#[actix_web::test]
async fn the_token_of_a_host_reports_for_the_host_in_each_spelling_of_the_uuid() {
    let server = server();
    for spelling in [HOST.to_owned(), HOST.replace('-', "").to_uppercase()] {
        let url = format!("/v1/hosts/{spelling}/report");
        assert_eq!(
            server.send(request("PUT", &url, &report(HOST))).await.status,
            200,
            "{url}"
        );
    }
}

#[actix_web::test]
async fn the_token_of_a_host_reports_for_no_second_host() {
    let url = format!("/v1/hosts/{SECOND}/report");
    let answer = server().send(request("PUT", &url, &report(SECOND))).await;
    assert_eq!(answer.status, 403);
    assert_eq!(
        answer.detail(),
        "Policy does not allow placet:hosts:report to be performed."
    );
}

#[actix_web::test]
async fn every_other_route_refuses_the_token_of_a_host() {
    let server = server();
    let mut refused = 0;
    for route in ROUTES {
        let Some(rule) = route.rule.filter(|rule| rule.name != "placet:hosts:report") else {
            continue;
        };
        if !route.serves(Some(crate::version::Version::MAX)) && !route.serves(None) {
            continue;
        }
        let url = ["{uuid}", "{consumer_uuid}"]
            .iter()
            .fold(route.path.to_owned(), |url, field| url.replace(field, HOST));
        let url = url.replace("{name}", "CUSTOM_X").replace("{resource_class}", "VCPU");
        let answer = server.send(request(route.method.as_str(), &url, &json!({}))).await;
        assert_eq!(answer.status, 403, "{} {url}", route.method);
        assert!(
            answer.detail().contains(rule.name),
            "{} {url}: {}",
            route.method,
            answer.detail()
        );
        refused += 1;
    }
    assert!(refused > 50, "only {refused} routes");
}
