//! `/v1/claims`.

mod answer;
mod body;
mod repeatable;

use std::collections::{HashMap, HashSet};

use answer::ClaimsAnswer;
pub use answer::{refused_consumers, write, write_text};
use body::{CandidateBody, ConsumerBody, PlaceBody, PlaceParameters};
pub use repeatable::digest;
use repeatable::repeatable;

use super::bad_request;
use super::candidates::GivenQuery;
use super::defaults::{Defaults, consumer_type};
use super::json;
use super::native::{Bounded, Ignored, Name, Noun, NounOperation, read_item, read_query, read_value};
use crate::error::Result;
use crate::model::allocations::{ConsumerClaim, Expected, Takeover};
use crate::model::claims::{ClaimCandidate, ClaimQuery, PlaceRequest, RequestedConsumer, Wanted};
use crate::search::Rank;

/// The most candidates of all consumers of a call together.
const MAX_CANDIDATES_OF_CALL: usize = 20_000;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "claims",
    about: "Place and claim in one call. A consumer posts candidates in order of preference, or a query. placet, \
        which knows the newest state, claims the first candidate that fits, or the best that the query finds.",
    fields: &[],
    operations: &[NounOperation::new::<PlaceParameters>(
        "POST /v1/claims",
        "Place and claim for up to 1000 consumers",
        "Each consumer has either `candidates`, in the form of `GET /allocation_candidates`, or a `query` with the \
            parameters of `GET /v1/candidates` that say what is wanted, `where`, `in_domain` and `not_in_domain` \
            among them. The first candidate that fits now is claimed. A `query` is a query string, or an object in \
            which a list is a repeated parameter. A consumer that exists is replaced, and what it has counts as free \
            for it. `generation` is `null` for a new consumer. `project_id` and `user_id` are by default those of the \
            token. With `atomic`, the default, all consumers are placed or none. Otherwise the answer says for each \
            what it got, or why it got nothing. At most 15 `reasons` of a code are listed, and `counts` has the \
            number of all candidates, or of hosts that a query left out. With `rank`, the best of all candidates \
            is claimed: `fullest` and `emptiest` compare the greatest share that is used after the claim, `tightest` \
            the sum of the shares that are left free. `exact` is false if a tree had too many combinations to compare \
            all, or was given up. A call with an `id` may be repeated within `[placet] claim_memory`, after a broken \
            connection for example: the same body gets the first answer again, and nothing is claimed twice. The id \
            belongs to the token's project. White space and the order of members may differ. A call that claims \
            nothing is not remembered. With `dry_run` the call is decided as a new one, and nothing is written or \
            remembered. The reasons of a query without a candidate say how many hosts each condition leaves out, \
            the cause first. With `purpose` `normal`, the \
            default, and `balance`, a claim stays within the normal limits of classes (`/v1/limits`), and the code \
            `placet.no_room_normal` says that only such a limit is in the way. All other purposes try the normal \
            limits for all consumers, and then place what has no room with the least amount over them. `over_normal` \
            lists the classes of which a consumer got more than the normal limit.",
    )
    .body::<PlaceBody<ConsumerBody>>()
    .answer::<ClaimsAnswer>()
    .refusals(&[
        "BadRequest",
        "InMember",
        "InvalidExpression",
        "InvalidQuery",
        "BadQueryValue",
        "DuplicateQueryKey",
        "MissingQueryValue",
        "UnknownClassInQuery",
        "UnknownTraitsInCandidates",
        "ClaimRefused",
        "StaleConsumerGeneration",
        "IdReused",
        "Busy",
    ])],
};

/// Reads `POST /v1/claims`.
///
/// # Errors
/// The first wrong member, by path.
pub fn read(query: &str, raw_body: &[u8], defaults: &Defaults) -> Result<PlaceRequest> {
    let PlaceParameters { dry_run } = read_query(query)?;
    let value = json::read_native(raw_body)?;
    let body: PlaceBody<Ignored> = read_value(&value)?;
    let repeatable = body.id.map(|id| repeatable(id.0, &value, raw_body, defaults));
    let mut reader = ConsumerReader {
        defaults,
        uuids: HashSet::new(),
        candidates: 0,
        queries: Vec::new(),
        known_queries: HashMap::new(),
    };
    let mut consumers = Vec::with_capacity(body.consumers.0.len());
    // The value of a consumer is freed once the consumer is read: the body may be large.
    for (at, value) in value.into_field("consumers").into_items().into_iter().enumerate() {
        let consumer = read_item("consumers", at, &value)?;
        consumers.push(reader.consumer(&format!("consumers[{at}]"), consumer)?);
    }
    Ok(PlaceRequest {
        consumers,
        queries: reader.queries,
        purpose: body.purpose.0,
        is_atomic: body.atomic,
        is_dry_run: dry_run,
        repeatable,
    })
}

