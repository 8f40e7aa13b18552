use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::search::{Catalog, ClassId, Group, Inventory, Placement, ProviderId, ProviderRow, TraitId, Traits};

fn row(id: i32, parent: Option<i32>) -> ProviderRow {
    let inventory = Inventory {
        total: 3,
        reserved: 0,
        min_unit: 1,
        max_unit: 3,
        step_size: 1,
        allocation_ratio: 1.5,
    };
    ProviderRow {
        id: ProviderId(id),
        uuid: Arc::from(format!("u{id}")),
        name: Arc::from(format!("n{id}")),
        generation: 0,
        parent: parent.map(ProviderId),
        root: ProviderId(1),
        modified: 0,
        inventories: BTreeMap::from([(ClassId(0), inventory), (ClassId(1), inventory)]),
        used: BTreeMap::from([(ClassId(0), 2)]),
        traits: [TraitId(1)].into(),
        aggregates: [].into(),
    }
}

/// A root and its child; one VCPU of the child was found.
fn written(minor: u16) -> String {
    let classes = vec![(ClassId(0), Arc::from("VCPU")), (ClassId(1), Arc::from("DISK_GB"))];
    let catalog = Catalog::new(classes, vec![(TraitId(1), Arc::from("T"))], Vec::new());
    let snapshot = Snapshot::build(catalog, vec![row(1, None), row(2, Some(1))]);
    let slot = |uuid| snapshot.by_uuid(uuid).unwrap();
    let request = Request {
        groups: vec![Group {
            resources: vec![("VCPU".to_owned(), 1)],
            ..Group::default()
        }],
        group_policy: None,
        same_subtrees: Vec::new(),
        root_required: Traits::default(),
        limit: None,
        nested: true,
    };
    let candidate = Candidate {
        placements: vec![Placement {
            slot: slot("u2"),
            class: ClassId(0),
            amount: 1,
        }],
        mappings: vec![(Arc::from(""), vec![slot("u2")])],
    };
    let found = Found {
        candidates: vec![candidate],
        summaries: vec![slot("u1"), slot("u2")],
        cut: false,
    };
    String::from_utf8(write(Version::new(minor), &snapshot, &request, &found)).unwrap()
}

const LIST: &str =
    r#"{"allocation_requests":[{"allocations":[{"resource_provider":{"uuid":"u2"},"resources":{"VCPU":1}}]}],"#;
const DICT: &str = r#"{"allocation_requests":[{"allocations":{"u2":{"resources":{"VCPU":1}}}}],"#;
const MAPPED: &str =
    r#"{"allocation_requests":[{"allocations":{"u2":{"resources":{"VCPU":1}}},"mappings":{"":["u2"]}}],"#;

#[test]
fn requests_by_version() {
    for (minor, expected) in [(10, LIST), (11, LIST), (12, DICT), (33, DICT), (34, MAPPED)] {
        assert!(written(minor).starts_with(expected), "1.{minor}: {}", written(minor));
    }
}

#[test]
fn summaries_by_version() {
    let vcpu = r#""VCPU":{"capacity":4,"used":2}"#;
    let all = format!(r#"{{"DISK_GB":{{"capacity":4,"used":0}},{vcpu}}}"#);
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
