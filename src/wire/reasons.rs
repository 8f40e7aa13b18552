//! Reasons of refusals, of missing places and of violations, all in a common form.

use schemars::JsonSchema;
use serde::Serialize;

use super::output::Pairs;
use crate::error::{Reason, Reasons};

/// The answer's form of a reason.
#[derive(Serialize, JsonSchema)]
pub struct ReasonAnswer<'a> {
    /// The code of the reason.
    #[schemars(regex(pattern = r"^(placet|placement)\."))]
    code: &'static str,
    /// The position of the candidate in the consumer's list, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<usize>,
    /// The position of the rule in the workload's `rules`, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    /// The uuid of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider: Option<&'a str>,
    /// The name of `resource_provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_name: Option<&'a str>,
    /// The resource class.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_class: Option<&'a str>,
    /// The amount that was requested. Of a rule: the wanted replicas, or the replicas that a domain has.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<i64>,
    /// The amount that the consumer could get. The consumer's own allocations count as free. Of several providers the
    /// greatest amount that a provider has, or a host if several groups request the class. Of a rule: the replicas that
    /// the rule admits.
    #[serde(skip_serializing_if = "Option::is_none")]
    free: Option<i64>,
    /// The domain, as `dimension:path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    /// The reason as a sentence.
    detail: &'a str,
}

/// The listed reasons, and how often each code applies.
pub fn reasons_and_counts(reasons: &Reasons) -> (Vec<ReasonAnswer<'_>>, Pairs<&'static str, usize>) {
    let counts = reasons.counts().map(|(code, count)| (code.name(), count));
    (
        reasons.kept().iter().map(ReasonAnswer::from).collect(),
        counts.collect(),
    )
}

impl<'a> From<&'a Reason> for ReasonAnswer<'a> {
    fn from(reason: &'a Reason) -> ReasonAnswer<'a> {
        ReasonAnswer {
            code: reason.code.name(),
            candidate: reason.candidate,
            rule: reason.rule,
            resource_provider: reason.resource_provider.as_deref(),
            resource_provider_name: reason.provider_name.as_deref(),
            resource_class: reason.resource_class.as_deref(),
            requested: reason.requested,
            free: reason.free,
            domain: reason.domain.as_deref(),
            detail: &reason.detail,
        }
    }
}
