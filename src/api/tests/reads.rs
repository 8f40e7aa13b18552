//! Tests that an answer from rows takes one statement: its rows are of one moment, after one round trip.

use serde_json::json;

use super::candidates::write;
use super::{TestServer, admin};

const HOST: &str = "/resource_providers/11111111-1111-4111-8111-111111111111";
const UNKNOWN: &str = "/resource_providers/99999999-9999-4999-8999-999999999999";

async fn filled() -> TestServer {
    let server = TestServer::new();
    let host = json!({"name": "host", "uuid": HOST.rsplit('/').next()});
    write(&server, "POST", "/resource_providers", host).await;
    let inventory = json!({"total": 4});
    let inventories =
        json!({"resource_provider_generation": 0, "inventories": {"VCPU": inventory, "DISK_GB": inventory}});
    write(&server, "PUT", &format!("{HOST}/inventories"), inventories).await;
    server
}

#[actix_web::test]
async fn each_read_of_a_compute_node_is_one_statement() {
    let server = filled().await;
    for path in [
        "",
        "/inventories",
        "/inventories/VCPU",
        "/aggregates",
        "/traits",
        "/allocations",
    ] {
        for (provider, status) in [(HOST, 200), (UNKNOWN, 404)] {
            let before = server.service.model.statements();
            let answer = server.send(admin("GET", &format!("{provider}{path}"), "1.39")).await;
            assert_eq!(answer.status, status, "{path}: {}", answer.text());
            assert_eq!(server.service.model.statements() - before, 1, "GET {provider}{path}");
        }
    }
}

#[actix_web::test]
async fn the_provider_is_looked_up_before_a_write_only_if_the_body_is_bad() {
    let server = filled().await;
    let mut sent = Vec::new();
    for (provider, body, status) in [
        (
            HOST,
            json!({"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 5}, "DISK_GB": {"total": 4}}}),
            200,
        ),
        (HOST, json!({}), 400),
        (UNKNOWN, json!({}), 404),
        (
            UNKNOWN,
            json!({"resource_provider_generation": 1, "inventories": {}}),
            404,
        ),
    ] {
        let before = server.service.model.statements();
        let request = admin("PUT", &format!("{provider}/inventories"), "1.39");
        let request = request
            .insert_header(("content-type", "application/json"))
            .set_payload(body.to_string());
        let answer = server.send(request).await;
        assert_eq!(answer.status, status, "{provider} {body}: {}", answer.text());
        if status == 404 {
            assert!(
                answer.text().contains("No resource provider with uuid 99999999"),
                "{}",
                answer.text()
            );
        }
        sent.push(server.service.model.statements() - before);
    }
    assert_eq!(sent[1..3], [1, 1], "the lookup decides which error is answered");
    // BEGIN, the writer's row, the provider's generation, each of two inventories, the change, COMMIT.
    assert_eq!(
        sent[0], 7,
        "the provider is not looked up before, and nothing is read after the commit"
    );
}
