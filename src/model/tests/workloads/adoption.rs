//! Which ids replicas get beside adopted consumers.

use super::*;

/// The consumer of a new replica with this id.
fn consumer_of(id: &str) -> String {
    let workload = uuid::Uuid::parse_str(&uuid(WORKLOAD)).unwrap();
    uuid::Uuid::new_v5(&workload, id.as_bytes()).to_string()
}

/// A plain claim gives a consumer 1 VCPU of a host.
async fn claim_for(model: &Model, consumer: &str, host: u32) {
    let mut claim = super::super::claim(1, host, "VCPU", 1, Expected::New);
    claim.consumers[0].consumer = consumer.to_owned();
    model.submit(claim).await.unwrap();
}

fn adopt(consumer: &str, id: Option<&str>) -> Adopted {
    Adopted {
        consumer: consumer.to_owned(),
        id: id.map(str::to_owned),
        role: None,
    }
}

fn free(count: u32) -> Spec {
    spec(count, Some(Vec::new()))
}

/// Ids with their consumers.
fn consumers(report: &Report) -> Vec<(&str, &str)> {
    let rows = report.replicas.iter().map(|it| &it.replica.row);
    rows.map(|row| (row.id.as_str(), row.consumer.as_str())).collect()
}

#[actix_web::test]
async fn a_new_replica_is_not_the_consumer_that_was_adopted_with_another_id() {
    let mut f = cluster(&SITES).await;
    let (zero, two) = (consumer_of("0"), consumer_of("2"));
    claim_for(&f.model, &zero, 1).await;
    let mut asked = put(WORKLOAD, None, free(1));
    asked.adopted = vec![adopt(&zero, Some("1"))];
    place(&f.model, asked).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), free(2))).await.unwrap();
    assert_eq!(consumers(&report), [("1", zero.as_str()), ("2", two.as_str())]);
    let mut named = put(WORKLOAD, Some(2), free(2));
    named.ids = Some(vec!["0".to_owned(), "1".to_owned()]);
    let refused = place(&f.model, named).await.unwrap_err();
    let Error::BadRequest { detail } = &refused else {
        panic!("{refused:?}");
    };
    let expected = format!("ids: replica 0 would be consumer {zero}, which is replica 1 of the workload.");
    assert_eq!(*detail, expected);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn consumers_that_are_adopted_again_get_the_ids_that_they_had() {
    let mut f = cluster(&SITES).await;
    let before = place(&f.model, put(WORKLOAD, None, free(4))).await.unwrap();
    for table in ["placet_replicas", "placet_workloads"] {
        f.execute(&format!("DELETE FROM {table}"));
    }
    claim_for(&f.model, &uuid(7), 1).await;
    claim_for(&f.model, &uuid(8), 1).await;
    let mut again = put(WORKLOAD, None, free(6));
    // The first foreign consumer takes no id of the consumers after it. The second foreign consumer takes the named id.
    again.adopted.push(adopt(&uuid(7), None));
    let found = ["3", "1", "0", "2"];
    again.adopted.extend(found.map(|id| adopt(&consumer_of(id), None)));
    again.adopted.push(adopt(&uuid(8), Some("4")));
    let report = place(&f.model, again).await.unwrap();
    let mut expected = consumers(&before);
    let [seven, eight] = [7, 8].map(uuid);
    expected.extend([("4", eight.as_str()), ("5", seven.as_str())]);
    assert_eq!(consumers(&report), expected);
}

#[actix_web::test]
async fn consumers_that_exist_are_named_in_the_order_of_their_ids() {
    let f = cluster(&SITES).await;
    let consumers = ["0", "1", "2", "3", "4"].map(consumer_of);
    for consumer in &consumers {
        claim_for(&f.model, consumer, 1).await;
    }
    let refused = place(&f.model, put(WORKLOAD, None, free(5))).await;
    let Err(Error::ClaimRefused(refusal)) = refused else {
        panic!("{refused:?}");
    };
    let named: Vec<&str> = refusal.consumers.iter().map(|it| it.consumer.as_str()).collect();
    assert_eq!(named, consumers);
}

#[actix_web::test]
async fn a_consumer_is_adopted_in_place_of_a_replica_that_ids_leaves_out() {
    let mut f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, free(2))).await.unwrap();
    claim_for(&f.model, &uuid(7), 6).await;
    let mut instead = put(WORKLOAD, Some(1), free(2));
    instead.ids = Some(vec!["0".to_owned(), "x".to_owned()]);
    instead.adopted = vec![adopt(&uuid(7), None)];
    let report = place(&f.model, instead).await.unwrap();
    let (zero, foreign) = (consumer_of("0"), uuid(7));
    assert_eq!(consumers(&report), [("0", zero.as_str()), ("x", foreign.as_str())]);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 2);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn an_adopted_consumer_may_get_the_id_of_a_replica_whose_role_is_gone() {
    let mut f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, free(1))).await.unwrap();
    claim_for(&f.model, &uuid(7), 6).await;
    let mut renamed = put(WORKLOAD, Some(1), free(1));
    renamed.spec.roles[0].name = "other".to_owned();
    renamed.adopted = vec![adopt(&uuid(7), Some("0"))];
    let report = place(&f.model, renamed).await.unwrap();
    assert_eq!(consumers(&report), [("0", uuid(7).as_str())]);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 1);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn an_adopted_consumer_that_leaves_is_no_new_replica() {
    let mut f = cluster(&SITES).await;
    let (zero, one) = (consumer_of("0"), consumer_of("1"));
    claim_for(&f.model, &zero, 1).await;
    let mut asked = put(WORKLOAD, None, free(1));
    asked.adopted = vec![adopt(&zero, None)];
    let report = place(&f.model, asked).await.unwrap();
    assert_eq!(consumers(&report), [("0", zero.as_str())]);
    let mut renamed = free(1);
    renamed.roles[0].name = "other".to_owned();
    let report = place(&f.model, put(WORKLOAD, Some(1), renamed.clone())).await.unwrap();
    assert_eq!(consumers(&report), [("1", one.as_str())]);
    renamed.roles[0].name = "third".to_owned();
    let mut named = put(WORKLOAD, Some(2), renamed);
    named.adopted = vec![adopt(&zero, None)];
    let report = place(&f.model, named).await.unwrap();
    assert_eq!(consumers(&report), [("0", zero.as_str())]);
    let mut other = free(1);
    other.roles[0].name = "fourth".to_owned();
    let mut given = put(WORKLOAD, Some(3), other);
    given.ids = Some(vec!["0".to_owned()]);
    let refused = place(&f.model, given).await.unwrap_err();
    assert!(
        matches!(&refused, Error::BadRequest { detail } if detail.starts_with("ids: ")),
        "{refused:?}"
    );
    f.check_snapshot().await;
}
