//! A provider with its description in answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::body::PropertyBody;
use crate::model::providers::Described;
use crate::search::{Properties, ProviderState};
use crate::wire::native::Name;

/// The note beside the state of a sharing provider.
const NOVA_STILL_CLAIMS: &str = "A sharing provider gets nothing new from /v1, but OpenStack's routes propose it to Nova \
    all the same: no trait forbids it there. To keep Nova away, set `reserved` to `total` in its inventories.";

#[derive(Serialize, JsonSchema)]
pub struct ProviderAnswer<'a> {
    /// The provider's uuid.
    uuid: &'a str,
    /// The provider's name.
    name: &'a str,
    /// A number that increases when the description changes; `null` if the provider was never described.
    generation: Option<i64>,
    /// The type of the provider.
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    /// The properties by name. `null` hides an inherited property.
    properties: PropertiesAnswer<'a>,
    /// The domains by dimension, each a path: `fd:/dc1/r0`.
    domains: BTreeMap<&'a str, &'a str>,
    /// `up`, `draining`, `off` or `lost`. Only a host with the state `up` gets anything new.
    state: Name<ProviderState>,
    /// The effect that the state lacks. Only in the answer of a write which leaves a sharing provider not up.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// Properties by name.
pub type PropertiesAnswer<'a> = BTreeMap<&'a str, Option<PropertyBody>>;

#[derive(Serialize, JsonSchema)]
pub struct ProviderList<'a> {
    /// The providers.
    pub providers: Vec<ProviderAnswer<'a>>,
    /// The `after` of the next page; `null` on the last page.
    pub next: Option<&'a str>,
}

/// The description of a provider in an answer.
pub fn answer(described: &Described) -> ProviderAnswer<'_> {
    let description = &described.description;
    let domains = description.domains.iter();
    ProviderAnswer {
        uuid: &described.uuid,
        name: &described.name,
        generation: described.generation,
        kind: description.kind.as_deref(),
        properties: properties_answer(&description.properties),
        domains: domains.map(|(dimension, path)| (&**dimension, &**path)).collect(),
        state: Name(description.state),
        note: described.nova_still_claims.then_some(NOVA_STILL_CLAIMS),
    }
}

/// Properties in an answer.
pub fn properties_answer(properties: &Properties) -> PropertiesAnswer<'_> {
    let properties = properties.iter();
    properties
        .map(|(name, value)| (&**name, value.clone().map(PropertyBody)))
        .collect()
}
