//! Writes the answers of `POST /v1/claims`: the consumers that were granted, and why others were not.

use serde::Serialize;

use crate::error::{ClaimRefusal, Reasons};
use crate::model::claims::{ClaimedConsumer, PlaceRequest, Placed, RequestedConsumer, Wanted};
use crate::wire::output::{Members, Pairs, json};
use crate::wire::reasons::{ReasonAnswer, reasons_and_counts};

/// The answer to a call.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    granted: usize,
    refused: usize,
    dry_run: bool,
    exact: bool,
    consumers: Vec<ConsumerAnswer<'a>>,
}

/// What one consumer got, or why it got nothing.
#[derive(Serialize)]
pub struct ConsumerAnswer<'a> {
    uuid: &'a str,
    granted: bool,
    #[serde(flatten)]
    outcome: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome<'a> {
    Granted {
        /// The position in the consumer's own list; `None` if it has a query.
        #[serde(skip_serializing_if = "Option::is_none")]
        candidate: Option<usize>,
        generation: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        mappings: Option<Members<&'a str, &'a [String]>>,
        allocations: Members<&'a str, Share<'a>>,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        over_normal: &'a [String],
    },
    Refused {
        reasons: Vec<ReasonAnswer<'a>>,
        counts: Members<&'static str, usize>,
    },
}

/// What a consumer got from one provider, with the provider's generation after the call.
#[derive(Serialize)]
struct Share<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    generation: i64,
    resources: Pairs<'a, i64>,
}

/// Writes the answer to `request`.
pub fn write(request: &PlaceRequest, placed: &Placed) -> Vec<u8> {
    let granted = placed.consumers.iter().filter(|consumer| consumer.is_ok()).count();
    let consumers = request.consumers.iter().zip(&placed.consumers);
    json(&Answer {
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

/// The answer as it is stored for a repetition of the call.
pub(super) fn write_text(request: &PlaceRequest, placed: &Placed) -> String {
    String::from_utf8_lossy(&write(request, placed)).into_owned()
}

/// The consumers of a refused call, for its error answer.
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
        let resources = Pairs(&share.resources);
        (
            &*share.provider,
            Share {
                name: share.name.as_deref(),
                generation: share.generation,
                resources,
            },
        )
    });
    ConsumerAnswer {
        uuid: &claimed.consumer,
        granted: true,
        outcome: Outcome::Granted {
            candidate: matches!(requested.wanted, Wanted::Candidates(_)).then_some(claimed.candidate),
            generation: claimed.generation,
            mappings,
            allocations: shares.collect(),
            over_normal: &claimed.over_normal,
        },
    }
}

fn refused_consumer<'a>(uuid: &'a str, reasons: &'a Reasons) -> ConsumerAnswer<'a> {
    let (reasons, counts) = reasons_and_counts(reasons);
    ConsumerAnswer {
        uuid,
        granted: false,
        outcome: Outcome::Refused { reasons, counts },
    }
}
