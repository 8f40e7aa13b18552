//! Writes answers with allocation candidates, whole and in chunks, at several microversions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::search::{Catalog, ClassId, Inventory, ProviderId, ProviderRow, TraitId};
use crate::wire::tests;

fn row(id: i32, parent: Option<i32>) -> ProviderRow {
    let inventory = Inventory {
        min_unit: if parent.is_none() { 2 } else { 1 },
        allocation_ratio: 1.5,
        ..Inventory::whole(3)
    };
    ProviderRow {
        parent: parent.map(ProviderId),
        root: ProviderId(1),
        inventories: BTreeMap::from([(ClassId(0), inventory), (ClassId(1), inventory)]),
        used: BTreeMap::from([(ClassId(0), 2)]),
        traits: [TraitId(1)].into(),
        ..ProviderRow::bare(ProviderId(id), format!("u{id}"), format!("n{id}"))
    }
}

/// The answer about a root and its child. Both can provide two VCPU; only the child can provide a single VCPU.
fn answer(minor: u16, amount: i64) -> CandidatesAnswer {
    answer_to(minor, "", amount)
}

fn answer_to(minor: u16, suffix: &str, amount: i64) -> CandidatesAnswer {
    let classes = vec![(ClassId(0), Arc::from("VCPU")), (ClassId(1), Arc::from("DISK_GB"))];
    let catalog = Catalog::new(classes, vec![(TraitId(1), Arc::from("T"))], Vec::new());
    let snapshot = Arc::new(Snapshot::build(catalog, vec![row(1, None), row(2, Some(1))]));
    tests::answer(Version::new(minor), &snapshot, suffix, amount)
}

/// The answer for a VCPU, which only the child can provide.
fn written(minor: u16) -> String {
    let mut out = Vec::new();
    assert_eq!(answer(minor, 1).write(&mut out, usize::MAX), Ok(false));
    String::from_utf8(out).unwrap()
}

/// The answer has two candidates, and each chunk at most one.
#[test]
fn the_chunks_make_up_the_whole_answer() {
    let mut whole = Vec::new();
    assert_eq!(answer(39, 2).write(&mut whole, usize::MAX), Ok(false));
    let asked = serde_json::from_slice::<serde_json::Value>(&whole).unwrap()["allocation_requests"].clone();
    assert_eq!(asked.as_array().map(Vec::len), Some(2));
    for length in 1..=whole.len() + 1 {
        let (mut answer, mut chunks) = (answer(39, 2), Vec::new());
        loop {
            let mut chunk = Vec::new();
            let more = answer.write(&mut chunk, length).unwrap();
            assert!(!chunk.is_empty() && (!more || chunk.len() >= length), "{length}");
            chunks.extend(chunk);
            if !more {
                break;
            }
        }
        assert_eq!(chunks, whole, "{length}");
    }
}

/// A request is written by replacing the provider in the request before. A suffix may look like a provider's uuid.
#[test]
fn a_suffix_that_equals_a_provider_uuid_is_not_replaced() {
    for suffix in ["u1", "u2", ""] {
        let mut written = Vec::new();
        answer_to(39, suffix, 2).write(&mut written, usize::MAX).unwrap();
        let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
        let mut uuids: Vec<_> = written["allocation_requests"].as_array().unwrap().iter().collect();
        uuids.sort_by_key(|request| request["mappings"].to_string());
        for (request, uuid) in uuids.into_iter().zip(["u1", "u2"]) {
            assert_eq!(request["mappings"], serde_json::json!({suffix: [uuid]}));
            assert_eq!(
                request["allocations"],
                serde_json::json!({uuid: {"resources": {"VCPU": 2}}})
            );
        }
    }
}

/// The length is needed for `Content-Length`, before the first byte is sent.
#[test]
fn the_remaining_length_is_known_after_the_search() {
    for minor in [10, 17, 27, 39] {
        let (mut answer, mut written) = (answer(minor, 1).measured(), Vec::new());
        assert_eq!((answer.is_search_done(), answer.remaining_bytes()), (false, None));
        while !answer.is_search_done() {
            assert_eq!(answer.write(&mut written, 1), Ok(true));
            let length = written.len() + 1;
            answer.write(&mut written, length).unwrap();
        }
        loop {
            let remaining = answer.remaining_bytes().unwrap();
            let before = written.len();
            let mut rest = Vec::new();
            let more = answer.write(&mut rest, 1).unwrap();
            written.extend(&rest);
            assert_eq!(
                answer.remaining_bytes(),
                Some(remaining - (written.len() - before)),
                "1.{minor}"
            );
            if !more {
                assert_eq!(answer.remaining_bytes(), Some(0));
                break;
            }
        }
    }
}

const LIST: &str =
    r#"{"allocation_requests":[{"allocations":[{"resource_provider":{"uuid":"u2"},"resources":{"VCPU":1}}]}],"#;
const DICT: &str = r#"{"allocation_requests":[{"allocations":{"u2":{"resources":{"VCPU":1}}}}],"#;
const MAPPED: &str =
    r#"{"allocation_requests":[{"allocations":{"u2":{"resources":{"VCPU":1}}},"mappings":{"":["u2"]}}],"#;

#[test]
fn requests_have_the_form_of_each_version() {
    for (minor, expected) in [(10, LIST), (11, LIST), (12, DICT), (33, DICT), (34, MAPPED)] {
        assert!(written(minor).starts_with(expected), "1.{minor}: {}", written(minor));
    }
}

#[test]
fn summaries_have_the_fields_of_each_version() {
    let vcpu = r#""VCPU":{"capacity":4,"used":2}"#;
    let all = format!(r#"{{{vcpu},"DISK_GB":{{"capacity":4,"used":0}}}}"#);
    let summaries = |of_root: String, of_child: String| {
        format!(r#""provider_summaries":{{"u1":{{{of_root}}},"u2":{{{of_child}}}}}}}"#)
    };
    let same = |summary: String| summaries(summary.clone(), summary);
    for (minor, expected) in [
        (10, same(format!(r#""resources":{{{vcpu}}}"#))),
        (16, same(format!(r#""resources":{{{vcpu}}}"#))),
        (17, same(format!(r#""resources":{{{vcpu}}},"traits":["T"]"#))),
        (27, same(format!(r#""resources":{all},"traits":["T"]"#))),
        (
            29,
            summaries(
                format!(r#""resources":{all},"traits":["T"],"parent_provider_uuid":null,"root_provider_uuid":"u1""#),
                format!(r#""resources":{all},"traits":["T"],"parent_provider_uuid":"u1","root_provider_uuid":"u1""#),
            ),
        ),
    ] {
        assert!(written(minor).ends_with(&expected), "1.{minor}: {}", written(minor));
    }
}
