//! A query for candidates in a body: a query string, or an object in which a list is a repeated parameter.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{read_pairs, read_query};
use crate::error::Result;
use crate::search::Request;
use crate::wire::bad_request;
use crate::wire::filters::Zero;
use crate::wire::native::{Bounded, NonEmpty};
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
    /// Reads the query. `path` leads to the query in the body.
    ///
    /// # Errors
    /// As of [`read_query`], with the path. A refusal for a `rank`, which is a member beside the query, and
    /// for a `limit`: a consumer gets a single place.
    pub fn read(&self, path: &str, zero: Zero) -> Result<Request> {
        if self.has_rank() {
            return bad_request(format!("{path}: 'rank' stands beside 'query', not in it."));
        }
        let request = match self {
            GivenQuery::Text(text) => read_query(text, zero),
            GivenQuery::Parameters(parameters) => read_pairs(pairs(parameters), zero),
        };
        let request = request.map_err(|error| error.in_member(path))?;
        match request.limit {
            Some(_) => bad_request(format!(
                "{path}: 'limit' has no meaning here: one candidate is claimed."
            )),
            None => Ok(request),
        }
    }

    /// Checks the texts in the conditions. A stored query may have any texts.
    ///
    /// # Errors
    /// As of [`check_query`], with the path.
    pub fn check_texts(&self, path: &str) -> Result<()> {
        let query = match self {
            GivenQuery::Text(text) => Query::parse(text)?,
            GivenQuery::Parameters(parameters) => Query::of_pairs(pairs(parameters)),
        };
        check_query(&query).map_err(|error| error.in_member(path))
    }

    fn has_rank(&self) -> bool {
        match self {
            GivenQuery::Text(text) => Query::parse(text).is_ok_and(|query| query.last("rank").is_some()),
            GivenQuery::Parameters(parameters) => parameters.0.iter().any(|(name, _)| name == "rank"),
        }
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
