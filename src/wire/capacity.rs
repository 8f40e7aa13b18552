//! Parses the query of `GET /v1/capacity`, serializes the answer, and describes the noun.

mod loss;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::loss::read_without;
use self::loss::{DisplacedAnswer, displaced};
use super::bad_request;
use super::candidates::{BesideQuery, SEARCH_REFUSALS, read_beside_query};
use super::native::{InDomain, Name, Named, Noun, NounOperation, PageLimit, Text, Whole};
use super::output::json;
use super::text_form::check;
use crate::error::Result;
use crate::model::capacity::loss::LossReport;
use crate::model::capacity::{
    CapacityQuestion, CapacityReport, CloudPartKind, ConsumerBounds, FreeClass, PageOfParts, RoomReport,
};
use crate::search::{Purpose, Request};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "capacity",
    about: "How many more consumers of a query fit, in all and by aggregate, domain or host.",
    fields: &[],
    operations: &[NounOperation::new::<BesideQuery<CapacityParameters>>(
        "GET /v1/capacity",
        "Count how many more consumers of a query fit",
        "The query is that of `GET /v1/candidates`. `fits` is a number of further consumers for which a packing was \
            found. `at_most` is a bound from sums over providers. Both are equal if each host serves the query in one \
            way, or in ways without a common provider, and with one pool for all hosts; `exact` says so. `limited_by` \
            is the class that ends first on most hosts, or in the pools. `hosts` is the number of hosts that can serve the query if \
            room does not count. `classes` has the free amounts of these hosts, in sum and on one provider: a great \
            `sum` may be in small pieces. A class whose total is 2147483647 has no limit, and null for both. The \
            numbers are within the normal limits of classes, unless the `purpose` may exceed these. `fits_hard` is \
            within the capacity, and is there if a class has a normal limit. With `by`, `parts` has the same numbers \
            for each aggregate of root providers, each domain of a `dimension`, or each host, at most `limit` (1000 \
            by default) after the key `after`; a page ends earlier with the part that brings the page to 4 MiB. Parts \
            may share hosts and pools, so a sum over parts may count consumers twice. With `count`, `enough` says \
            whether this number of consumers fits; `enough` is null if `count` is above `fits` and not above `at_most`. \
            With `without` alone, instead of a query, the answer is about the loss of a domain: which consumers on \
            the hosts of the domain would find no place on one of the other hosts. Amounts on sharing providers stay, \
            and a host must be in an aggregate of each of these providers. \
            Allocations do not say which traits a consumer needs, and the rules of workloads do not count, so a \
            consumer with a place here may have none for these reasons. Larger consumers are placed first, so another \
            order may leave other consumers. `without` needs the policy rule `placement:allocations:list` too.",
    )
    .answer::<CapacityAnswer>()
    .refusals(SEARCH_REFUSALS)],
};

/// The kind of the parts of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Aggregate,
    Domain,
    Provider,
}

impl Named for By {
    const NAMES: &'static [(&'static str, By)] = &[
        ("aggregate", By::Aggregate),
        ("domain", By::Domain),
        ("provider", By::Provider),
    ];
}

/// The parameters beside the query.
#[derive(Deserialize, JsonSchema)]
struct CapacityParameters {
    /// The wanted number of consumers.
    count: Option<Whole<1, { i64::MAX }>>,
    /// Also by `aggregate`, `domain` or `provider`.
    by: Option<Name<By>>,
    /// The dimension of the domains, with `by=domain`.
    dimension: Option<Text<1, 255>>,
    /// What the claims are for, as in `GET /v1/candidates`.
    #[serde(default)]
    purpose: Name<Purpose>,
    /// The most parts of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The key of the part after which the page begins.
    after: Option<Text<1, 1_024>>,
    /// A domain as `dimension:path`, alone: the consumers without a place elsewhere.
    #[serde(rename = "without")]
    _without: Option<InDomain>,
}

