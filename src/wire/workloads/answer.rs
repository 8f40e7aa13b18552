//! Serializes the answers of `/v1/workloads`: a workload with the state, and pages of workloads without states.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::body::RoleBody;
use super::rules::RuleBody;
use crate::error::Result;
use crate::model::workloads::{
    Level, Listed, Mode, Replica, Report, SafetyReport, ShownHost, ShownReplica, SpreadReport, SurvivesReport,
    Violation, WorkloadRow,
};
use crate::wire::json;
use crate::wire::native::Name;
use crate::wire::output::{Pairs, amounts, json};
use crate::wire::reasons::{ReasonAnswer, reasons_and_counts};
use crate::wire::value::Json;

#[derive(Serialize, JsonSchema)]
pub struct WorkloadList<'a> {
    /// The workloads, by uuid.
    #[schemars(with = "Vec<WorkloadHead<'a>>")]
    workloads: Vec<ListedAnswer<'a>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// A workload of the list.
#[derive(Serialize, JsonSchema)]
pub struct WorkloadHead<'a> {
    /// The workload's uuid.
    uuid: &'a str,
    /// The name of the workload.
    name: &'a str,
    /// The project that the workload belongs to.
    project_id: &'a str,
    /// The user that new replicas belong to.
    user_id: &'a str,
    /// A number that increases when the workload changes.
    generation: i64,
    /// The number of changes of the roles' queries and payloads.
    revision: i64,
    /// The consumer type of new replicas.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    consumer_type: &'a Json,
    /// Whether the workload needs the majority of the replicas.
    #[schemars(with = "bool")]
    quorum: &'a Json,
    /// The fewest replicas on hosts that are up with which the workload is in order; `null` without a bound.
    #[schemars(with = "Option<u32>")]
    min: &'a Json,
    /// The seconds from the end of a host's lease until the host counts as lost for this workload; `null`: never.
    #[schemars(with = "Option<u32>")]
    lost_after: &'a Json,
    /// The kinds of replicas.
    #[schemars(with = "Vec<RoleBody>")]
    roles: &'a Json,
    /// The rules; `null` is the default rule.
    #[schemars(with = "Option<Vec<RuleBody>>")]
    rules: &'a Json,
    /// The number of replicas with a place.
    placed: usize,
    /// The number of replicas without a place.
    pending: usize,
    /// Whether a majority of the wanted replicas is on hosts that are up outside of each domain of the rules `spread`.
    /// `null` without quorum, with fewer than two replicas, or if no rule `spread` compares anything.
    safe: Option<bool>,
    /// Whether fewer replicas than a majority are on hosts that are up. `null` without quorum or without replicas.
    quorum_lost: Option<bool>,
}

/// A workload with the state.
#[derive(Serialize, JsonSchema)]
pub struct WorkloadAnswer<'a> {
    #[serde(flatten)]
    head: WorkloadHead<'a>,
    /// After how many failures no majority is left, by dimension of the rules `spread`. Empty if `safe` is `null`.
    survives: Pairs<&'a str, SurvivesAnswer>,
    /// The mode and the limit of each rule `spread` now, by dimension.
    spread: Vec<SpreadAnswer<'a>>,
    /// The replicas, by id.
    replicas: Vec<ReplicaAnswer<'a>>,
    /// The rules that are broken now.
    violations: Vec<ViolationAnswer<'a>>,
    /// Whether the search compared all placements. `false`: the search was given up.
    exact: bool,
    /// Why replicas are pending. At most 15 of each code are listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<ReasonAnswer<'a>>,
    /// How often each code applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Pairs<&'static str, usize>>,
    /// What the caller may not expect: dimensions of hosts that the default rule does not use.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// The fewest failures that take the majority. 0 if the majority is lost.
#[derive(Serialize, JsonSchema)]
struct SurvivesAnswer {
    /// The fewest domains whose loss takes the majority; `null` if the loss of all domains leaves a majority.
    domains: Option<u32>,
    /// The fewest domains and single replicas whose loss takes the majority.
    failures: u32,
}

