//! Parses the query of `GET /v1/explain`, serializes the answer, and describes the noun.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{BesideQuery, read_beside_query};
use super::native::{Name, Named, Noun, NounOperation, Text, Whole};
use super::native_keys::{IN_DOMAIN, NOT_IN_DOMAIN, WHERE};
use super::output::json;
use super::reasons::ReasonAnswer;
use crate::error::{Error, Result};
use crate::model::explain::report::{
    ChangeReport, ClassReport, ConditionReport, ExplainQuestion, ExplanationReport, LackReport, NearHost,
};
use crate::search::{Enough, HostConditions, Purpose, Rank, Request};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "explain",
    about: "Why a query has no candidate, and what would help. The query is a query of `GET /v1/candidates` or of \
        `GET /allocation_candidates`.",
    fields: &[],
    operations: &[NounOperation::new::<BesideQuery<ExplainParameters>>(
        "GET /v1/explain",
        "Explain why a query has no candidate",
        "The conditions of the query are added one by one, in the order of the list `conditions`. Each condition has \
            the number of hosts left out by the condition, and the number of hosts with a candidate for the conditions \
            so far. A condition that leaves out no host is not listed. A host is a root provider that shares nothing, \
            with the providers below and the sharing providers in reach. `classes` has the greatest amounts of one \
            provider, on the hosts that meet all conditions but those about amounts, or on all hosts if there is no \
            such host. `nearest` are the hosts that lack only amounts, by the greatest missing share: given what a host \
            `lacks`, the host has a candidate. If no host is left, `changes` has the single changes of the query that \
            give hosts a candidate; each change was tried by a search. An empty list then means that no single change \
            is enough: two conditions or more must change. With `provider` the answer is about the host of \
            this provider alone, and `conditions` are the conditions that the host fails. Names of classes, traits, \
            aggregates and properties that do not exist are no error, and a condition says so. A search answers 400 \
            for the name of a class or trait that does not exist. With `api=openstack` the answer of \
            `GET /allocation_candidates` is explained, for which states and normal limits do not count; `purpose`, \
            `where`, `in_domain` and `not_in_domain` are refused, as there.",
    )
    .answer::<ExplanationAnswer>()
    .refusals(&[
        "BadRequest",
        "InvalidExpression",
        "BadQueryValue",
        "DuplicateQueryKey",
        "MissingQueryValue",
        "NotFound",
        "Busy",
    ])],
};

/// The API whose answer is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ExplainedApi {
    #[default]
    Native,
    OpenStack,
}

impl Named for ExplainedApi {
    const NAMES: &'static [(&'static str, ExplainedApi)] =
        &[("native", ExplainedApi::Native), ("openstack", ExplainedApi::OpenStack)];
}

/// The parameters beside the query.
#[derive(Deserialize, JsonSchema)]
struct ExplainParameters {
    /// The uuid or the name of a provider: only the host of this provider is explained.
    provider: Option<Text<1, 255>>,
    /// The greatest number of nearest hosts.
    #[serde(default)]
    nearest: NearestCount,
    /// The API whose answer is explained: `native`, the default, is `GET /v1/candidates`, `openstack` is
    /// `GET /allocation_candidates`.
    #[serde(default)]
    api: Name<ExplainedApi>,
    /// What the claim is for, as in `GET /v1/candidates`. `GET /allocation_candidates` has no purpose.
    purpose: Option<Name<Purpose>>,
    /// Ignored, as all hosts are compared.
    #[serde(rename = "limit")]
    _limit: Option<Whole<1, { i64::MAX }>>,
    /// Ignored, as all hosts are compared.
    #[serde(rename = "rank")]
    _rank: Option<Name<Rank>>,
    /// Ignored.
    #[serde(rename = "summaries")]
    _summaries: Option<bool>,
}

/// From 0 to 100 hosts, and 10 by default.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, description = "")]
struct NearestCount(Whole<0, 100>);

impl Default for NearestCount {
    fn default() -> Self {
        NearestCount(Whole(10))
    }
}

/// Reads the query string of `GET /v1/explain`. `may_claim`: as of [`ExplainQuestion`].
///
/// # Errors
/// As of [`read_beside_query`].
pub fn read_show(query: &str, may_claim: bool) -> Result<ExplainQuestion> {
    let (explain, request): (ExplainParameters, Request) = read_beside_query(query)?;
    let is_native = explain.api.0 == ExplainedApi::Native;
    if !is_native && let Some(name) = native_parameter(&explain, &request) {
        return Err(Error::BadQueryValue {
            detail: format!("{name} is no parameter of GET /allocation_candidates, which api=openstack explains."),
        });
    }
    let purpose = explain.purpose.unwrap_or_default().0;
    let host = HostConditions {
        only_up: is_native,
        ..request.host
    };
    Ok(ExplainQuestion {
        request: Request { host, ..request },
        purpose: is_native.then_some(purpose),
        provider: explain.provider.map(|named| named.0),
        nearest: usize::try_from(explain.nearest.0.0).unwrap_or_default(),
        may_claim,
    })
}

