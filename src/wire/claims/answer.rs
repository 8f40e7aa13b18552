//! Writes the answers of `POST /v1/claims`: the granted consumers, and the reasons of refusals.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{ClaimRefusal, Reasons};
use crate::model::claims::{ClaimedConsumer, PlaceRequest, PlacedCall, RequestedConsumer, Wanted};
use crate::wire::output::{Pairs, amounts, json};
use crate::wire::reasons::{ReasonAnswer, reasons_and_counts};

/// The answer to a call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct ClaimsAnswer<'a> {
    /// The id of the call, if the request has an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// The number of consumers that were placed.
    granted: usize,
    /// The number of consumers that were not placed.
    refused: usize,
    /// Whether nothing was written.
    dry_run: bool,
    /// Whether all candidates were compared by `rank`. `false` if a tree has more than `[placet] max_combinations`, or
    /// was given up.
    exact: bool,
    /// The consumers in the order of the request.
    consumers: Vec<ConsumerAnswer<'a>>,
}

/// The place of a consumer, or the reasons why the consumer has none.
#[derive(Default, Serialize, JsonSchema)]
pub struct ConsumerAnswer<'a> {
    /// The consumer's uuid.
    uuid: &'a str,
    /// Whether the consumer was placed.
    granted: bool,
    /// The position of the granted candidate in the consumer's list, from 0. Absent after a `query`.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<usize>,
    /// The consumer's generation after the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<i64>,
    /// The uuids of the providers that serve each group, by suffix.
    #[serde(skip_serializing_if = "Option::is_none")]
    mappings: Option<Pairs<&'a str, &'a [String]>>,
    /// The consumer's allocations by provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<Pairs<&'a str, PlacedShare<'a>>>,
    /// The classes of which the consumer got more than the normal limit.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    over_normal: &'a [String],
    /// Why the consumer was not placed. At most 15 of each code are listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<ReasonAnswer<'a>>,
    /// How often each code applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Pairs<&'static str, usize>>,
}

/// The consumer's share of a provider.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Share")]
struct PlacedShare<'a> {
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The provider's generation after the call.
    generation: i64,
    /// The amounts by resource class.
    resources: Pairs<&'a str, i64>,
}

/// Writes the answer to `request`.
pub fn write(request: &PlaceRequest, placed: &PlacedCall) -> Vec<u8> {
    let granted = placed.consumers.iter().filter(|consumer| consumer.is_ok()).count();
    let consumers = request.consumers.iter().zip(&placed.consumers);
    json(&ClaimsAnswer {
        id: request.repeatable.as_ref().map(|call| call.id.id.as_str()),
        granted,
        refused: placed.consumers.len() - granted,
        dry_run: request.is_dry_run,
        exact: placed.is_exact,
        consumers: consumers
            .map(|(requested, outcome)| match outcome {
                Ok(claimed) => granted_consumer(requested, claimed),
                Err(reasons) => refused_consumer(&requested.claim.consumer, reasons),
            })
            .collect(),
    })
}

/// The answer in the stored form, for a repetition of the call.
pub fn write_text(request: &PlaceRequest, placed: &PlacedCall) -> String {
    String::from_utf8_lossy(&write(request, placed)).into_owned()
}

/// The consumers of a refused call, for the error answer.
pub fn refused_consumers(refusal: &ClaimRefusal) -> Vec<ConsumerAnswer<'_>> {
    let consumers = refusal.consumers.iter();
    consumers
        .map(|refused| refused_consumer(&refused.consumer, &refused.reasons))
        .collect()
}

fn granted_consumer<'a>(requested: &RequestedConsumer, claimed: &'a ClaimedConsumer) -> ConsumerAnswer<'a> {
    let mappings = claimed.mappings.as_ref().map(|mappings| {
        let members = mappings.iter();
        members
            .map(|(suffix, uuids)| (suffix.as_str(), uuids.as_slice()))
            .collect()
    });
    let shares = claimed.providers.iter().map(|share| {
        let written = PlacedShare {
            name: share.name.as_deref(),
            generation: share.generation,
            resources: amounts(&share.resources),
        };
        (&*share.provider, written)
    });
    ConsumerAnswer {
        uuid: &claimed.consumer,
        granted: true,
        candidate: matches!(requested.wanted, Wanted::Candidates(_)).then_some(claimed.candidate),
        generation: Some(claimed.generation),
        mappings,
        allocations: Some(shares.collect()),
        over_normal: &claimed.over_normal,
        ..ConsumerAnswer::default()
    }
}

fn refused_consumer<'a>(uuid: &'a str, reasons: &'a Reasons) -> ConsumerAnswer<'a> {
    let (reasons, counts) = reasons_and_counts(reasons);
    ConsumerAnswer {
        uuid,
        reasons,
        counts: Some(counts),
        ..ConsumerAnswer::default()
    }
}
