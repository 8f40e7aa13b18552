//! Reads and writes allocations at several microversions.

use std::sync::Arc;

use super::*;
use crate::error::Error;
use crate::model::allocations::{Consumer, Share};

const A: &str = "0123abcd-4567-89ab-cdef-0123456789ab";
const B: &str = "11111111-4567-89ab-cdef-0123456789ab";

fn put(minor: u16, body: &str) -> ConsumerClaim {
    let claim = read_put(Version::new(minor), A, body.as_bytes()).unwrap();
    assert!(claim.names_consumer);
    claim.consumers.into_iter().next().unwrap()
}

fn vcpus(provider: &str, amount: i64) -> (String, Vec<(String, i64)>) {
    (provider.to_owned(), vec![("VCPU".to_owned(), amount)])
}

#[test]
fn before_1_12_allocations_are_a_list() {
    let entry = |provider, amount| {
        format!(r#"{{"resource_provider": {{"uuid": "{provider}"}}, "resources": {{"VCPU": {amount}}}}}"#)
    };
    let body = format!(
        r#"{{"allocations": [{}, {}, {}]}}"#,
        entry(A, 1),
        entry(B, 2),
        entry(A, 3)
    );
    let claim = put(0, &body);
    assert_eq!(
        claim.allocations,
        [vcpus(A, 3), vcpus(B, 2)],
        "the last entry of a provider holds"
    );
    assert_eq!(
        (claim.owner, claim.generation, claim.consumer_type),
        (None, Expected::Any, None)
    );
    assert!(
        read_put(Version::new(8), A, body.as_bytes()).is_err(),
        "from 1.8 on a claim has an owner"
    );
}

#[test]
fn from_1_12_allocations_are_an_object() {
    let allocations = format!(r#"{{"{A}": {{"resources": {{"VCPU": 99999999999999999999}}, "generation": 4}}}}"#);
    let body = format!(r#"{{"allocations": {allocations}, "project_id": "p", "user_id": "u"}}"#);
    let claim = put(12, &body);
    assert_eq!(claim.allocations, [vcpus(A, i64::MAX)]);
    assert_eq!(
        claim.owner,
        Some(Owner {
            project: "p".to_owned(),
            user: "u".to_owned()
        })
    );
    assert_eq!(claim.generation, Expected::Any);
}

#[test]
fn generations_and_types_of_consumers_are_read() {
    let body = |rest: &str| format!(r#"{{"allocations": {{}}, "project_id": "p", "user_id": "u", {rest}}}"#);
    let claim = put(28, &body(r#""consumer_generation": null"#));
    assert_eq!((claim.generation, claim.allocations.len()), (Expected::New, 0));
    assert_eq!(
        put(28, &body(r#""consumer_generation": 3"#)).generation,
        Expected::Is(3)
    );
    assert_eq!(
        put(28, &body(r#""consumer_generation": 1e99"#)).generation,
        Expected::Raw(Given {
            generation: i64::MAX,
            literal: "1e+99".to_owned()
        })
    );
    let typed = format!(r#""consumer_generation": 3, "mappings": {{"": ["{A}"]}}, "consumer_type": "INSTANCE""#);
    assert_eq!(put(38, &body(&typed)).consumer_type.as_deref(), Some("INSTANCE"));
    assert!(read_put(Version::new(37), A, body(&typed).as_bytes()).is_err());
}

#[test]
fn put_normalises_the_uuid_of_the_consumer() {
    let body =
        format!(r#"{{"allocations": [{{"resource_provider": {{"uuid": "{B}"}}, "resources": {{"VCPU": 1}}}}]}}"#);
    let claim = read_put(Version::MIN, &A.replace('-', "").to_uppercase(), body.as_bytes()).unwrap();
    assert_eq!(claim.consumers[0].consumer, A);
    let refusal = read_put(Version::MIN, "junk", b"junk").unwrap_err();
    assert_eq!(
        refusal,
        Error::BadRequest {
            detail: "Malformed consumer_uuid: junk".to_owned()
        }
    );
}

#[test]
fn post_keeps_the_spelling_of_consumers() {
    let one = r#"{"allocations": {}, "project_id": "p", "user_id": "u"}"#;
    let upper = B.to_uppercase();
    let claim = read_post(
        Version::new(13),
        format!(r#"{{"{upper}": {one}, "{A}": {one}}}"#).as_bytes(),
    )
    .unwrap();
    assert!(!claim.names_consumer);
    assert_eq!(
        claim
            .consumers
            .iter()
            .map(|claim| claim.consumer.as_str())
            .collect::<Vec<_>>(),
        [upper.as_str(), A]
    );
}

#[test]
fn writes_the_allocations_of_a_consumer() {
    let view = ConsumerAllocations {
        providers: vec![Share {
            uuid: Arc::from("r"),
            generation: 0,
            resources: vec![(Arc::from("VCPU"), 2)],
        }],
        consumer: Some(Consumer {
            project: "p".to_owned(),
            user: "u".to_owned(),
            generation: 0,
            consumer_type: "INSTANCE".to_owned(),
        }),
        modified: None,
    };
    let written = |minor| String::from_utf8(write_consumer(Version::new(minor), &view)).unwrap();
    let mut expected = r#"{"allocations":{"r":{"resources":{"VCPU":2},"generation":0}}"#.to_owned();
    assert_eq!(written(11), format!("{expected}}}"));
    expected += r#","project_id":"p","user_id":"u""#;
    assert_eq!(written(12), format!("{expected}}}"));
    expected += r#","consumer_generation":0"#;
    assert_eq!(written(28), format!("{expected}}}"));
    expected += r#","consumer_type":"INSTANCE""#;
    assert_eq!(written(38), format!("{expected}}}"));
    let unknown = write_consumer(Version::MAX, &ConsumerAllocations::default());
    assert_eq!(String::from_utf8(unknown).unwrap(), r#"{"allocations":{}}"#);
}

#[test]
fn writes_the_allocations_of_a_provider() {
    let share = Share {
        uuid: Arc::from("c"),
        generation: 1,
        resources: vec![(Arc::from("VCPU"), 2)],
    };
    let view = ProviderAllocations {
        generation: 0,
        consumers: vec![share],
        modified: None,
    };
    let written = |minor| String::from_utf8(write_provider(Version::new(minor), &view)).unwrap();
    assert_eq!(
        written(27),
        r#"{"allocations":{"c":{"resources":{"VCPU":2}}},"resource_provider_generation":0}"#
    );
    assert_eq!(
        written(28),
        r#"{"allocations":{"c":{"resources":{"VCPU":2},"consumer_generation":1}},"resource_provider_generation":0}"#
    );
}

/// A Python pattern accepts a final line feed, but the column has only 36 characters.
#[test]
fn a_consumer_that_ends_with_a_line_feed_is_refused() {
    let claim = r#"{"allocations": {}, "project_id": "p", "user_id": "u"}"#;
    let post = |consumer: &str| {
        let body = format!(r#"{{"{A}": {claim}, "{consumer}": {claim}}}"#);
        read_post(Version::new(13), body.as_bytes())
    };
    assert!(post(&A.replace('0', "f")).is_ok());
    let detail = format!(r"The uuid of a consumer has at most 36 characters. Got: '{A}\n'");
    assert_eq!(post(&format!(r"{A}\n")).unwrap_err(), Error::BadRequest { detail });
}
