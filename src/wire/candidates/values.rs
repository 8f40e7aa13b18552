//! The values of parameters: each type refuses other texts, and shows the pattern in the schema.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::search::{MemberOf, Traits};
use crate::wire::cut::cut_at;
use crate::wire::filters;
use crate::wire::native::{is_suffix, read_text};
use crate::wire::path::MAX_GIVEN_BYTES;

/// Amounts by class: `VCPU:2,MEMORY_MB:512`. Each amount is at least `LEAST`.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(
    inline,
    with = "String",
    description = "",
    extend("pattern" = "^[^:,]+:[0-9]*[1-9][0-9]*(,[^:,]+:[0-9]*[1-9][0-9]*)*$")
)]
pub struct ClassAmounts<const LEAST: i64>(pub Vec<(String, i64)>);

impl<'de, const LEAST: i64> Deserialize<'de> for ClassAmounts<LEAST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let most = i64::MAX;
        let allowed = format!("not CLASS:AMOUNT with an amount from {LEAST} to {most}, such as VCPU:2,MEMORY_MB:512");
        let amounts = read_text(deserializer, allowed, |text| {
            let amounts = text.split(',').map(|pair| amount(pair, LEAST).ok_or(pair.to_owned()));
            amounts.collect::<Result<Vec<_>, String>>()
        })?;
        let mut classes = BTreeSet::new();
        match amounts.iter().find(|(class, _)| !classes.insert(class)) {
            Some((class, _)) => Err(D::Error::custom(format_args!(
                "{} occurs more than once; once is allowed",
                cut_at(class.clone(), MAX_GIVEN_BYTES)
            ))),
            None => Ok(ClassAmounts(amounts)),
        }
    }
}

/// `CLASS:AMOUNT`.
fn amount(pair: &str, least: i64) -> Option<(String, i64)> {
    let (class, digits) = pair.split_once(':')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let amount = digits.parse().ok().filter(|amount| is_number && *amount >= least)?;
    (!class.is_empty()).then(|| (class.to_owned(), amount))
}

/// Traits that are required or forbidden. If the text `MAY_CHOOSE`, any of several traits may be required.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(
    inline,
    with = "String",
    description = "",
    extend("pattern" = "^[^,]*[^,!\\s][^,]*(,[^,]*[^,!\\s][^,]*)*$")
)]
pub struct TraitNames<const MAY_CHOOSE: bool>(pub Traits);

impl<'de, const MAY_CHOOSE: bool> Deserialize<'de> for TraitNames<MAY_CHOOSE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let choice = if MAY_CHOOSE { " or in:TRAIT,TRAIT" } else { "" };
        let allowed = format!("not names of traits, such as TRAIT,!TRAIT{choice}");
        read_text(deserializer, allowed, |text| {
            let traits = filters::traits(&text, true, MAY_CHOOSE);
            traits.map(TraitNames).map_err(|_| text)
        })
    }
}

/// Aggregates of which a provider is in any, or in none.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(
    inline,
    with = "String",
    description = "",
    extend("pattern" = "^!?([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\
        |in:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(,[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})*)$")
)]
pub struct Aggregates(pub MemberOf);

impl<'de> Deserialize<'de> for Aggregates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let allowed = "not UUID or in:UUID,UUID, with or without a leading !";
        read_text(deserializer, allowed, |text| {
            let mut aggregates = MemberOf::default();
            match filters::aggregates(&text) {
                Ok((true, uuids)) => aggregates.forbidden = uuids,
                Ok((false, uuids)) => aggregates.any_of.push(uuids),
                Err(_) => return Err(text),
            }
            Ok(Aggregates(aggregates))
        })
    }
}

/// The conditions of all values of two repeatable parameters.
pub fn joined(required: Vec<TraitNames<true>>, member_of: Vec<Aggregates>) -> (Traits, MemberOf) {
    let (mut traits, mut members) = (Traits::default(), MemberOf::default());
    for names in required {
        traits.required.extend(names.0.required);
        traits.forbidden.extend(names.0.forbidden);
    }
    for aggregates in member_of {
        members.any_of.extend(aggregates.0.any_of);
        members.forbidden.extend(aggregates.0.forbidden);
    }
    (traits, members)
}

/// Suffixes of groups.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(
    inline,
    with = "String",
    description = "",
    extend("pattern" = "^[a-zA-Z0-9_-]{1,64}(,[a-zA-Z0-9_-]{1,64})*$")
)]
pub struct Suffixes(pub BTreeSet<String>);

impl<'de> Deserialize<'de> for Suffixes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "not suffixes of groups, such as _A,_B", |text| {
            let is_allowed = |suffix: &str| !suffix.is_empty() && is_suffix(suffix);
            if text.split(',').all(is_allowed) {
                Ok(Suffixes(text.split(',').map(str::to_owned).collect()))
            } else {
                Err(text)
            }
        })
    }
}
