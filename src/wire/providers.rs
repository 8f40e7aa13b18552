//! `/v1/providers`: what providers are.

mod answer;
mod body;
mod listing;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;

pub use self::answer::{PropertiesAnswer, properties_answer};
use self::answer::{ProviderAnswer, ProviderList, answer};
use self::body::{DescribeAllBody, DescribeBody, StateBody, describe};
pub use self::body::{MAX_TEXT, PropertiesBody, check_dimension, check_levels, describe_reported, properties};
use self::listing::{ListParameters, ProviderItem};
pub use self::listing::{read_list, write_list, write_parts};
use super::bad_request;
use super::native::{
    InDomain, NoParameters, Noun, NounOperation, Null, Patch, Patched, ShownMember, Uuid, read_body, read_merge_patch,
    read_query,
};
use super::output::json;
use super::uuid;
use crate::error::Result;
use crate::model::providers::{DescribeAll, Described, DomainState};
use crate::search::Description;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "providers",
    about: "What a provider is: its type, typed properties, domains and state, with a generation of their own.",
    fields: &[("uuid", "The provider's uuid.")],
    operations: &[
        NounOperation::new::<ListParameters>(
            "GET /v1/providers",
            "List what providers are",
            "Providers by uuid, at most `limit` (1000 by default) after the uuid `after`. A page ends earlier with the \
            provider that brings the page to 4 MiB. `next` is the `after` of the next page, or null; the header `Link` \
            has the address. The filters are those of `GET /resource_providers`, domains and the state. Without \
            `fields`, each provider has the description, without inherited values. With `fields`, each provider has \
            these parts: `inventories`, `usages`, `traits`, `aggregates`, `allocations` by consumer, and `state`, \
            which is that of the nearest ancestor that is not up. All parts of a page but allocations are of one \
            moment; allocations are read from the tables afterwards. A part needs the policy rule of its own route \
            below `/resource_providers/{uuid}`. With `Accept: application/x-ndjson`, each provider is a line. An \
            `ETag` of the page before in `If-None-Match` makes the answer 304 if the page is the same.",
        )
        .page::<ProviderItem>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "UnknownClassInQuery", "UnknownTraitsInQuery", "Busy"]),
        NounOperation::new::<WriteParameters>(
            "PUT /v1/providers",
            "Describe up to 1000 providers",
            "All of them or none. Each is as in `PUT /v1/providers/{uuid}`, with its `uuid`. A refusal names every \
            wrong member by path. A page of `GET /v1/providers` is a valid body, unless it has a text of an old form.",
        )
        .body::<DescribeAllBody>()
        .answer::<ProviderList>()
        .refusals(&[
            "BadRequest",
            "DuplicateQueryKey",
            "StaleDescriptions",
            "DomainInUse",
            "ProviderGenerationLimit",
        ]),
        NounOperation::new::<StateParameters>(
            "PATCH /v1/providers",
            "Set the state of all hosts in a domain",
            "Hosts are the root providers in the domain, or in a domain that lies in it: from 1 to 1000. The state of all \
            of them is set in one transaction; their types, properties and domains stay. The answer has the hosts in \
            their new form, by uuid. No generation is needed: a description that changes at the same time keeps that \
            change. With `dry_run=true` nothing is written.",
        )
        .body::<StateBody>()
        .answer::<ProviderList>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "ProviderGenerationLimit"]),
        NounOperation::new::<NoParameters>(
            "GET /v1/providers/{uuid}",
            "Show what a provider is",
            "`generation` is null if the provider was never described.",
        )
        .answer::<ProviderAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "ProviderNotFound"]),
        NounOperation::new::<WriteParameters>(
            "PUT /v1/providers/{uuid}",
            "Describe a provider",
            "Replaces the whole description. A property is a text, a boolean or a whole number of 64 bits; providers \
            inherit properties and domains from their parents, and `null` hides an inherited property. A domain is a \
            path of any depth in a dimension, such as `fd:/dc1/r0` in `fault`. A type, a text and a level of a path \
            neither begin nor end with white space, have no control or invisible character, and are in normalization \
            form C of Unicode. Hosts that are `draining`, `off` or \
            `lost` get nothing new: they are no candidates of `/v1`, and the root provider gets the trait \
            COMPUTE_STATUS_DISABLED, which Nova forbids. placet takes the trait away again only if placet had set it. \
            `generation` is the one that was read, and null for a provider that was never described. If nothing \
            changes the generation stays. A host keeps its domains while replicas stand there whose workloads are \
            spread over them: another domain in such a dimension is refused, unless with `force=true`. Then `GET \
            /v1/violations` shows what breaks a rule. With `dry_run=true` nothing is written.",
        )
        .body::<DescribeBody>()
        .answer::<ProviderAnswer>()
        .refusals(DESCRIBE_REFUSALS),
        NounOperation::new::<WriteParameters>(
            "PATCH /v1/providers/{uuid}",
            "Change what a provider is",
            "A JSON merge patch (RFC 7396) of the answer to `GET`. The result is read as the body of `PUT`: checks, \
            `dry_run`, `force` and answer are the same. `generation` is required as in `PUT`. Members, properties and \
            domains without a value in the body stay. In `properties`, `null` hides an inherited property, as in `PUT`; \
            only `PUT` removes a property. Elsewhere `null` removes: a domain, the `type`, all `properties`; a host \
            whose `state` is removed is `up`. The body is `application/json` or `application/merge-patch+json`.",
        )
        .body::<Patch<DescribeBody>>()
        .answer::<ProviderAnswer>()
        .refusals(DESCRIBE_REFUSALS),
    ],
};

