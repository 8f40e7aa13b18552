//! Counts the SQL statements of requests.
//!
//! A read of one statement sees consistent rows, and waits for one round trip. A write sends no statement to look up
//! its provider first.

use serde_json::json;

use super::candidates::write;
use super::{TestServer, admin};

const HOST: &str = "/resource_providers/11111111-1111-4111-8111-111111111111";
const UNKNOWN: &str = "/resource_providers/99999999-9999-4999-8999-999999999999";

async fn with_one_provider() -> TestServer {
    let server = TestServer::new();
    let host = json!({"name": "host", "uuid": HOST.rsplit('/').next()});
    write(&server, "POST", "/resource_providers", host).await;
    let inventory = json!({"total": 4});
    let inventories =
        json!({"resource_provider_generation": 0, "inventories": {"VCPU": inventory, "DISK_GB": inventory}});
    write(&server, "PUT", &format!("{HOST}/inventories"), inventories).await;
    server
}

/// nova-compute does not read usages, which take several statements.
#[actix_web::test]
async fn each_read_that_nova_compute_repeats_is_one_statement() {
    let server = with_one_provider().await;
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
    let server = with_one_provider().await;
    let mut statements = Vec::new();
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
        statements.push(server.service.model.statements() - before);
    }
    // PRAGMA data_version; BEGIN; UPDATE of placet_writers, of the provider's generation, and of each of the two
    // inventories; INSERT into placet_changes; COMMIT. The provider is not looked up before, and nothing is read after
    // the commit.
    assert_eq!(statements[0], 8);
    assert_eq!(statements[1..3], [1, 1], "the lookup decides between 400 and 404");
    // PRAGMA data_version by the writer; BEGIN, the uuid, the classes, and COMMIT by the check, which locks nothing.
    assert_eq!(statements[3], 5, "a good body is refused without a look-up before");
}
