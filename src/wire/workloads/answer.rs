//! Writes workloads.

use serde::Serialize;

use super::wish::Json;
use crate::model::workloads::{
    Level, Listed, Mode, Replica, Report, ShownReplica, SpreadReport, Violation, WorkloadRow,
};

use crate::wire::json as reader;
use crate::wire::output::{Members, Pairs, append, json};
use crate::wire::reasons::{ReasonAnswer, reasons_and_counts};
use crate::wire::value::Value;

#[derive(Serialize)]
struct One<'a> {
    uuid: &'a str,
    name: &'a str,
    project_id: &'a str,
    user_id: &'a str,
    generation: i64,
    revision: i64,
    #[serde(rename = "type")]
    consumer_type: Json<'a>,
    quorum: Json<'a>,
    roles: Json<'a>,
    rules: Json<'a>,
    placed: usize,
    pending: usize,
    safe: Option<bool>,
    #[serde(flatten)]
    state: Option<State<'a>>,
}

/// What one workload is, beyond what it wants.
#[derive(Serialize)]
struct State<'a> {
    spread: Vec<SpreadAnswer<'a>>,
    replicas: Vec<ReplicaAnswer<'a>>,
    violations: Vec<ViolationAnswer<'a>>,
    exact: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<ReasonAnswer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Members<&'static str, usize>>,
}

#[derive(Serialize)]
struct SpreadAnswer<'a> {
    rule: usize,
    level: &'static str,
    dimension: &'a str,
    mode: &'static str,
    domains: u32,
    limit: Option<u32>,
    counts: Members<&'a str, u32>,
}

#[derive(Serialize)]
struct ReplicaAnswer<'a> {
    id: &'a str,
    consumer: &'a str,
    role: &'a str,
    revision: i64,
    state: &'static str,
    adopted: bool,
    host: Option<&'a str>,
    host_name: Option<&'a str>,
    allocations: Members<&'a str, ShareAnswer<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    over_normal: &'a [String],
}

#[derive(Serialize)]
struct ShareAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    resources: Pairs<'a, i64>,
}

/// A violation in its one form.
#[derive(Serialize)]
pub struct ViolationAnswer<'a> {
    level: &'static str,
    #[serde(flatten)]
    reason: ReasonAnswer<'a>,
    replicas: &'a [String],
    consumers: &'a [String],
    hosts: &'a [String],
    host_names: Vec<&'a str>,
}

/// Writes one workload with its state.
pub fn write_one(report: &Report) -> Vec<u8> {
    let body = body(&report.row);
    let (placed, pending) = report.placed_and_pending();
    let figures = (placed, pending, report.safe);
    json(&one(&report.row, &body, figures, Some(state(report))))
}

/// Writes a list of workloads, with the figures of their states alone. `next` is the uuid after which the next page
/// begins.
pub fn write_list(workloads: &[Listed], next: Option<&str>) -> Vec<u8> {
    let mut out = b"{\"workloads\":[".to_vec();
    for (at, listed) in workloads.iter().enumerate() {
        let Listed {
            row,
            placed,
            pending,
            safe,
        } = listed;
        // One body at a time: what it is read into takes many times its length.
        let (body, figures) = (body(row), (*placed, *pending, *safe));
        append(
            &mut out,
            if at == 0 { "" } else { "," },
            &one(row, &body, figures, None),
        );
    }
    append(&mut out, "],\"next\":", &next);
    out.push(b'}');
    out
}

/// The stored wish; null if it cannot be read.
fn body(row: &WorkloadRow) -> Value {
    reader::read(row.body.as_bytes(), |_| Ok(())).unwrap_or(Value::Null)
}

fn one<'a>(
    row: &'a WorkloadRow,
    body: &'a Value,
    (placed, pending, safe): (usize, usize, Option<bool>),
    state: Option<State<'a>>,
) -> One<'a> {
    let WorkloadRow {
        uuid,
        name,
        project,
        user,
        generation,
        revision,
        body: _,
        named: _,
    } = row;
    One {
        uuid,
        name,
        project_id: project,
        user_id: user,
        generation: *generation,
        revision: *revision,
        consumer_type: Json(body.field("type")),
        quorum: Json(body.field("quorum")),
        roles: Json(body.field("roles")),
        rules: Json(body.field("rules")),
        placed,
        pending,
        safe,
        state,
    }
}

fn state(report: &Report) -> State<'_> {
    let (reasons, counts) = reasons_and_counts(&report.reasons);
    State {
        spread: report.spread.iter().map(spread).collect(),
        replicas: report.replicas.iter().map(replica).collect(),
        violations: report.violations.iter().map(ViolationAnswer::from).collect(),
        exact: report.is_exact,
        counts: (!reasons.is_empty()).then_some(counts),
        reasons,
    }
}

fn spread(spread: &SpreadReport) -> SpreadAnswer<'_> {
    SpreadAnswer {
        rule: spread.rule,
        level: level(spread.level),
        dimension: &spread.dimension,
        mode: match spread.mode {
            Mode::MaxDifference => "max-difference",
            Mode::QuorumSafe => "quorum-safe",
            Mode::Adaptive => "adaptive",
            Mode::OneEach => "one-each",
        },
        domains: spread.domains,
        limit: spread.limit,
        counts: spread.counts.iter().map(|(path, count)| (&**path, *count)).collect(),
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Hard => "hard",
        Level::Soft => "soft",
        Level::Prefer => "prefer",
    }
}

fn replica(shown: &ShownReplica) -> ReplicaAnswer<'_> {
    let ShownReplica {
        replica: Replica { row, allocations, .. },
        host,
        host_name,
        over_normal,
    } = shown;
    let shares = allocations.iter().map(|share| {
        let resources = Pairs(&share.resources);
        let name = share.name.as_deref();
        (&*share.provider, ShareAnswer { name, resources })
    });
    ReplicaAnswer {
        id: &row.id,
        consumer: &row.consumer,
        role: &row.role,
        revision: row.revision,
        state: if allocations.is_empty() { "pending" } else { "placed" },
        adopted: row.is_adopted,
        host: host.as_deref(),
        host_name: host_name.as_deref(),
        allocations: shares.collect(),
        over_normal,
    }
}

impl<'a> From<&'a Violation> for ViolationAnswer<'a> {
    fn from(violation: &'a Violation) -> ViolationAnswer<'a> {
        ViolationAnswer {
            level: level(violation.level),
            reason: ReasonAnswer::from(&violation.reason),
            replicas: &violation.replicas,
            consumers: &violation.consumers,
            hosts: &violation.hosts,
            host_names: violation.host_names.iter().map(|name| &**name).collect(),
        }
    }
}
