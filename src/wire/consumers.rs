//! Parses the query of `GET /v1/consumers`, serializes the answer, and describes the noun.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::native::{
    ListForm, ListItem, NameList, Named, Noun, NounOperation, PageLimit, Text, Whole, WrittenPage, read_query,
    write_page,
};
use super::output::Pairs;
use crate::error::Result;
use crate::model::consumers::{ConsumerFilter, ListedConsumer};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "consumers",
    about: "Consumers with their project, user and type, and with their allocations: who has what.",
    fields: &[],
    operations: &[NounOperation::new::<ListParameters>(
        "GET /v1/consumers",
        "List consumers",
        "By uuid, at most `limit` (1000 by default) after the uuid `after`; a page ends earlier with the consumer that \
            brings the page to 4 MiB. `next` is the `after` of the next page, or null; the header `Link` has the \
            address. A page is a consistent read of the tables. With `fields=allocations`, each consumer has the \
            allocations by provider. `fields=allocations` and `provider` need the policy rules \
            `placement:allocations:list`, `placement:resource_providers:list` and \
            `placement:resource_providers:allocations:list`. Without `project_id`, callers who may not see all \
            projects see their own. With `Accept: application/x-ndjson`, each consumer is a line. An `ETag` of the \
            page before in `If-None-Match` makes the answer 304 if the page is the same.",
    )
    .page::<ListedConsumerAnswer>()
    .refusals(&["BadRequest", "DuplicateQueryKey", "Forbidden", "NotFound"])],
};

/// A part of a consumer in the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ConsumerField {
    Allocations,
}

impl Named for ConsumerField {
    const NAMES: &'static [(&'static str, ConsumerField)] = &[("allocations", ConsumerField::Allocations)];
}

/// A hundred years. Databases have no times of long ago.
const MAX_SECONDS: i64 = 100 * 366 * 24 * 3_600;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The project of the consumers.
    project_id: Option<Text<1, 255>>,
    /// The user of the consumers.
    user_id: Option<Text<1, 255>>,
    /// The type of the consumers. `unknown`: consumers without a type.
    #[serde(rename = "type")]
    kind: Option<Text<1, 255>>,
    /// The uuid or the name of a provider: consumers with allocations of this provider, or of a provider below.
    provider: Option<Text<1, 255>>,
    /// A number of seconds: consumers whose last write is longer ago, or without a time.
    older_than: Option<Whole<0, MAX_SECONDS>>,
    /// `allocations`: with the allocations.
    fields: Option<NameList<ConsumerField>>,
    /// The most consumers of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The uuid of the consumer after which the page begins.
    after: Option<Text<1, 36>>,
}

/// Reads the query string of `GET /v1/consumers`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<ConsumerFilter> {
    let parameters: ListParameters = read_query(query)?;
    let text = |text: Option<Text<1, 255>>| text.map(|text| text.0);
    Ok(ConsumerFilter {
        project: text(parameters.project_id),
        user: text(parameters.user_id),
        kind: text(parameters.kind),
        provider: text(parameters.provider),
        older_than: parameters.older_than.map(|seconds| seconds.0),
        has_allocations: parameters
            .fields
            .is_some_and(|fields| fields.0.contains(&ConsumerField::Allocations)),
        limit: parameters.limit.get(),
        after: parameters.after.map(|uuid| uuid.0),
    })
}

/// A consumer.
#[derive(Serialize, JsonSchema)]
struct ListedConsumerAnswer<'a> {
    /// The consumer's uuid.
    uuid: &'a str,
    /// The type; `unknown` without a type.
    consumer_type: &'a str,
    /// The project of the consumer.
    project_id: &'a str,
    /// The user of the consumer.
    user_id: &'a str,
    /// The generation, as of `GET /allocations/{consumer_uuid}`.
    consumer_generation: i64,
    /// The time of the first write; `null` if unknown.
    #[schemars(extend("format" = "date-time"))]
    created_at: Option<&'a str>,
    /// The time of the last write; `null` if unknown.
    #[schemars(extend("format" = "date-time"))]
    updated_at: Option<&'a str>,
    /// The allocations by the uuid of the provider. Only with `fields=allocations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<Pairs<&'a str, ConsumerShareAnswer<'a>>>,
}

impl ListItem for ListedConsumerAnswer<'_> {
    const LIST: &'static str = "consumers";
}

/// The allocations from a provider.
#[derive(Serialize, JsonSchema)]
struct ConsumerShareAnswer<'a> {
    /// The name of the provider.
    name: &'a str,
    /// The amounts by resource class.
    resources: Pairs<&'a str, i64>,
}

/// Writes a page of consumers. `next` is the uuid after which the next page begins.
pub fn write_list(form: ListForm, consumers: &[ListedConsumer], next: Option<&str>) -> WrittenPage {
    let items = consumers.iter().map(|consumer| (&*consumer.uuid, answer(consumer)));
    write_page(form, items, next)
}

fn answer(consumer: &ListedConsumer) -> ListedConsumerAnswer<'_> {
    let shares = consumer.allocations.as_ref().map(|shares| {
        let shares = shares.iter().map(|share| {
            let resources = share.resources.iter();
            let written = ConsumerShareAnswer {
                name: &share.name,
                resources: resources.map(|(class, amount)| (&**class, *amount)).collect(),
            };
            (&*share.provider, written)
        });
        shares.collect()
    });
    ListedConsumerAnswer {
        uuid: &consumer.uuid,
        consumer_type: &consumer.kind,
        project_id: &consumer.project,
        user_id: &consumer.user,
        consumer_generation: consumer.generation,
        created_at: consumer.created.as_deref(),
        updated_at: consumer.updated.as_deref(),
        allocations: shares,
    }
}
