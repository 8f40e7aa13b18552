//! What is read from rows is read by one statement: one moment, and one way to the database.

use serde_json::json;

use super::candidates::write;
use super::{Edge, admin};

const HOST: &str = "/resource_providers/11111111-1111-4111-8111-111111111111";
const NOBODY: &str = "/resource_providers/99999999-9999-4999-8999-999999999999";

async fn filled() -> Edge {
    let edge = Edge::new();
    let host = json!({"name": "host", "uuid": HOST.rsplit('/').next()});
    write(&edge, "POST", "/resource_providers", host).await;
    let inventory = json!({"total": 4});
    let inventories =
        json!({"resource_provider_generation": 0, "inventories": {"VCPU": inventory, "DISK_GB": inventory}});
    write(&edge, "PUT", &format!("{HOST}/inventories"), inventories).await;
    edge
}

#[actix_web::test]
async fn what_a_compute_node_asks_of_its_provider_is_one_statement_each() {
    let edge = filled().await;
    for what in [
        "",
        "/inventories",
        "/inventories/VCPU",
        "/aggregates",
        "/traits",
        "/allocations",
    ] {
        for (provider, status) in [(HOST, 200), (NOBODY, 404)] {
            let before = edge.service.model.statements();
            let answer = edge.send(admin("GET", &format!("{provider}{what}"), "1.39")).await;
            assert_eq!(answer.status, status, "{what}: {}", answer.text());
            assert_eq!(edge.service.model.statements() - before, 1, "GET {provider}{what}");
        }
    }
}

#[actix_web::test]
async fn a_good_body_is_not_preceded_by_a_look_for_its_provider() {
    let edge = filled().await;
    let mut sent = Vec::new();
    for (provider, body, status) in [
        (
            HOST,
            json!({"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 5}, "DISK_GB": {"total": 4}}}),
            200,
        ),
        (HOST, json!({}), 400),
        (NOBODY, json!({}), 404),
        (
            NOBODY,
            json!({"resource_provider_generation": 1, "inventories": {}}),
            404,
        ),
    ] {
        let before = edge.service.model.statements();
        let request = admin("PUT", &format!("{provider}/inventories"), "1.39");
        let request = request
            .insert_header(("content-type", "application/json"))
            .set_payload(body.to_string());
        let answer = edge.send(request).await;
        assert_eq!(answer.status, status, "{provider} {body}: {}", answer.text());
        if status == 404 {
            assert!(
                answer.text().contains("No resource provider with uuid 99999999"),
                "{}",
                answer.text()
            );
        }
        sent.push(edge.service.model.statements() - before);
    }
    assert_eq!(sent[1..3], [1, 1], "only where it decides what is refused");
    // BEGIN, the writer's row, the provider's generation, each of two inventories, the change, COMMIT.
    assert_eq!(
        sent[0], 7,
        "nothing else is looked for, and nothing is read after the commit"
    );
}