/// Reads the query string of `GET /v1/capacity`. Also returns the wanted number of consumers.
///
/// # Errors
/// As of [`read_beside_query`]. A dimension without `by=domain`, or none with it.
pub fn read_show(query: &str) -> Result<(CapacityQuestion, Option<u64>)> {
    let (asked, request): (CapacityParameters, Request) = read_beside_query(query)?;
    let kind = match (asked.by.map(|by| by.0), asked.dimension) {
        (Some(By::Domain), Some(dimension)) => {
            check("dimension", &dimension.0)?;
            Some(CloudPartKind::Domain(dimension.0))
        }
        (Some(By::Domain), None) => return bad_request("'by=domain' needs a 'dimension', such as fault."),
        (_, Some(_)) => return bad_request("'dimension' stands beside 'by=domain' alone."),
        (Some(By::Aggregate), None) => Some(CloudPartKind::Aggregate),
        (Some(By::Provider), None) => Some(CloudPartKind::Provider),
        (None, None) => None,
    };
    let (limit, after) = (asked.limit.get(), asked.after.map(|key| key.0));
    let question = CapacityQuestion {
        request,
        purpose: asked.purpose.0,
        by: kind.map(|kind| PageOfParts { kind, limit, after }),
    };
    Ok((question, asked.count.map(|count| count.0.unsigned_abs())))
}

/// The answer to a query, or to `without`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum CapacityAnswer<'a> {
    /// To a query.
    Room(ConsumersAnswer<'a>),
    /// To `without`.
    Loss(DisplacedAnswer<'a>),
}

/// How many more consumers fit.
#[derive(Serialize, JsonSchema)]
struct ConsumersAnswer<'a> {
    /// Whether `count` consumers fit; `null` if unknown. Only with `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    enough: Option<Option<bool>>,
    #[serde(flatten)]
    all: RoomAnswer<'a>,
    /// The parts of the page. Only with `by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<PartAnswer<'a>>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// A part of the cloud.
#[derive(Serialize, JsonSchema)]
struct PartAnswer<'a> {
    /// The uuid of the aggregate or of the host, or the path of the domain.
    key: &'a str,
    /// The name of the host. Only with `by=provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(flatten)]
    room: RoomAnswer<'a>,
}

/// The room on some hosts.
#[derive(Serialize, JsonSchema)]
struct RoomAnswer<'a> {
    /// The number of hosts for the query if room does not count.
    hosts: usize,
    /// This number of further consumers fits.
    fits: u64,
    /// A bound of the number; `null` without a bound.
    at_most: Option<u64>,
    /// Whether `fits` and `at_most` are equal.
    exact: bool,
    /// As `fits`, within the capacity. Only if a class has a normal limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    fits_hard: Option<u64>,
    /// The class with the least room on most hosts, full hosts too, or in the pools; `null` without hosts.
    limited_by: Option<&'a str>,
    /// The requested classes.
    classes: Vec<FreeAnswer<'a>>,
}

/// The free amounts of a class on the hosts with the providers below.
#[derive(Serialize, JsonSchema)]
struct FreeAnswer<'a> {
    /// The resource class.
    resource_class: &'a str,
    /// The amount of a consumer.
    requested: i64,
    /// In sum; `null` without a limit.
    sum: Option<i64>,
    /// The greatest amount of one provider; `null` without a limit.
    largest: Option<i64>,
}

/// Writes a report. `count` is the wanted number of consumers.
pub fn write_show(report: &CapacityReport, count: Option<u64>) -> Vec<u8> {
    json(&CapacityAnswer::Room(ConsumersAnswer {
        enough: count.map(|count| is_enough(&report.all.count, count)),
        all: room(&report.all),
        parts: report.parts.as_ref().map(|parts| parts.iter().map(part).collect()),
        next: report.next.as_deref(),
    }))
}

/// Writes the consumers that the loss of a domain leaves without a place.
pub fn write_loss(report: &LossReport) -> Vec<u8> {
    json(&CapacityAnswer::Loss(displaced(report)))
}

/// `None` if the packing has fewer consumers, and the bound more.
fn is_enough(count: &ConsumerBounds, wanted: u64) -> Option<bool> {
    if count.found >= wanted {
        return Some(true);
    }
    count.most.filter(|most| *most < wanted).map(|_| false)
}

fn part((key, of_part): &(String, RoomReport)) -> PartAnswer<'_> {
    PartAnswer {
        key,
        name: of_part.name.as_deref(),
        room: room(of_part),
    }
}

fn room(room: &RoomReport) -> RoomAnswer<'_> {
    RoomAnswer {
        hosts: room.hosts,
        fits: room.count.found,
        at_most: room.count.most,
        exact: room.count.is_exact,
        fits_hard: room.hard.as_ref().map(|hard| hard.found),
        limited_by: room.count.limited_by.as_deref(),
        classes: room.classes.iter().map(free).collect(),
    }
}

fn free(free: &FreeClass) -> FreeAnswer<'_> {
    FreeAnswer {
        resource_class: &free.class,
        requested: free.requested,
        sum: free.sum,
        largest: free.largest,
    }
}
