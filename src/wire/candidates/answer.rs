//! The answer of `GET /v1/candidates`, for the description. `allocation_candidates/answer.rs` writes the bytes while
//! the search is running.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// The candidates, and the summaries of providers.
#[derive(Serialize, JsonSchema)]
pub struct CandidateList {
    /// The candidates. The `allocations` of a candidate can be sent as a claim.
    allocation_requests: Vec<CandidateAnswer>,
    /// Whether all candidates were compared by `rank`. `false` if a tree has more than `[placet] max_combinations`, or
    /// was given up. Only with a `rank`.
    #[schemars(with = "bool")]
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    /// The providers of the candidates and of their trees, by uuid.
    #[schemars(with = "BTreeMap<String, SummaryAnswer>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_summaries: Option<BTreeMap<String, SummaryAnswer>>,
}

/// A candidate.
#[derive(Serialize, JsonSchema)]
struct CandidateAnswer {
    /// The amounts by provider.
    #[schemars(extend("minProperties" = 1))]
    allocations: BTreeMap<String, CandidateShare>,
    /// The uuids of the providers that serve each group, by suffix.
    mappings: BTreeMap<String, Vec<String>>,
    /// The score of the candidate by `rank`. The highest is best with `fullest`, otherwise the lowest. Ignored in
    /// a claim.
    #[schemars(with = "f64")]
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// The numbers of the score, by provider and resource class. Ignored in a claim.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, LoadAnswer>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    loads: Option<BTreeMap<String, BTreeMap<String, LoadAnswer>>>,
}

/// The part of a candidate that a provider serves.
#[derive(Serialize, JsonSchema)]
struct CandidateShare {
    /// The amounts by resource class.
    resources: BTreeMap<String, i64>,
}

/// A resource class of a provider after the claim.
#[derive(Serialize, JsonSchema)]
struct LoadAnswer {
    /// The allocated amount with the candidate.
    used: i64,
    /// The amount that may be allocated in total, or the normal limit.
    capacity: i64,
}

/// A provider of a candidate, or of the tree.
#[derive(Serialize, JsonSchema)]
struct SummaryAnswer {
    /// The resource classes of the provider.
    resources: BTreeMap<String, UsageAnswer>,
    /// The names of the provider's traits.
    traits: Vec<String>,
    /// The uuid of the parent in the tree; `null` for a root.
    parent_provider_uuid: Option<String>,
    /// The uuid of the root of the tree.
    root_provider_uuid: String,
    /// The name of the provider.
    name: String,
}

/// A resource class of a provider.
#[derive(Serialize, JsonSchema)]
struct UsageAnswer {
    /// The amount that may be allocated in total: `(total - reserved) * allocation_ratio`, rounded down.
    capacity: i64,
    /// The allocated amount.
    used: i64,
}
