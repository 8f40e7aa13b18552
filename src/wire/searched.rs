//! What tests of answers search for: one class, without a limit, one tree after the other.

use std::sync::Arc;

use super::allocation_candidates::Answer;
use crate::search::{Group, Request, Settings, Snapshot, Traits, candidates};
use crate::version::Version;

/// The answer to `resources{suffix}=VCPU:{amount}`.
pub fn answer(version: Version, snapshot: &Arc<Snapshot>, suffix: &str, amount: i64) -> Answer {
    let request = Request {
        groups: vec![Group {
            suffix: suffix.to_owned(),
            resources: vec![("VCPU".to_owned(), amount)],
            ..Group::default()
        }],
        group_policy: None,
        same_subtrees: Vec::new(),
        root_required: Traits::default(),
        limit: None,
        nested: true,
    };
    let found = candidates(Arc::clone(snapshot), &request, &Settings::uncut(1), ()).expect("names that are known");
    Answer::new(version, Arc::clone(snapshot), &request, found.select())
}
