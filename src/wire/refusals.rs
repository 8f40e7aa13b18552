//! Parses the query of `GET /v1/refusals`, serializes the answer, and describes the noun.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::native::{Name, Named, Noun, NounOperation, PageLimit, Text, read_query};
use super::output::{Pairs, json};
use super::reasons::{ReasonAnswer, reasons_and_counts};
use crate::error::Result;
use crate::model::refusals::{Filter, RefusalKind, RefusalRecord};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "refusals",
    about: "What got nothing, and why: the last 1000 searches without a candidate, and claims and workloads without a \
        place. Each process keeps its own in memory.",
    fields: &[],
    operations: &[NounOperation::new::<ListParameters>(
        "GET /v1/refusals",
        "List what got nothing",
        "The newest first. A search without a candidate is explained within about a second, on the state of the cloud \
            that answered. Equal searches of a project in this time are one refusal, whose `count` has their number. \
            At most 50 different searches are explained at a time; the metric `placet_candidates_empty_total` counts \
            the rest as `unexplained`. On a busy machine explanations wait, and after 10 seconds a search is counted \
            as `unexplained`. A call or a workload is one refusal, with the reasons of the first consumer without a \
            place; dry runs are none. The `query` of a search, and of a claim by query, is a query string for \
            `GET /v1/explain`, for `allocation_candidates` with `api=openstack`. Without `project_id`, callers who may \
            not see all projects see their own.",
    )
    .answer::<RefusalList>()
    .refusals(&["BadRequest", "DuplicateQueryKey", "Forbidden"])],
};

impl Named for RefusalKind {
    const NAMES: &'static [(&'static str, RefusalKind)] = &[
        ("allocation_candidates", RefusalKind::AllocationCandidates),
        ("candidates", RefusalKind::Candidates),
        ("claim", RefusalKind::Claim),
        ("workload", RefusalKind::Workload),
    ];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The project of the requests.
    project_id: Option<Text<1, 255>>,
    /// The kind of the requests: `allocation_candidates`, `candidates`, `claim` or `workload`.
    kind: Option<Name<RefusalKind>>,
    /// The id of a request, by the sender or by the answer: `req-` and a uuid.
    request_id: Option<Text<1, 255>>,
    /// The most refusals of the answer.
    #[serde(default)]
    limit: PageLimit,
}

/// Reads the query string of `GET /v1/refusals`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<Filter> {
    let parameters: ListParameters = read_query(query)?;
    Ok(Filter {
        project: parameters.project_id.map(|project| project.0),
        kind: parameters.kind.map(|kind| kind.0),
        request_id: parameters.request_id.map(|id| id.0),
        limit: parameters.limit.get(),
    })
}

#[derive(Serialize, JsonSchema)]
struct RefusalList<'a> {
    /// The number of the answering process, by the operating system.
    process: u32,
    /// The refusals, the newest first.
    refusals: Vec<RefusalAnswer<'a>>,
}

/// A refusal.
#[derive(Serialize, JsonSchema)]
struct RefusalAnswer<'a> {
    /// Rises with each refusal of the process.
    id: u64,
    /// The time of the first request.
    #[schemars(extend("format" = "date-time"))]
    time: String,
    /// The kind of the request.
    #[schemars(extend("enum" = ["allocation_candidates", "candidates", "claim", "workload"]))]
    kind: &'static str,
    /// The uuid of the consumer or of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    /// The query as a query string.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    /// Whether the query is longer than 2000 bytes. Then parameters are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    query_cut: bool,
    /// The path that explains the query on the present state of the cloud, below the address of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<String>,
    /// The number of refused requests, consumers or replicas.
    count: u64,
    /// The project of the token for a search, else of the consumer or the workload; `null` without a project.
    project_id: Option<&'a str>,
    /// The ids of the requests, by the senders and by the answers. At most 100.
    request_ids: &'a [String],
    /// The reasons, the cause first. Empty for callers who may not explain a query: reasons name hosts.
    reasons: Vec<ReasonAnswer<'a>>,
    /// How often each code applies.
    counts: Pairs<&'static str, usize>,
}

/// Writes a list of refusals. Without reasons the counts of the codes remain.
pub fn write_list(refusals: &[Arc<RefusalRecord>], shows_reasons: bool) -> Vec<u8> {
    json(&RefusalList {
        process: std::process::id(),
        refusals: refusals.iter().map(|refusal| answer(refusal, shows_reasons)).collect(),
    })
}

/// `None` without a query, and for a query that is cut.
fn explain_path(refusal: &RefusalRecord) -> Option<String> {
    let query = &refusal.query.as_ref().filter(|query| !query.is_cut)?.text;
    Some(match refusal.kind {
        RefusalKind::AllocationCandidates => format!("/v1/explain?api=openstack&{query}"),
        _ if refusal.may_exceed_normal => format!("/v1/explain?purpose=place&{query}"),
        RefusalKind::Candidates | RefusalKind::Claim | RefusalKind::Workload => format!("/v1/explain?{query}"),
    })
}

fn answer(refusal: &RefusalRecord, shows_reasons: bool) -> RefusalAnswer<'_> {
    let (mut reasons, counts) = reasons_and_counts(&refusal.reasons);
    if !shows_reasons {
        reasons.clear();
    }
    RefusalAnswer {
        id: refusal.id,
        time: refusal.time_text(),
        kind: Name(refusal.kind).name(),
        uuid: refusal.subject.as_deref(),
        query: refusal.query.as_ref().map(|query| &*query.text),
        query_cut: refusal.query.as_ref().is_some_and(|query| query.is_cut),
        explain: explain_path(refusal).filter(|_| shows_reasons),
        count: refusal.count,
        project_id: refusal.project.as_deref(),
        request_ids: &refusal.request_ids,
        reasons,
        counts,
    }
}