/// Reads the consumers of a call.
struct ConsumerReader<'a> {
    defaults: &'a Defaults,
    /// The consumers so far.
    uuids: HashSet<String>,
    /// The number of candidates so far.
    candidates: usize,
    queries: Vec<ClaimQuery>,
    /// The indexes of the queries, by query and name of the rank. The consumers of a gang mostly have the same query.
    known_queries: HashMap<(GivenQuery, Option<&'static str>), usize>,
}

impl ConsumerReader<'_> {
    fn consumer(&mut self, path: &str, body: ConsumerBody) -> Result<RequestedConsumer> {
        let uuid = body.uuid.0;
        if !self.uuids.insert(uuid.clone()) {
            return bad_request(format!(
                "{path}.uuid: {uuid} occurs twice; a call names each consumer once."
            ));
        }
        let (project, user) = (body.project_id, body.user_id);
        let owner = self.defaults.owner(&format!("{path}."), project, user)?;
        let claim = ConsumerClaim {
            consumer: uuid,
            allocations: Vec::new(),
            owner: Some(owner),
            generation: body.generation.map_or(Expected::New, Expected::Is),
            takeover: if self.defaults.may_change_others {
                Takeover::AnyProject
            } else {
                Takeover::OwnProject
            },
            consumer_type: Some(consumer_type(body.consumer_type)),
        };
        let rank = body.rank.map(|rank| rank.0);
        let wanted = match (body.candidates, body.query) {
            (Some(candidates), None) if rank.is_none() => self.candidates(path, candidates)?,
            (None, Some(query)) => self.query(path, query, rank)?,
            (Some(_), None) => {
                return bad_request(format!(
                    "{path}.rank is for a query: candidates are tried in the order in which they are given."
                ));
            }
            _ => return bad_request(format!("{path} needs either 'candidates' or 'query', and not both.")),
        };
        Ok(RequestedConsumer { claim, wanted })
    }

    fn candidates<const MAX: usize>(&mut self, path: &str, bodies: Bounded<CandidateBody, 1, MAX>) -> Result<Wanted> {
        self.candidates += bodies.0.len();
        if self.candidates > MAX_CANDIDATES_OF_CALL {
            return bad_request(format!(
                "{path}.candidates: a call has at most {MAX_CANDIDATES_OF_CALL} candidates of all consumers together."
            ));
        }
        Ok(Wanted::Candidates(bodies.0.into_iter().map(candidate).collect()))
    }

    fn query(&mut self, path: &str, query: GivenQuery, given_rank: Option<Rank>) -> Result<Wanted> {
        let rank = given_rank.or(self.defaults.rank);
        let key = (query, rank.map(|rank| Name(rank).name()));
        if let Some(known) = self.known_queries.get(&key) {
            return Ok(Wanted::Query(*known));
        }
        let member = format!("{path}.query");
        let request = key.0.read::<1>(&member)?;
        key.0.check_texts(&member)?;
        self.queries.push(ClaimQuery { request, rank });
        self.known_queries.insert(key, self.queries.len() - 1);
        Ok(Wanted::Query(self.queries.len() - 1))
    }
}

fn candidate(body: CandidateBody) -> ClaimCandidate {
    let allocations = body.allocations.0.into_iter().map(|(provider, share)| {
        let resources = share.resources.0.into_iter().map(|(class, amount)| (class.0, amount.0));
        (provider.0, resources.collect())
    });
    let mappings = body.mappings.map(|mappings| {
        let mappings = mappings.0.into_iter().map(|(suffix, providers)| {
            let providers = providers.0.into_iter().map(|provider| provider.0);
            (suffix.0, providers.collect())
        });
        mappings.collect()
    });
    ClaimCandidate {
        allocations: allocations.collect(),
        mappings,
    }
}

#[cfg(test)]
mod tests;
