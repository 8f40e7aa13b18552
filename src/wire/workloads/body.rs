//! The body of `PUT /v1/workloads/{uuid}`, and the spec in the stored form, which is read again.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::rules::RuleBody;
use crate::search::Rank;
use crate::wire::candidates::GivenQuery;
use crate::wire::defaults::OwnerId;
use crate::wire::native::{Bounded, ClassName, Ignored, Name, Nullable, Text, Uuid, Whole};
use crate::wire::output::json;

/// The ids of all replicas.
pub type Ids = Bounded<Text<1, 64>, 0, 1_000>;

/// A number of seconds, at most a year.
pub type LostAfter = Whole<0, 31_536_000>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutBody {
    /// The workload's uuid, as in the path.
    pub uuid: Option<Uuid>,
    /// The generation that the client has read, or `null` for a new workload. If the workload has a newer generation,
    /// the request is refused with 409.
    pub generation: Nullable<i64>,
    /// The name of the workload, unique in the project.
    pub name: Text<1, 255>,
    /// The project that the workload belongs to. The default is the token's.
    pub project_id: Option<OwnerId>,
    /// The user that new replicas belong to. The default is the token's.
    pub user_id: Option<OwnerId>,
    /// The consumer type of new replicas. The default is `INSTANCE`.
    #[serde(rename = "type")]
    pub consumer_type: Option<ClassName>,
    /// Whether the workload needs the majority of the replicas. The default is `true`; `false` leaves `safe` and
    /// `quorum_lost` out.
    #[serde(default = "yes")]
    pub quorum: bool,
    /// The fewest replicas on hosts that are up with which the workload is in order. Fewer are a violation. With
    /// `"atomic": false` a request that would place fewer is refused.
    pub min: Option<Whole<1, 1_000>>,
    /// The seconds from the end of a host's lease until the host counts as lost for this workload. `replace=lost` then
    /// places the replicas of the host again. Without `lost_after` a host is lost only by the state `lost`.
    pub lost_after: Option<LostAfter>,
    /// The kinds of replicas: the needs of each replica, and the number of replicas.
    pub roles: Bounded<RoleBody, 1, 1_000>,
    /// The rules: `spread`, `within`, `together`, `apart`. `null` is the default: `spread`, adaptive over `fault` and
    /// `upgrade`, if they exist.
    pub rules: Option<Bounded<RuleBody, 0, 64>>,
    /// The ids of all replicas. Without `ids` the replicas are numbered.
    pub ids: Option<Ids>,
    /// Consumers that become replicas.
    #[serde(default)]
    pub adopt: Vec<AdoptBody>,
    /// Pairs of ids whose replicas exchange their roles.
    #[serde(default)]
    pub swap: Vec<Bounded<Text<1, 64>, 2, 2>>,
    /// Whether all new replicas are placed or nothing is changed. The default is `true`.
    #[serde(default = "yes")]
    pub atomic: bool,
    /// Without effect, as of the answer.
    #[serde(rename = "revision")]
    _revision: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "placed")]
    _placed: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "pending")]
    _pending: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "safe")]
    _safe: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "quorum_lost")]
    _quorum_lost: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "survives")]
    _survives: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "spread")]
    _spread: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "replicas")]
    _replicas: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "violations")]
    _violations: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "exact")]
    _exact: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "reasons")]
    _reasons: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "counts")]
    _counts: Option<Ignored>,
    /// Without effect, as of the answer.
    #[serde(rename = "notes")]
    _notes: Option<Ignored>,
}

fn yes() -> bool {
    true
}

/// A kind of replicas.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleBody {
    /// The name of the role, unique in the workload.
    pub name: Text<1, 255>,
    /// The number of replicas of the role.
    pub count: Whole<0, 1_000_000>,
    /// The parameters of `GET /v1/candidates`, as a query string or as an object. A list is a repeated parameter.
    pub query: GivenQuery,
    /// Which candidate of the query is the best: the `fullest`, the `emptiest`, the `tightest`, or a `random` one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Name<Rank>>,
    /// Data of the caller, which placet keeps with the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// An object or a text.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, with = "Value", description = "", extend("type" = ["object", "string"]))]
pub struct Payload(Value);

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Payload, D::Error> {
        match Value::deserialize(deserializer)? {
            payload @ (Value::Object(_) | Value::String(_)) => Ok(Payload(payload)),
            Value::Array(_) => Err(D::Error::custom("a list is not an object, a text or null")),
            other => Err(D::Error::custom(format_args!(
                "{other} is not an object, a text or null"
            ))),
        }
    }
}

/// A consumer that becomes a replica.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptBody {
    /// The consumer's uuid.
    pub consumer: Uuid,
    /// The id of the replica. The default is the id whose replica the consumer would be, else the lowest free id.
    pub id: Option<Text<1, 64>>,
    /// The name of the replica's role. The default is the first role that lacks a replica.
    pub role: Option<Text<1, 255>>,
}

/// The stored members of a body. Their number is not bounded here, because a former version may have stored more.
#[derive(Deserialize, Serialize)]
pub struct StoredSpec {
    #[serde(rename = "type", default)]
    pub consumer_type: String,
    #[serde(default = "yes")]
    pub quorum: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Whole<1, 1_000>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<LostAfter>,
    pub roles: Vec<RoleBody>,
    pub rules: Option<Vec<RuleBody>>,
}

impl StoredSpec {
    /// The spec with a rank for roles without a rank.
    pub fn with_rank(mut self, rank: Option<Rank>) -> StoredSpec {
        for role in &mut self.roles {
            role.rank = role.rank.or(rank.map(Name));
        }
        self
    }

    /// The text to store.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&json(self)).into_owned()
    }
}