const DESCRIBE_REFUSALS: &[&str] = &[
    "BadRequest",
    "DuplicateQueryKey",
    "ProviderNotFound",
    "StaleDescriptions",
    "DomainInUse",
    "ProviderGenerationLimit",
];

impl Patched for DescribeBody {
    const MERGED: &'static [ShownMember] = &[
        ("type", Null::Removes),
        ("properties", Null::IsValueInside),
        ("domains", Null::Removes),
        ("state", Null::Removes),
    ];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteParameters {
    /// `true`: nothing is written. The answer is the description as foreseen.
    #[serde(default)]
    dry_run: bool,
    /// `true`: domains change although workloads with replicas on the host are spread over the domains.
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StateParameters {
    /// The domain of the hosts, as `dimension:path`. `host:UUID` is a single host.
    in_domain: InDomain,
    /// `true`: nothing is written. The answer is the descriptions as foreseen.
    #[serde(default)]
    dry_run: bool,
}

/// Reads `PUT /v1/providers/{uuid}`, and whether the request is a dry run.
///
/// # Errors
/// The first member of a wrong type, or every wrong value, by path.
pub fn read_describe(provider: &str, query: &str, body: &[u8]) -> Result<(DescribeAll, bool)> {
    let parameters = read_query(query)?;
    describe_one(provider, parameters, read_body(body)?, &Description::default())
}

/// Reads `PATCH /v1/providers/{uuid}` as the `PUT` that the patch of the shown provider stands for, and whether the
/// request is a dry run.
///
/// # Errors
/// As of [`read_describe`].
pub fn read_patch(shown: &Described, query: &str, body: &[u8]) -> Result<(DescribeAll, bool)> {
    let parameters = read_query(query)?;
    let Patch(body) = read_merge_patch(&write_one(shown), body)?;
    describe_one(&shown.uuid, parameters, body, &shown.description)
}

fn describe_one(
    provider: &str,
    parameters: WriteParameters,
    body: DescribeBody,
    before: &Description,
) -> Result<(DescribeAll, bool)> {
    let mut mistakes = Vec::new();
    let of_path = uuid::canonical(provider);
    if let Some(Uuid(uuid)) = body.uuid.as_ref().filter(|uuid| of_path.as_ref() != Some(&uuid.0)) {
        mistakes.push(format!("uuid: {uuid} differs from the uuid of the path"));
    }
    let command = DescribeAll {
        providers: vec![describe(provider.to_owned(), "", body, before, &mut mistakes)],
        is_list: false,
        is_forced: parameters.force,
    };
    refuse(mistakes)?;
    Ok((command, parameters.dry_run))
}

/// Reads `PATCH /v1/providers`, and whether the request is a dry run.
///
/// # Errors
/// The first wrong parameter or member, by path.
pub fn read_states(query: &str, body: &[u8]) -> Result<(DomainState, bool)> {
    let StateParameters { in_domain, dry_run } = read_query(query)?;
    let StateBody { state } = read_body(body)?;
    let wanted = DomainState {
        domain: in_domain.0,
        state: state.0,
    };
    Ok((wanted, dry_run))
}

/// Reads `PUT /v1/providers`, and whether the request is a dry run.
///
/// # Errors
/// The first member of a wrong type, or every wrong value, by path.
pub fn read_describe_all(query: &str, body: &[u8]) -> Result<(DescribeAll, bool)> {
    let WriteParameters { dry_run, force } = read_query(query)?;
    let DescribeAllBody { providers: items, .. } = read_body(body)?;
    let (mut mistakes, mut providers, mut uuids) = (Vec::new(), Vec::new(), HashSet::new());
    let before = Description::default();
    for (at, item) in items.0.into_iter().enumerate() {
        let provider = match &item.uuid {
            Some(Uuid(uuid)) => uuid.clone(),
            None => {
                mistakes.push(format!("providers[{at}].uuid is required"));
                continue;
            }
        };
        if !uuids.insert(provider.clone()) {
            mistakes.push(format!("providers[{at}].uuid: {provider} occurs twice"));
        }
        let path = format!("providers[{at}].");
        providers.push(describe(provider, &path, item, &before, &mut mistakes));
    }
    refuse(mistakes)?;
    let command = DescribeAll {
        providers,
        is_list: true,
        is_forced: force,
    };
    Ok((command, dry_run))
}

fn refuse(mistakes: Vec<String>) -> Result<()> {
    if mistakes.is_empty() {
        return Ok(());
    }
    bad_request(format!("{}.", mistakes.join("; ")))
}

/// Writes a provider.
pub fn write_one(described: &Described) -> Vec<u8> {
    json(&answer(described))
}

/// Writes the providers of a write.
pub fn write_written(described: &[Described]) -> Vec<u8> {
    json(&ProviderList {
        providers: described.iter().map(answer).collect(),
        next: None,
    })
}

#[cfg(test)]
mod tests;
