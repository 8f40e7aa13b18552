//! A query for candidates in a body: a query string, or an object in which a list is a repeated parameter.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::request::read_request;
use crate::error::Result;
use crate::search::Request;
use crate::wire::bad_request;
use crate::wire::native::{Bounded, NonEmpty, UnreadParameters};
use crate::wire::native_keys::check_ampersands;
use crate::wire::query::Query;
use crate::wire::text_form::check_query;

/// The query as the client gave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, with = "serde_json::Value", description = "")]
#[schemars(extend(
    "type" = ["string", "object"],
    "minProperties" = 1,
    "additionalProperties" = {"type": ["string", "array"], "minItems": 1, "items": {"type": "string"}},
))]
pub enum GivenQuery {
    Text(String),
    Parameters(NonEmpty<String, Texts>),
}

/// The texts of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Texts {
    One(String),
    Several(Vec<String>),
}

impl GivenQuery {
    /// Reads the query. `path` leads to the query in the body. `LEAST` is the least amount of a class.
    ///
    /// # Errors
    /// As of [`read_request`], with the path. A refusal for a `rank`, which is a member beside the query, and
    /// for a `limit`: a consumer gets a single place.
    pub fn read<const LEAST: i64>(&self, path: &str) -> Result<Request> {
        let query = self.query().and_then(|query| {
            check_has_no(&query, "rank", "stands beside 'query', not in it")?;
            check_has_no(&query, "limit", "has no meaning here: one candidate is claimed")?;
            read_request::<LEAST>(UnreadParameters::of(&query)?)
        });
        query.map_err(|error| error.in_member(path))
    }

    /// Checks the texts in the conditions. A stored query may have any texts.
    ///
    /// # Errors
    /// As of [`check_query`], with the path.
    pub fn check_texts(&self, path: &str) -> Result<()> {
        let checked = self.query().and_then(|query| check_query(&query));
        checked.map_err(|error| error.in_member(path))
    }

    fn query(&self) -> Result<Query> {
        match self {
            GivenQuery::Text(text) => {
                check_ampersands(text)?;
                Query::parse(text)
            }
            GivenQuery::Parameters(parameters) => Ok(Query::of_pairs(pairs(parameters))),
        }
    }
}

/// Refuses a parameter of `GET /v1/candidates` alone in a query of a body.
fn check_has_no(query: &Query, name: &str, why: &str) -> Result<()> {
    match query.last(name) {
        Some(_) => bad_request(format!("'{name}' {why}.")),
        None => Ok(()),
    }
}

fn pairs(parameters: &NonEmpty<String, Texts>) -> Vec<(String, String)> {
    let pair = |name: &String, text: &String| (name.clone(), text.clone());
    let pairs = parameters.0.iter().flat_map(|(name, texts)| match texts {
        Texts::One(text) => vec![pair(name, text)],
        Texts::Several(texts) => texts.iter().map(|text| pair(name, text)).collect(),
    });
    pairs.collect()
}

struct QueryVisitor;

impl<'de> Visitor<'de> for QueryVisitor {
    type Value = GivenQuery;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a query string or an object of parameters")
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<GivenQuery, E> {
        Ok(GivenQuery::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> std::result::Result<GivenQuery, A::Error> {
        NonEmpty::deserialize(MapAccessDeserializer::new(members)).map(GivenQuery::Parameters)
    }
}

impl<'de> Deserialize<'de> for GivenQuery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<GivenQuery, D::Error> {
        deserializer.deserialize_any(QueryVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Texts, E> {
        Ok(Texts::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> std::result::Result<Texts, A::Error> {
        let texts = Bounded::<String, 1, MAX_TEXTS>::deserialize(SeqAccessDeserializer::new(items))?;
        Ok(Texts::Several(texts.0))
    }
}

/// The most texts of a parameter.
const MAX_TEXTS: usize = 10_000;

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Texts, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}