#[derive(Serialize, JsonSchema)]
struct SpreadAnswer<'a> {
    /// The position of the rule in `rules`, from 0.
    rule: usize,
    /// The level of the rule.
    level: Name<Level>,
    /// The dimension.
    dimension: &'a str,
    /// The mode in force.
    mode: Name<Mode>,
    /// The number of domains.
    domains: u32,
    /// How many replicas a domain may hold; `null` without domains.
    limit: Option<u32>,
    /// The number of replicas by domain. Of `host`: by the uuids of the hosts that have any.
    counts: Pairs<&'a str, u32>,
}

#[derive(Serialize, JsonSchema)]
struct ReplicaAnswer<'a> {
    /// The id of the replica.
    id: &'a str,
    /// The uuid of the replica's consumer.
    consumer: &'a str,
    /// The name of the replica's role.
    role: &'a str,
    /// The revision of the workload when the replica was placed.
    revision: i64,
    /// `placed` or `pending`.
    #[schemars(extend("enum" = ["placed", "pending"]))]
    state: &'static str,
    /// Whether the replica is a consumer that existed before.
    adopted: bool,
    /// The uuid of the root provider on which the replica is; `null` if the replica is pending.
    host: Option<&'a str>,
    /// The name of the root provider on which the replica is; `null` if the replica is pending.
    host_name: Option<&'a str>,
    /// All root providers on which the consumer has allocations, if there are several. Providers that are up come
    /// first. The replica counts on each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostAnswer<'a>>,
    /// The replica's allocations by provider.
    allocations: Pairs<&'a str, ShareAnswer<'a>>,
    /// The classes of which the replica got more than the normal limit.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    over_normal: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct HostAnswer<'a> {
    /// The uuid of the root provider.
    uuid: &'a str,
    /// The name of the root provider.
    name: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct ShareAnswer<'a> {
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The amounts by resource class.
    resources: Pairs<&'a str, i64>,
}

/// A violation in the common form of reasons.
#[derive(Serialize, JsonSchema)]
pub struct ViolationAnswer<'a> {
    /// The level of the rule.
    level: Name<Level>,
    #[serde(flatten)]
    reason: ReasonAnswer<'a>,
    /// The ids of the replicas that break the rule.
    replicas: &'a [String],
    /// The consumers of the first 15 replicas.
    consumers: &'a [String],
    /// The hosts of the first 15 replicas, each once.
    hosts: &'a [String],
    /// The names of `hosts`, in their order.
    host_names: Vec<&'a str>,
}

/// Writes a workload with the state.
pub fn write_one(report: &Report) -> Vec<u8> {
    let spec = shown_spec(&report.row);
    let (placed, pending) = report.placed_and_pending();
    let SafetyReport {
        is_safe,
        is_quorum_lost,
        ref survives,
    } = report.safety;
    let (reasons, counts) = reasons_and_counts(&report.reasons);
    json(&WorkloadAnswer {
        head: head(&report.row, &spec, (placed, pending), (is_safe, is_quorum_lost)),
        survives: survives.iter().map(survive).collect(),
        spread: report.spread.iter().map(spread).collect(),
        replicas: report.replicas.iter().map(replica).collect(),
        violations: report.violations.iter().map(ViolationAnswer::from).collect(),
        exact: report.is_exact,
        counts: (!reasons.is_empty()).then_some(counts),
        reasons,
        notes: &report.notes,
    })
}

/// Writes the members of a workload that a request may change, and figures without a state.
///
/// # Errors
/// [`crate::error::Error::Internal`] if the spec cannot be read.
pub fn write_spec(row: &WorkloadRow) -> Result<Vec<u8>> {
    Ok(json(&head(row, &stored_spec(row)?, (0, 0), (None, None))))
}

