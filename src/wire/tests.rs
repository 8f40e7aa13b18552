//! A helper for tests of answers: searches for one class, without a limit, tree by tree.

use std::sync::Arc;

use super::allocation_candidates::CandidatesAnswer;
use crate::search::{Group, Request, SearchSettings, Snapshot, Traits, candidates};
use crate::version::Version;

/// The answer to `resources{suffix}=VCPU:{amount}`.
pub fn answer(version: Version, snapshot: &Arc<Snapshot>, suffix: &str, amount: i64) -> CandidatesAnswer {
    let request = Request {
        groups: vec![Group {
            suffix: suffix.to_owned(),
            resources: vec![("VCPU".to_owned(), amount)],
            ..Group::default()
        }],
        group_policy: None,
        same_subtrees: Vec::new(),
        root_required: Traits::default(),
        host: Default::default(),
        limit: None,
        nested: true,
    };
    let found = candidates(Arc::clone(snapshot), &request, &SearchSettings::uncut(1), ()).expect("the class is known");
    CandidatesAnswer::new(version, Arc::clone(snapshot), &request, found.select())
}