/// A parameter that `GET /allocation_candidates` refuses.
fn native_parameter(explain: &ExplainParameters, request: &Request) -> Option<&'static str> {
    let host = &request.host;
    let has_condition = request.groups.iter().any(|group| !group.condition.is_empty());
    let native = [
        ("purpose", explain.purpose.is_some()),
        (WHERE, has_condition || !host.condition.is_empty()),
        (IN_DOMAIN, !host.in_domains.is_empty()),
        (NOT_IN_DOMAIN, !host.not_in_domains.is_empty()),
    ];
    native.into_iter().find(|(_, is_there)| *is_there).map(|(name, _)| name)
}

/// Why a query has no candidate.
#[derive(Serialize, JsonSchema)]
struct ExplanationAnswer<'a> {
    /// The number of hosts: all, or 1 with `provider`.
    hosts: usize,
    /// The number of hosts with a candidate.
    left: usize,
    /// `false` if a search ended early: further hosts may be left, nearer, or reached by a change.
    exact: bool,
    /// The answer in a sentence or two, with the cause.
    detail: &'a str,
    /// The conditions in their order. Conditions without a host left out are not listed.
    conditions: Vec<ConditionAnswer<'a>>,
    /// The requested resource classes.
    classes: Vec<ClassAnswer<'a>>,
    /// The hosts without a candidate for want of amounts alone, the nearest first.
    nearest: Vec<NearHostAnswer<'a>>,
    /// Single changes of the query with which hosts have a candidate. Empty if hosts are left, or if no single change
    /// is enough.
    changes: Vec<ChangeAnswer<'a>>,
}

/// A condition with the number of hosts left out.
#[derive(Serialize, JsonSchema)]
struct ConditionAnswer<'a> {
    #[serde(flatten)]
    reason: ReasonAnswer<'a>,
    /// The suffixes of the groups with the condition; empty for a condition on hosts.
    groups: &'a [String],
    /// The number of hosts left out by the condition.
    left_out: usize,
    /// The number of hosts with a candidate for the conditions so far.
    left: usize,
    /// The names of the first three hosts left out.
    examples: &'a [String],
}

/// A requested class, with the greatest amounts of one provider.
#[derive(Serialize, JsonSchema)]
struct ClassAnswer<'a> {
    /// The resource class.
    resource_class: &'a str,
    /// The greatest amount of one group.
    requested: i64,
    /// The greatest capacity; `null` without an inventory. If states count, providers that are not up have no part in
    /// the amounts.
    capacity: Option<i64>,
    /// The greatest amount that may be allocated in total for the query's purpose: the normal limit, or `capacity`.
    limit: Option<i64>,
    /// The greatest free amount; `null` without an inventory.
    free: Option<i64>,
    /// The uuid of the provider with the greatest free amount; `null` without an inventory.
    resource_provider: Option<&'a str>,
    /// The name of the provider with the greatest free amount.
    resource_provider_name: Option<&'a str>,
    /// The greatest free amount within the normal limit; `null` without an inventory.
    free_normal: Option<i64>,
    /// The `max_unit` of the provider with the greatest free amount.
    max_unit: Option<i64>,
    /// Whether a provider has enough for `requested` and allows the amount: `now`, `not_now` (if less were used, or if
    /// the provider were up), or `never`. Within `limit`.
    enough: &'static str,
}

/// A host without a candidate for want of amounts alone.
#[derive(Serialize, JsonSchema)]
struct NearHostAnswer<'a> {
    /// The uuid of the host.
    resource_provider: &'a str,
    /// The name of the host.
    resource_provider_name: &'a str,
    /// The state: `up`, `draining` or `off`.
    state: &'static str,
    /// Whether the host has the trait `COMPUTE_STATUS_DISABLED`, which Nova sets and forbids.
    disabled: bool,
    /// The greatest missing share of a requested amount.
    share: f64,
    /// The missing amounts. With these amounts the host has a candidate.
    lacks: Vec<LackAnswer<'a>>,
}