/// Writes a list of workloads without their states. `next` is the uuid after which the next page begins.
pub fn write_list(workloads: &[Listed], next: Option<&str>) -> Vec<u8> {
    json(&WorkloadList {
        workloads: workloads.iter().map(ListedAnswer).collect(),
        next,
    })
}

/// A workload of the list. The spec is parsed during the write: parsed specs take many times the length of the texts.
struct ListedAnswer<'a>(&'a Listed);

impl Serialize for ListedAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Listed {
            row,
            placed,
            pending,
            is_safe,
            is_quorum_lost,
        } = self.0;
        let (figures, safety) = ((*placed, *pending), (*is_safe, *is_quorum_lost));
        head(row, &shown_spec(row), figures, safety).serialize(serializer)
    }
}

/// The stored spec, by the parser of requests: numbers and the depth of a payload are as the client sent the payload.
///
/// # Errors
/// [`crate::error::Error::Internal`] if the text cannot be read.
fn stored_spec(row: &WorkloadRow) -> Result<Json> {
    row.spec(|text| json::read(text.as_bytes(), |_| Ok(())))
}

/// The stored spec, or null: the model reads each spec before the answer, and logs the error.
fn shown_spec(row: &WorkloadRow) -> Json {
    stored_spec(row).unwrap_or(Json::Null)
}

fn head<'a>(
    row: &'a WorkloadRow,
    spec: &'a Json,
    (placed, pending): (usize, usize),
    (safe, quorum_lost): (Option<bool>, Option<bool>),
) -> WorkloadHead<'a> {
    WorkloadHead {
        uuid: &row.uuid,
        name: &row.name,
        project_id: &row.project,
        user_id: &row.user,
        generation: row.generation,
        revision: row.revision,
        consumer_type: spec.field("type"),
        quorum: spec.field("quorum"),
        min: spec.field("min"),
        lost_after: spec.field("lost_after"),
        roles: spec.field("roles"),
        rules: spec.field("rules"),
        placed,
        pending,
        safe,
        quorum_lost,
    }
}

fn survive(survives: &SurvivesReport) -> (&str, SurvivesAnswer) {
    let answer = SurvivesAnswer {
        domains: survives.domains,
        failures: survives.failures,
    };
    (&survives.dimension, answer)
}

fn spread(spread: &SpreadReport) -> SpreadAnswer<'_> {
    SpreadAnswer {
        rule: spread.rule,
        level: Name(spread.level),
        dimension: &spread.dimension,
        mode: Name(spread.mode),
        domains: spread.domains,
        limit: spread.limit,
        counts: spread.counts.iter().map(|(path, count)| (&**path, *count)).collect(),
    }
}

fn replica(shown: &ShownReplica) -> ReplicaAnswer<'_> {
    let Replica { row, allocations, .. } = &shown.replica;
    let shares = allocations.iter().map(|share| {
        let resources = amounts(&share.resources);
        let name = share.name.as_deref();
        (&*share.provider, ShareAnswer { name, resources })
    });
    let several = shown.hosts.iter().filter(|_| shown.hosts.len() > 1);
    let hosts = several.map(|ShownHost { uuid, name }| HostAnswer { uuid, name });
    ReplicaAnswer {
        id: &row.id,
        consumer: &row.consumer,
        role: &row.role,
        revision: row.revision,
        state: if allocations.is_empty() { "pending" } else { "placed" },
        adopted: row.is_adopted,
        host: shown.host(),
        host_name: shown.hosts.first().map(|host| &*host.name),
        hosts: hosts.collect(),
        allocations: shares.collect(),
        over_normal: &shown.over_normal,
    }
}

impl<'a> From<&'a Violation> for ViolationAnswer<'a> {
    fn from(violation: &'a Violation) -> ViolationAnswer<'a> {
        ViolationAnswer {
            level: Name(violation.level),
            reason: ReasonAnswer::from(&violation.reason),
            replicas: &violation.replicas,
            consumers: &violation.consumers,
            hosts: &violation.hosts,
            host_names: violation.host_names.iter().map(|name| &**name).collect(),
        }
    }
}
