//! `GET /v1/candidates`: the newest form of the query language of `GET /allocation_candidates`, and a rank.

mod answer;
mod given_query;
mod parameters;
mod request;
mod values;

use answer::CandidateList;
pub use given_query::GivenQuery;
use parameters::AnswerParameters;
pub use parameters::BesideQuery;
use request::read_request;
pub use values::{Aggregates, ClassAmounts, TraitNames, joined};

use serde::de::DeserializeOwned;

use super::native::{Noun, NounOperation, UnreadParameters};
use super::native_keys::check_ampersands;
use super::query::Query;
use super::text_form::check_query;
use crate::error::Result;
use crate::search::{Purpose, Rank, Request};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "candidates",
    about: "Candidates in the native API: the query language of `GET /allocation_candidates` at its newest microversion, \
        and the order in which they are wanted.",
    fields: &[],
    operations: &[NounOperation::new::<BesideQuery<AnswerParameters>>(
        "GET /v1/candidates",
        "List the best allocation candidates",
        "Parameters with the same suffix are a group. One provider serves all of a group, except the group \
            without a suffix, which several providers of a tree may serve. With `rank` the best of all \
            candidates come first; `limit` says how many. A share is `used / capacity`, with `used` as it would \
            be after the claim. `fullest` prefers the greatest share over the candidate's providers and classes, \
            `emptiest` the least such share, and `tightest` the least sum of `(capacity - used) / capacity`. \
            Each candidate then has its `score`, and the `loads` that it comes from. Which of equal candidates \
            comes first differs from request to request. `exact` is false if a tree has more candidates than \
            `[placet] max_combinations`, so that only the first of them were compared, or if a tree was given \
            up. With `random` and without `rank` the answer is that of `GET /allocation_candidates`: candidates \
            in no defined order, without scores. `summaries=false` leaves `provider_summaries` out. `where` is a \
            condition on the properties of the host, which is the root of the tree that serves; with the suffix \
            of a group it is one on the provider that serves this group. A provider that lacks a property that \
            the expression names, or has it with another type, does not match. `in_domain` and `not_in_domain` \
            are domains of the host as `dimension:path`, with all that lie in them; several `in_domain` of one \
            dimension are alternatives. Providers that are `draining`, `off` or `lost`, or below one that is, \
            are left out. `purpose` is that of a claim, by default `normal`: candidates stay within the normal \
            limits of classes (`/v1/limits`), and `capacity` in `loads` is the normal limit. If nothing fits \
            within them and the purpose may go over them, the candidates are those within the capacity.",
    )
    .answer::<CandidateList>()
    .refusals(SEARCH_REFUSALS)],
};

/// The refusals of a search with a query.
pub const SEARCH_REFUSALS: &[&str] = &[
    "BadRequest",
    "InvalidExpression",
    "BadQueryValue",
    "DuplicateQueryKey",
    "MissingQueryValue",
    "UnknownClassInQuery",
    "UnknownTraitsInQuery",
    "UnknownTraitsInCandidates",
    "Busy",
];

/// A request for candidates, and the parts of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidatesQuery {
    pub request: Request,
    pub rank: Option<Rank>,
    /// Which limits hold; `None`: the capacity alone.
    pub purpose: Option<Purpose>,
    /// Whether the answer has `provider_summaries`.
    pub has_summaries: bool,
    /// Whether they have the names of providers.
    pub has_names: bool,
}

/// Reads the query string of `GET /v1/candidates`.
///
/// # Errors
/// As of [`read_request`].
pub fn read_list(query: &str) -> Result<CandidatesQuery> {
    let (answer, request): (AnswerParameters, Request) = read_beside_query(query)?;
    Ok(CandidatesQuery {
        request: Request {
            limit: answer.limit.map(|limit| usize::try_from(limit.0).unwrap_or(usize::MAX)),
            ..request
        },
        rank: answer.rank.map(|rank| rank.0),
        purpose: Some(answer.purpose.0),
        has_summaries: answer.summaries,
        has_names: true,
    })
}

/// Reads the query string of an operation with a query, and the parameters beside the query.
///
/// # Errors
/// As of [`read_request`].
pub fn read_beside_query<A: DeserializeOwned>(query: &str) -> Result<(A, Request)> {
    check_ampersands(query)?;
    let query = Query::parse(query)?;
    let mut parameters = UnreadParameters::of(&query)?;
    let beside = parameters.take()?;
    let request = read_request::<1>(parameters)?;
    check_query(&query)?;
    Ok((beside, request))
}

#[cfg(test)]
mod tests;