/// An amount missing on a provider.
#[derive(Serialize, JsonSchema)]
struct LackAnswer<'a> {
    /// The uuid of the provider.
    resource_provider: &'a str,
    /// The name of the provider.
    resource_provider_name: &'a str,
    /// The resource class.
    resource_class: &'a str,
    /// The amount of all groups served by the provider.
    requested: i64,
    /// The free amount within the limits of the query's purpose; below zero if the provider is overcommitted.
    free: i64,
    /// The amount that may be allocated in total for the query's purpose: the normal limit, or `capacity`.
    limit: i64,
    /// The amount in use.
    used: i64,
    /// The amount that may be allocated in total: `(total - reserved) * allocation_ratio`, rounded down.
    capacity: i64,
    /// The total of the inventory.
    total: i32,
    /// The reserved part of the total.
    reserved: i32,
    /// The allocation ratio of the inventory.
    allocation_ratio: f64,
    /// The least amount of an allocation.
    min_unit: i32,
    /// The greatest amount of an allocation.
    max_unit: i32,
    /// The step of amounts.
    step_size: i32,
    /// Whether `min_unit`, `max_unit` and `step_size` allow the amounts of the groups.
    allowed: bool,
}

/// A single change of the query.
#[derive(Serialize, JsonSchema)]
struct ChangeAnswer<'a> {
    /// The changed parameters.
    parameters: &'a [String],
    /// The resource class of a changed amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_class: Option<&'a str>,
    /// The changed amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<i64>,
    /// The change as a sentence.
    detail: &'a str,
    /// The number of hosts with a candidate for the changed query.
    hosts: usize,
    /// The number of these hosts that are off, draining or disabled (trait `COMPUTE_STATUS_DISABLED`).
    unavailable: usize,
}

/// Writes an explanation.
pub fn write_show(report: &ExplanationReport) -> Vec<u8> {
    json(&ExplanationAnswer {
        hosts: report.hosts,
        left: report.left,
        exact: report.is_exact,
        detail: &report.detail,
        conditions: report.conditions.iter().map(condition).collect(),
        classes: report.classes.iter().map(class).collect(),
        nearest: report.nearest.iter().map(near_host).collect(),
        changes: report.changes.iter().map(change).collect(),
    })
}

fn condition(report: &ConditionReport) -> ConditionAnswer<'_> {
    ConditionAnswer {
        reason: ReasonAnswer::from(&report.reason),
        groups: &report.groups,
        left_out: report.left_out,
        left: report.left,
        examples: &report.examples,
    }
}

fn class(report: &ClassReport) -> ClassAnswer<'_> {
    ClassAnswer {
        resource_class: &report.class,
        requested: report.requested,
        capacity: report.room.map(|room| room.capacity.amount),
        limit: report.room.map(|room| room.limit.amount),
        free: report.room.map(|room| room.free.amount),
        resource_provider: report.freest.as_ref().map(|(uuid, _)| &**uuid),
        resource_provider_name: report.freest.as_ref().map(|(_, name)| &**name),
        free_normal: report.room.map(|room| room.normal_free.amount),
        max_unit: report.max_unit,
        enough: match report.enough {
            Enough::Now => "now",
            Enough::NotNow => "not_now",
            Enough::Never => "never",
        },
    }
}

fn near_host(host: &NearHost) -> NearHostAnswer<'_> {
    NearHostAnswer {
        resource_provider: &host.uuid,
        resource_provider_name: &host.name,
        state: host.state.name(),
        disabled: host.is_disabled,
        share: (host.share * 10_000.0).round() / 10_000.0,
        lacks: host.lacks.iter().map(lack).collect(),
    }
}

fn lack(lack: &LackReport) -> LackAnswer<'_> {
    let inventory = &lack.inventory;
    LackAnswer {
        resource_provider: &lack.uuid,
        resource_provider_name: &lack.name,
        resource_class: &lack.class,
        requested: lack.requested,
        free: lack.free,
        limit: lack.free.saturating_add(lack.used),
        used: lack.used,
        capacity: inventory.limit(),
        total: inventory.total,
        reserved: inventory.reserved,
        allocation_ratio: inventory.allocation_ratio,
        min_unit: inventory.min_unit,
        max_unit: inventory.max_unit,
        step_size: inventory.step_size,
        allowed: lack.is_allowed,
    }
}

fn change(report: &ChangeReport) -> ChangeAnswer<'_> {
    let amount = report.change.amount.as_ref();
    ChangeAnswer {
        parameters: &report.change.parameters,
        resource_class: amount.map(|(class, _)| &**class),
        amount: amount.map(|(_, amount)| *amount),
        detail: &report.change.detail,
        hosts: report.hosts,
        unavailable: report.unavailable,
    }
}
