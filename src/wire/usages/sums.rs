//! Parses the query of `GET /v1/usages`, serializes the answer, and describes the noun.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::usages::sums::{ClassUsage, SummedThings, UsageKey, UsageQuestion, UsageSums};
use crate::search::HOST_DIMENSION;
use crate::wire::bad_request;
use crate::wire::native::{
    ListForm, ListItem, Name, Named, Noun, NounOperation, PageLimit, Text, WrittenPage, read_query, write_page,
};
use crate::wire::output::Pairs;
use crate::wire::text_form::check;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "usage_sums",
    about: "Sums of usages by resource class, aggregate, domain, root provider, project or consumer type.",
    fields: &[],
    operations: &[NounOperation::new::<ListParameters>(
        "GET /v1/usages",
        "List sums of usages",
        "By key, at most `limit` (1000 by default) after the key `after`. `next` is the `after` of the next page, or \
            null; the header `Link` has the address. By `resource_class`, `aggregate`, `domain` and `root` the sums go \
            over providers, and have the capacity too: `aggregate` has the providers that are members themselves, \
            `domain` those in a domain of the `dimension` or in domains inside, `root` those of a tree. These sums \
            need the policy rules of OpenStack's routes for providers, inventories and usages, and `by=aggregate` and \
            `by=domain` those for aggregates and for `GET /v1/domains`. By `project` and `type` the sums go over consumers. \
            A type without allocations has no sums, so a page by `type` may have fewer keys than `limit`. \
            Callers who may not see all projects see the sums of their own. With `Accept: application/x-ndjson`, each \
            key is a line. An `ETag` of the page before in `If-None-Match` makes the answer 304 if the page is the \
            same.",
    )
    .page::<SumsAnswer>()
    .refusals(&["BadRequest", "DuplicateQueryKey", "Forbidden", "Busy"])],
};

/// The kind of the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
enum UsageGrouping {
    ResourceClass,
    Aggregate,
    Domain,
    Root,
    Project,
    Type,
}

impl Named for UsageGrouping {
    const NAMES: &'static [(&'static str, UsageGrouping)] = &[
        ("resource_class", UsageGrouping::ResourceClass),
        ("aggregate", UsageGrouping::Aggregate),
        ("domain", UsageGrouping::Domain),
        ("root", UsageGrouping::Root),
        ("project", UsageGrouping::Project),
        ("type", UsageGrouping::Type),
    ];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The kind of the keys: `resource_class`, `aggregate`, `domain`, `root`, `project` or `type`.
    by: Name<UsageGrouping>,
    /// The dimension of the domains, with `by=domain`.
    dimension: Option<Text<1, 255>>,
    /// The project of the consumers, with `by=project` or `by=type`.
    project_id: Option<Text<1, 255>>,
    /// The most keys of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The key after which the page begins.
    after: Option<Text<1, 1_024>>,
}

/// Reads the query string of `GET /v1/usages`.
///
/// # Errors
/// The first wrong parameter. A dimension without `by=domain`, or none with it. A project for sums over providers.
pub fn read_list(query: &str) -> Result<UsageQuestion> {
    let parameters: ListParameters = read_query(query)?;
    let by = match (parameters.by.0, parameters.dimension) {
        (UsageGrouping::Domain, Some(dimension)) => {
            check("dimension", &dimension.0)?;
            if dimension.0 == HOST_DIMENSION {
                return bad_request("'by=root' has the sums of each host.");
            }
            UsageKey::Domain(dimension.0)
        }
        (UsageGrouping::Domain, None) => return bad_request("'by=domain' needs a 'dimension', such as fault."),
        (_, Some(_)) => return bad_request("'dimension' stands beside 'by=domain' alone."),
        (UsageGrouping::ResourceClass, None) => UsageKey::ResourceClass,
        (UsageGrouping::Aggregate, None) => UsageKey::Aggregate,
        (UsageGrouping::Root, None) => UsageKey::Root,
        (UsageGrouping::Project, None) => UsageKey::Project,
        (UsageGrouping::Type, None) => UsageKey::Type,
    };
    let is_of_consumers = matches!(by, UsageKey::Project | UsageKey::Type);
    if parameters.project_id.is_some() && !is_of_consumers {
        return bad_request("'project_id' stands beside 'by=project' and 'by=type' alone.");
    }
    Ok(UsageQuestion {
        by,
        project: parameters.project_id.map(|project| project.0),
        limit: parameters.limit.get(),
        after: parameters.after.map(|key| key.0),
    })
}

/// The sums of a key.
#[derive(Serialize, JsonSchema)]
struct SumsAnswer<'a> {
    /// The name of the class or of the type, the uuid of the aggregate or of the root, the path, or the project.
    key: &'a str,
    /// The name of the root. Only with `by=root`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The number of providers. Only for sums over providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    providers: Option<u64>,
    /// The number of consumers. Only for sums over consumers.
    #[serde(skip_serializing_if = "Option::is_none")]
    consumers: Option<u64>,
    /// The sums by resource class.
    resource_classes: Pairs<&'a str, ClassSumsAnswer>,
}

impl ListItem for SumsAnswer<'_> {
    const LIST: &'static str = "usages";
}

/// The sums of a class. Sums over consumers have `used` alone.
#[derive(Default, Serialize, JsonSchema)]
struct ClassSumsAnswer {
    /// The amount in use.
    used: i64,
    /// The totals of the inventories.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// The reserved amounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved: Option<i64>,
    /// `(total - reserved) * allocation_ratio`, rounded down for each provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<i64>,
    /// The rest of the capacity, for each provider at least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    free: Option<i64>,
    /// The largest hole: the greatest rest of a single provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_free: Option<i64>,
}

/// Writes a page of sums. `next` is the key after which the next page begins.
pub fn write_list(form: ListForm, sums: &[UsageSums], next: Option<&str>) -> WrittenPage {
    let items = sums.iter().map(|sums| (&*sums.key, answer(sums)));
    write_page(form, items, next)
}

fn answer(sums: &UsageSums) -> SumsAnswer<'_> {
    let (providers, consumers) = match sums.counted {
        SummedThings::Providers(count) => (Some(count), None),
        SummedThings::Consumers(count) => (None, Some(count)),
    };
    let classes = sums
        .classes
        .iter()
        .map(|(class, usage)| (&**class, class_answer(usage)));
    SumsAnswer {
        key: &sums.key,
        name: sums.name.as_deref(),
        providers,
        consumers,
        resource_classes: classes.collect(),
    }
}

fn class_answer(usage: &ClassUsage) -> ClassSumsAnswer {
    match usage {
        ClassUsage::OfConsumers(used) => ClassSumsAnswer {
            used: *used,
            ..ClassSumsAnswer::default()
        },
        ClassUsage::OfProviders(totals) => ClassSumsAnswer {
            used: totals.used,
            total: Some(totals.total),
            reserved: Some(totals.reserved),
            capacity: Some(totals.capacity),
            free: Some(totals.free),
            largest_free: Some(totals.largest_free),
        },
    }
}
