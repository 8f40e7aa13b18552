//! `GET /v1/candidates`: the newest form of the query language of `GET /allocation_candidates`, and a rank.

mod given_query;

use std::collections::HashSet;

use super::allocation_candidates::read_request;
use super::filters::Zero;
use super::native_keys::check_ampersands;
use super::query::Query;
use super::steps::Steps;
use super::text_form::check_query;
use crate::error::Result;
use crate::search::{Purpose, Rank, Request};
use crate::version::Version;
pub use given_query::GivenQuery;

const SCHEMAS: &str = include_str!("schemas/candidates.json");
static LIST: Steps = Steps::of_query(SCHEMAS, "list");
static QUERY: Steps = Steps::of_query(SCHEMAS, "query");

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
/// As of [`read_request`], and `InvalidQuery` for unknown parameters and values.
pub fn read_list(query: &str) -> Result<CandidatesQuery> {
    check_ampersands(query)?;
    let query = Query::read_native(&LIST, query)?;
    query.check_single(&["rank", "purpose", "summaries", "limit"])?;
    let request = native_request(&query, Zero::Refused)?;
    check_query(&query)?;
    Ok(CandidatesQuery {
        request,
        // The schema has checked the names.
        rank: query.last("rank").and_then(Rank::by_name),
        purpose: Some(query.last("purpose").and_then(Purpose::by_name).unwrap_or_default()),
        has_summaries: query.last("summaries") != Some("false"),
        has_names: true,
    })
}

/// Reads a query from a text in a body: parameters of `GET /v1/candidates`, without `rank`, `purpose` and `summaries`.
///
/// # Errors
/// As of [`read_list`].
pub fn read_query(query: &str, zero: Zero) -> Result<Request> {
    check_ampersands(query)?;
    native_request(&Query::read_native(&QUERY, query)?, zero)
}

/// As [`read_query`], from parameters outside of a URL.
///
/// # Errors
/// As of [`read_list`].
pub fn read_pairs(pairs: Vec<(String, String)>, zero: Zero) -> Result<Request> {
    native_request(&Query::read_pairs(&QUERY, pairs)?, zero)
}

/// The keys with a single value, without the suffix of a group.
const SINGLE_KEYS: [&str; 3] = ["resources", "in_tree", "group_policy"];

/// Only providers with the state `up` get anything new from the native API. The native API refuses a repeated key of
/// which only the last value would count: a claim would take less than the text says.
fn native_request(query: &Query, zero: Zero) -> Result<Request> {
    let is_single = |name: &str| SINGLE_KEYS.iter().any(|key| name.starts_with(key));
    let mut seen = HashSet::new();
    let mut names = query.pairs().map(|(name, _)| name);
    if let Some(name) = names.find(|name| is_single(name) && !seen.insert(*name)) {
        return Err(Query::duplicate(name));
    }
    let mut request = read_request(Version::MAX, query, zero)?;
    request.host.only_up = true;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_repeated_key_whose_other_values_would_be_ignored_is_refused() {
        let tree = "in_tree=00000000-0000-0000-0000-000000000001";
        for part in ["resources_A=VCPU:1", tree, "group_policy=none"] {
            let refused = read_query(&format!("resources=VCPU:1&{part}&{part}"), Zero::Refused).unwrap_err();
            assert!(matches!(refused, Error::DuplicateQueryKey { .. }), "{refused:?}");
        }
        assert!(read_query("resources=VCPU:1&required=A&required=B", Zero::Refused).is_ok());
    }

    #[test]
    fn a_query_has_the_language_of_allocation_candidates_and_a_rank() {
        let query = "resources_A=VCPU:1&required_A=in:B,C&resources=DISK_GB:5&group_policy=none&limit=3";
        let plain = read_list(query).unwrap();
        assert_eq!((plain.rank, plain.has_summaries), (None, true));
        let old = super::super::allocation_candidates::read_list(Version::MAX, query);
        let mut old = old.unwrap();
        old.host.only_up = true;
        assert_eq!(plain.request, old);
        for (name, rank) in Rank::ALL {
            let ranked = read_list(&format!("{query}&rank={name}&summaries=false")).unwrap();
            assert_eq!((ranked.rank, ranked.has_summaries), (Some(rank), false));
            assert_eq!(ranked.request, plain.request);
        }
    }

    #[test]
    fn a_parameter_of_one_value_occurs_once() {
        for single in ["rank=fullest", "purpose=place", "summaries=false", "limit=1"] {
            assert!(read_list(&format!("resources=VCPU:1&{single}")).is_ok());
            let refused = read_list(&format!("resources=VCPU:1&{single}&{single}"));
            assert!(matches!(refused, Err(Error::DuplicateQueryKey { .. })), "{single}");
        }
        assert!(read_list("resources=VCPU:1&required=A&required=B").is_ok());
    }

    #[test]
    fn an_unknown_parameter_or_value_is_refused_by_name() {
        for wrong in [
            "rank=best",
            "purpose=fun",
            "summaries=no",
            "order=x",
            "limit=0",
            "rank=",
        ] {
            let refused = read_list(&format!("resources=VCPU:1&{wrong}")).unwrap_err().to_string();
            let name = wrong.split('=').next().unwrap();
            assert!(refused.contains(name), "{refused}");
        }
    }
}
