//! Helpers for tests: an answer to a search for one class, and the comparison of a patch with the description.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::json;

use super::allocation_candidates::CandidatesAnswer;
use super::native::{Patch, Patched, read_merge_patch};
use crate::search::{Group, Request, SearchSettings, Snapshot, candidates};
use crate::version::Version;

/// Compares the members of which null is described with the members of which null is read. `shown` has all members.
pub fn compare_nulls<T: Patched + DeserializeOwned>(shown: &[u8]) {
    let schema = schemars::schema_for!(Patch<T>).to_value();
    for (name, member) in schema["properties"].as_object().expect("members") {
        let lists = |keyword: &str, form| member[keyword].as_array().is_some_and(|forms| forms.contains(&form));
        let is_any = member.get("type").or(member.get("anyOf")).is_none();
        let is_described = is_any || lists("type", json!("null")) || lists("anyOf", json!({"type": "null"}));
        let mut patch = json!({"generation": 1});
        patch[name] = serde_json::Value::Null;
        let refusal = read_merge_patch::<T>(shown, patch.to_string().as_bytes()).err();
        assert_eq!(refusal.is_none(), is_described, "{name}: {member} {refusal:?}");
    }
}

/// The answer to `resources{suffix}=VCPU:{amount}`, without a limit, tree by tree.
pub fn answer(version: Version, snapshot: &Arc<Snapshot>, suffix: &str, amount: i64) -> CandidatesAnswer {
    let request = Request::of_groups(vec![Group {
        suffix: suffix.to_owned(),
        resources: vec![("VCPU".to_owned(), amount)],
        ..Group::default()
    }]);
    let found = candidates(Arc::clone(snapshot), &request, &SearchSettings::uncut(1)).expect("the class is known");
    CandidatesAnswer::new(version, Arc::clone(snapshot), &request, found.select())
}
