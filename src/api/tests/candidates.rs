//! Tests of the source of candidates: the snapshot, without SQL but for the freshness query.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::{TestServer, admin};
use crate::version::Version;

pub fn uuid(number: u32) -> String {
    format!("11111111-1111-4111-8111-{number:012}")
}

const UUID: &str = "11111111-1111-4111-8111-111111111111";

pub async fn write(server: &TestServer, method: &str, path: &str, body: serde_json::Value) {
    let request = admin(method, path, "1.39")
        .insert_header(("content-type", "application/json"))
        .set_payload(body.to_string());
    let answer = server.send(request).await;
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
}

#[actix_web::test]
async fn a_search_sends_no_sql_and_shows_every_acknowledged_claim() {
    let server = TestServer::new();
    write(
        &server,
        "POST",
        "/resource_providers",
        json!({"name": "host", "uuid": UUID}),
    )
    .await;
    let inventories = json!({"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}});
    write(
        &server,
        "PUT",
        &format!("/resource_providers/{UUID}/inventories"),
        inventories,
    )
    .await;
    for (n, free) in [(1, 3), (2, 2)] {
        let claim = json!({
            "allocations": {UUID: {"resources": {"VCPU": 1}}},
            "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE",
        });
        write(
            &server,
            "PUT",
            &format!("/allocations/22222222-2222-4222-8222-00000000000{n}"),
            claim,
        )
        .await;
        let before = server.service.model.statements();
        for (amount, fits) in [(free, 1), (free + 1, 0)] {
            let path = format!("/allocation_candidates?resources=VCPU:{amount}&limit=10");
            let answer = server.send(admin("GET", &path, "1.39")).await;
            assert_eq!(
                answer.json()["allocation_requests"].as_array().map(Vec::len),
                Some(fits),
                "{}",
                answer.text()
            );
        }
        assert_eq!(server.service.model.statements(), before);
    }
}

#[actix_web::test]
async fn with_several_processes_a_search_sends_only_the_freshness_query() {
    let server = TestServer::shared(|_| ());
    let body = json!({"name": "host", "uuid": UUID});
    write(&server, "POST", "/resource_providers", body).await;
    for _ in 0..3 {
        let before = server.service.model.statements();
        let answer = server
            .send(admin("GET", "/allocation_candidates?resources=VCPU:1", "1.39"))
            .await;
        assert!(answer.status.is_success(), "{}", answer.text());
        assert_eq!(server.service.model.statements() - before, 1);
    }
}

#[actix_web::test]
async fn without_the_database_a_search_is_refused_or_has_an_age() {
    const PATHS: [&str; 2] = ["/allocation_candidates?resources=VCPU:1", "/resource_providers"];
    for stale in [0, 60] {
        let server = TestServer::shared(|settings| settings.stale_reads = Duration::from_secs(stale));
        write(
            &server,
            "POST",
            "/resource_providers",
            json!({"name": "host", "uuid": UUID}),
        )
        .await;
        server.rename_database_file();
        for path in PATHS {
            let answer = server.send(admin("GET", path, "1.39")).await;
            match stale {
                0 => assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1"))),
                _ => {
                    assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
                    assert_eq!(answer.header("age"), answer.header("placet-stale"));
                    let age: u64 = answer.header("age").expect("an age").parse().expect("a number");
                    assert!((1..=60).contains(&age), "{age}");
                }
            }
        }
        let unknown = admin("GET", "/allocation_candidates?resources=CUSTOM_NONE:1", "1.39");
        assert_eq!(
            server.send(unknown).await.status.as_u16(),
            503,
            "the database may have the class, so it is not refused as unknown"
        );
    }
}

/// With the same sample, schedulers that ask at the same time and take the first candidate would choose the same host.
#[actix_web::test]
async fn an_answer_with_a_limit_is_another_sample_each_time() {
    let server = TestServer::new();
    for host in 0..20 {
        let body = json!({"name": format!("host {host}"), "uuid": uuid(host)});
        write(&server, "POST", "/resource_providers", body).await;
        let path = format!("/resource_providers/{}/inventories", uuid(host));
        let inventories = json!({"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}});
        write(&server, "PUT", &path, inventories).await;
    }
    let whole = "/allocation_candidates?resources=VCPU:1";
    let first_of_ten = format!("{whole}&limit=10");
    let mut firsts = BTreeSet::new();
    for _ in 0..40 {
        let answer = server.send(admin("GET", &first_of_ten, "1.39")).await.json();
        assert_eq!(answer["allocation_requests"].as_array().map(Vec::len), Some(10));
        firsts.insert(answer["allocation_requests"][0].to_string());
    }
    // Of 20 hosts, 40 random samples begin with 17 on average.
    assert!(firsts.len() > 8, "{firsts:?}");
    let answers = [
        server.send(admin("GET", whole, "1.39")).await.body,
        server.send(admin("GET", whole, "1.39")).await.body,
    ];
    assert!(answers[0] == answers[1], "a whole answer keeps its order");
}

#[actix_web::test]
async fn large_samples_of_the_same_second_share_their_order() {
    let server = TestServer::new();
    let order = |limit: usize| {
        let query = format!("resources=VCPU:1&limit={limit}");
        let request = crate::wire::allocation_candidates::read_list(Version::MAX, &query).unwrap();
        let search = server.service.settings.search(&request);
        search.order.map(|order| (order.seed, order.sample))
    };
    assert_eq!(order(99), None);
    // At most one of the pairs is of two seconds.
    let pairs = [(); 2].map(|()| (order(1000), order(1000)));
    assert!(
        pairs.iter().any(|(one, other)| one.is_some() && one == other),
        "{pairs:?}"
    );
}
