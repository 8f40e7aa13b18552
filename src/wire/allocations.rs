//! Parses the requests to `/allocations`, and serializes the answers of `/allocations` and
//! `/resource_providers/{uuid}/allocations`.

use indexmap::IndexMap;
use serde::Serialize;

use super::output::{Pairs, amounts, json, since};
use super::steps::Steps;
use super::value::Json;
use super::{bad_request, python, uuid};
use crate::error::Result;
use crate::model::allocations::{
    Claim, ConsumerAllocations, ConsumerClaim, Expected, Given, Owner, ProviderAllocations, Takeover,
};
use crate::version::{ALLOCATIONS_DICT, CONSUMER_GENERATION, CONSUMER_TYPES, Version};

const SCHEMAS: &str = include_str!("schemas/allocations.json");
static PUT: Steps = Steps::of_body(SCHEMAS, "put");
static POST: Steps = Steps::of_body(SCHEMAS, "post");

/// The amounts by class, for each provider.
pub type AmountsByProvider = Vec<(String, Vec<(String, i64)>)>;

/// Reads `PUT /allocations/{consumer}`.
pub fn read_put(version: Version, consumer: &str, body: &[u8]) -> Result<Claim> {
    let Some(consumer) = uuid::canonical(consumer) else {
        return bad_request(format!("Malformed consumer_uuid: {consumer}"));
    };
    let body = PUT.read(version, body)?;
    let read = if version >= ALLOCATIONS_DICT {
        by_provider
    } else {
        from_list
    };
    let allocations = read(body.field("allocations"));
    Ok(Claim {
        consumers: vec![claim(version, consumer, &body, allocations)],
        names_consumer: true,
    })
}

/// Reads `POST /allocations`, whose allocations are objects in all versions. The spelling of consumers is kept.
pub fn read_post(version: Version, body: &[u8]) -> Result<Claim> {
    let body = POST.read(version, body)?;
    Ok(Claim {
        consumers: consumer_claims(version, body)?,
        names_consumer: false,
    })
}

/// The requested allocations of each consumer. A consumer's value is freed after the reading.
pub fn consumer_claims(version: Version, consumers: Json) -> Result<Vec<ConsumerClaim>> {
    let consumers = consumers.into_members();
    // A `Result` collected from an iterator has no size from the start: the growing list would double, and be copied.
    let mut claims = Vec::with_capacity(consumers.len());
    for (consumer, value) in consumers {
        // As a Python pattern, the schema accepts an extra character: a final line feed.
        uuid::check_length("a consumer", &consumer)?;
        let allocations = by_provider(value.field("allocations"));
        claims.push(claim(version, consumer, &value, allocations));
    }
    Ok(claims)
}

fn claim(version: Version, consumer: String, body: &Json, allocations: AmountsByProvider) -> ConsumerClaim {
    let text = |name| Some(body.field(name).text().to_owned()).filter(|text| !text.is_empty());
    let generation = match body.field("consumer_generation") {
        _ if version < CONSUMER_GENERATION => Expected::Any,
        Json::Null => Expected::New,
        Json::Int(generation) => Expected::Is(*generation),
        other => Expected::Raw(given_generation(other)),
    };
    let owner = text("project_id").zip(text("user_id"));
    ConsumerClaim {
        takeover: Takeover::AnyProject,
        consumer,
        allocations,
        owner: owner.map(|(project, user)| Owner { project, user }),
        generation,
        consumer_type: text("consumer_type"),
    }
}

/// A generation in the spelling of the client: for example `1.0`, or a number larger than any generation.
pub fn given_generation(generation: &Json) -> Given {
    Given {
        generation: generation.integer(),
        literal: python::repr(generation),
    }
}

/// Reads the form from 1.12 on. A provider's generation in this form is ignored, as in OpenStack Placement.
pub fn by_provider(allocations: &Json) -> AmountsByProvider {
    allocations
        .members()
        .map(|(provider, share)| (provider.to_owned(), resources(share)))
        .collect()
}

/// Reads the form before 1.12. If a provider occurs twice, the last entry counts.
fn from_list(allocations: &Json) -> AmountsByProvider {
    let shares = allocations.items().iter().map(|share| {
        let provider = share.field("resource_provider").field("uuid").text();
        (provider.to_owned(), resources(share))
    });
    shares.collect::<IndexMap<_, _>>().into_iter().collect()
}

fn resources(share: &Json) -> Vec<(String, i64)> {
    share
        .field("resources")
        .members()
        .map(|(class, amount)| (class.to_owned(), amount.integer()))
        .collect()
}

#[derive(Serialize)]
struct AllocationsOfConsumer<'a> {
    allocations: Pairs<&'a str, AllocationEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_type: Option<&'a str>,
}

#[derive(Serialize)]
struct AllocationsOfProvider<'a> {
    allocations: Pairs<&'a str, AllocationEntry<'a>>,
    resource_provider_generation: i64,
}

/// The allocations between a provider and a consumer, with the generation of the provider or of the consumer.
#[derive(Serialize)]
struct AllocationEntry<'a> {
    resources: Pairs<&'a str, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_generation: Option<i64>,
}

/// Writes the allocations of a consumer. A consumer without allocations has no owner either.
pub fn write_consumer(version: Version, view: &ConsumerAllocations) -> Vec<u8> {
    let shares = view.providers.iter().map(|share| {
        let written = AllocationEntry {
            resources: amounts(&share.resources),
            generation: Some(share.generation),
            consumer_generation: None,
        };
        (&*share.uuid, written)
    });
    let consumer_since = |first: Version| view.consumer.as_ref().filter(|_| version >= first);
    json(&AllocationsOfConsumer {
        allocations: shares.collect(),
        project_id: consumer_since(ALLOCATIONS_DICT).map(|consumer| consumer.project.as_str()),
        user_id: consumer_since(ALLOCATIONS_DICT).map(|consumer| consumer.user.as_str()),
        consumer_generation: consumer_since(CONSUMER_GENERATION).map(|consumer| consumer.generation),
        consumer_type: consumer_since(CONSUMER_TYPES).map(|consumer| consumer.consumer_type.as_str()),
    })
}

/// Writes the allocations of a provider.
pub fn write_provider(version: Version, view: &ProviderAllocations) -> Vec<u8> {
    let shares = view.consumers.iter().map(|share| {
        let written = AllocationEntry {
            resources: amounts(&share.resources),
            generation: None,
            consumer_generation: since(version, CONSUMER_GENERATION, share.generation),
        };
        (&*share.uuid, written)
    });
    json(&AllocationsOfProvider {
        allocations: shares.collect(),
        resource_provider_generation: view.generation,
    })
}

#[cfg(test)]
mod tests;
