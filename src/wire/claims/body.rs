//! The body and the parameters of `POST /v1/claims`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::search::{Purpose, Rank};
use crate::wire::candidates::GivenQuery;
use crate::wire::defaults::OwnerId;
use crate::wire::native::{Bounded, ClassName, Ignored, Name, Named, NonEmpty, SpelledUuid, Suffix, Uuid, Whole};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceParameters {
    /// `true`: nothing is written or remembered. The answer says which consumers would be granted.
    #[serde(default)]
    pub dry_run: bool,
}

// `C` is a consumer, or ignored while the head of a large body is read.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PlaceBody")]
#[serde(deny_unknown_fields)]
pub struct PlaceBody<C> {
    /// The id of the call. A call with an id may be repeated, and gets the first answer again.
    pub id: Option<Uuid>,
    /// Whether all consumers are placed or none. The default is `true`.
    #[serde(default = "yes")]
    pub atomic: bool,
    /// The purpose of the claim. The default is `normal`.
    #[serde(default)]
    pub purpose: Name<Purpose>,
    /// The consumers, each once.
    pub consumers: Bounded<C, 1, 1_000>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumerBody {
    /// The consumer's uuid.
    pub uuid: Uuid,
    /// The generation that the client has read, or `null` for a new consumer. If the consumer has a newer generation,
    /// the request is refused with 409.
    pub generation: Option<i64>,
    /// The project that the consumer belongs to. The default is the token's.
    pub project_id: Option<OwnerId>,
    /// The user that the consumer belongs to. The default is the token's.
    pub user_id: Option<OwnerId>,
    /// The type of the consumer. The default is `INSTANCE`.
    #[serde(rename = "type")]
    pub consumer_type: Option<ClassName>,
    /// The candidates in order of preference, in the form of `GET /allocation_candidates`.
    pub candidates: Option<Bounded<CandidateBody, 1, 1_000>>,
    /// The parameters of `GET /v1/candidates`, as a query string or as an object. A list is a repeated parameter.
    pub query: Option<GivenQuery>,
    /// Which candidate of the query is the best: the `fullest`, the `emptiest`, the `tightest`, or a `random` one.
    pub rank: Option<Name<Rank>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateBody {
    /// The amounts by provider.
    pub allocations: NonEmpty<SpelledUuid, ShareBody>,
    /// The uuids of the providers that serve each group, by suffix.
    pub mappings: Option<NonEmpty<Suffix, Bounded<SpelledUuid, 1, 10_000>>>,
    /// Without effect: candidates of `GET /v1/candidates` have a score.
    #[serde(rename = "score")]
    _score: Option<Ignored>,
    /// Without effect: candidates of `GET /v1/candidates` have loads.
    #[serde(rename = "loads")]
    _loads: Option<Ignored>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareBody {
    /// The amounts by resource class.
    pub resources: NonEmpty<ClassName, Whole<1, { i64::MAX }>>,
    /// Without effect: the provider's generation.
    #[serde(rename = "generation")]
    _generation: Option<Ignored>,
}

impl Named for Purpose {
    const NAMES: &'static [(&'static str, Purpose)] = &Purpose::ALL;
}

impl Named for Rank {
    const NAMES: &'static [(&'static str, Rank)] = &Rank::ALL;
}
