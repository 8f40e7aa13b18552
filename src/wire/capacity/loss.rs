//! Parses the parameter `without` of `GET /v1/capacity`, and serializes the consumers without a place elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::capacity::loss::{DisplacedConsumer, LossReport};
use crate::search::Domain;
use crate::wire::native::{InDomain, read_query};
use crate::wire::output::Pairs;
use crate::wire::query::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LossParameters {
    without: InDomain,
}

/// The domain of a question with `without`; `None` for a question without. No parameter stands beside `without`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_without(query: &str) -> Result<Option<Domain>> {
    if Query::parse(query)?.last("without").is_none() {
        return Ok(None);
    }
    let LossParameters { without } = read_query(query)?;
    Ok(Some(without.0))
}

/// What the loss of a domain leaves without a place. Only with `without`.
#[derive(Serialize, JsonSchema)]
pub struct DisplacedAnswer<'a> {
    /// The number of hosts in the domain.
    lost_hosts: usize,
    /// The number of consumers with allocations on these hosts.
    consumers: usize,
    /// The number of consumers for which a place elsewhere was found, one after the other.
    placed: usize,
    /// The first 1000 of the other consumers, by uuid.
    without_place: Vec<DisplacedConsumerAnswer<'a>>,
}

/// A consumer without a place elsewhere.
#[derive(Serialize, JsonSchema)]
struct DisplacedConsumerAnswer<'a> {
    /// The consumer's uuid.
    uuid: &'a str,
    /// The project of the consumer.
    project_id: &'a str,
    /// The amounts on the hosts of the domain, by resource class.
    resources: Pairs<&'a str, i64>,
    /// The uuid of the workload. Only for a replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<&'a str>,
    /// The name of the workload. Only for a replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    workload_name: Option<&'a str>,
    /// The id of the replica in the workload. Only for a replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    replica: Option<&'a str>,
}

/// The answer about the loss of a domain.
pub fn displaced(report: &LossReport) -> DisplacedAnswer<'_> {
    DisplacedAnswer {
        lost_hosts: report.hosts,
        consumers: report.consumers,
        placed: report.placed,
        without_place: report.without_place.iter().map(consumer).collect(),
    }
}

fn consumer(displaced: &DisplacedConsumer) -> DisplacedConsumerAnswer<'_> {
    let amounts = displaced.amounts.iter();
    let replica = displaced.replica.as_ref();
    DisplacedConsumerAnswer {
        uuid: &displaced.uuid,
        project_id: &displaced.project,
        resources: amounts.map(|(class, amount)| (&**class, *amount)).collect(),
        workload: replica.map(|replica| &*replica.workload),
        workload_name: replica.map(|replica| &*replica.workload_name),
        replica: replica.map(|replica| &*replica.id),
    }
}
