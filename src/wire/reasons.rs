//! Reasons in their one form, wherever something is refused, missing or violated.

use serde::Serialize;

use super::output::Members;
use crate::error::{Reason, Reasons};

/// A reason in its one form.
#[derive(Serialize)]
pub struct ReasonAnswer<'a> {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_class: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    detail: &'a str,
}

/// The reasons that were kept, and how often each code applies.
pub fn reasons_and_counts(reasons: &Reasons) -> (Vec<ReasonAnswer<'_>>, Members<&'static str, usize>) {
    let counts = reasons.counts().map(|(code, count)| (code.name(), count));
    (
        reasons.kept().iter().map(ReasonAnswer::from).collect(),
        counts.collect(),
    )
}

impl<'a> From<&'a Reason> for ReasonAnswer<'a> {
    fn from(reason: &'a Reason) -> ReasonAnswer<'a> {
        let Reason {
            code,
            candidate,
            rule,
            resource_provider,
            provider_name,
            resource_class,
            requested,
            free,
            domain,
            detail,
        } = reason;
        ReasonAnswer {
            code: code.name(),
            candidate: *candidate,
            rule: *rule,
            resource_provider: resource_provider.as_deref(),
            resource_provider_name: provider_name.as_deref(),
            resource_class: resource_class.as_deref(),
            requested: *requested,
            free: *free,
            domain: domain.as_deref(),
            detail,
        }
    }
}
