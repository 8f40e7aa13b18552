//! Allocations: the amounts used by consumers from providers, and the claims for allocations.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::reads::reader::Reader;
use super::resource_providers::{OfProvider, group_by_provider};
use super::{Moment, modified};
use crate::db::DbConnection;
use crate::db::engines::dialect::{among, on_each};
use crate::db::schema::resource_providers as providers;
use crate::db::schema::{allocations, consumer_types, consumers, projects, resource_classes, users};
use crate::error::{Error, Result};

/// The consumer type in answers about a consumer without a type.
pub const UNKNOWN_TYPE: &str = "unknown";

/// Replaces allocations of consumers (`PUT /allocations/{consumer}` and `POST /allocations`). All or nothing.
#[derive(Debug, Clone)]
pub struct Claim {
    pub consumers: Vec<ConsumerClaim>,
    /// `PUT` names its consumer in some refusals, `POST` does not.
    pub names_consumer: bool,
}

/// The wanted allocations of a consumer.
#[derive(Debug, Clone)]
pub struct ConsumerClaim {
    pub consumer: String,
    /// By provider uuid: class names and amounts, which are at least 1. An empty list removes all allocations.
    pub allocations: Vec<(String, Vec<(String, i64)>)>,
    /// Project and user. Before 1.8 a claim may leave both out.
    pub owner: Option<Owner>,
    pub generation: Expected,
    pub takeover: Takeover,
    /// From 1.38. Before, a new consumer has no type, and an existing consumer keeps its type.
    pub consumer_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub project: String,
    pub user: String,
}

/// The projects whose consumers a claim may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// All projects, as through OpenStack's routes.
    AnyProject,
    /// The claim's own project alone. A foreign consumer is refused like an unknown consumer.
    OwnProject,
}

/// The expectation of a claim about the consumer's generation (from 1.28).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Before 1.28: no expectation.
    Any,
    /// `null`: the consumer must not exist.
    New,
    /// The consumer must have this generation.
    Is(i64),
    /// As `Is`, for a number in unusual digits, as in `1.0`.
    Raw(Given),
}

/// A generation as in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub generation: i64,
    /// The literal, which refusals quote: `1.0`.
    pub literal: String,
}

impl From<i64> for Given {
    fn from(generation: i64) -> Given {
        Given {
            generation,
            literal: generation.to_string(),
        }
    }
}

/// `DELETE /allocations/{consumer}`.
#[derive(Debug, Clone)]
pub struct Release {
    pub consumer: String,
}

/// The allocations of a consumer. Without allocations, the remaining fields are `None`.
#[derive(Debug, Clone, Default)]
pub struct ConsumerAllocations {
    /// By provider.
    pub providers: Vec<Share>,
    pub consumer: Option<Consumer>,
    /// When the newest allocation was written.
    pub modified: Option<Moment>,
}

/// The allocations of a consumer from a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderShare {
    pub provider: Arc<str>,
    /// The provider's name; `None` if no answer shows the name.
    pub name: Option<Arc<str>>,
    /// The provider's generation.
    pub generation: i64,
    pub resources: Vec<(Arc<str>, i64)>,
}

/// A consumer with allocations.
#[derive(Debug, Clone)]
pub struct Consumer {
    pub project: String,
    pub user: String,
    pub generation: i64,
    /// `unknown` if the consumer was created without a type.
    pub consumer_type: String,
}

/// The allocations made from a provider.
#[derive(Debug, Clone)]
pub struct ProviderAllocations {
    /// The provider's generation.
    pub generation: i64,
    /// By consumer.
    pub consumers: Vec<Share>,
    pub modified: Option<Moment>,
}

/// The allocations of a consumer, or from a provider, as amounts by class.
#[derive(Debug, Clone)]
pub struct Share {
    /// Of the consumer, or of the provider.
    pub uuid: Arc<str>,
    pub generation: i64,
    pub resources: Vec<(Arc<str>, i64)>,
}

/// A row of a list: an allocation with its consumer or its provider.
#[derive(Queryable)]
struct ShareRow {
    /// The uuid of the consumer, or of the provider.
    uuid: String,
    generation: Option<i32>,
    class: String,
    used: i32,
    updated_at: Option<NaiveDateTime>,
    created_at: Option<NaiveDateTime>,
}

/// A consumer with the names of its project, user and type.
#[derive(Queryable)]
struct NamedConsumer {
    project: String,
    user: String,
    generation: i32,
    consumer_type: Option<String>,
}

/// As [`of_consumer`], in a transaction.
pub async fn fetch_of_consumer(reader: Reader, consumer: String) -> Result<ConsumerAllocations> {
    reader.read(move |conn| of_consumer(conn, &consumer)).await
}

/// The allocations of a consumer. An unknown consumer has none.
pub fn of_consumer(conn: &mut DbConnection, consumer: &str) -> Result<ConsumerAllocations> {
    let Some(found) = find_consumer(conn, consumer)? else {
        return Ok(ConsumerAllocations::default());
    };
    let rows: Vec<ShareRow> = allocations::table
        .inner_join(providers::table.on(providers::id.eq(allocations::resource_provider_id)))
        .inner_join(resource_classes::table.on(resource_classes::id.eq(allocations::resource_class_id)))
        .filter(allocations::consumer_id.eq(consumer))
        .order(allocations::id)
        .select((
            providers::uuid,
            providers::generation,
            resource_classes::name,
            allocations::used,
            allocations::updated_at,
            allocations::created_at,
        ))
        .load(conn)?;
    if rows.is_empty() {
        return Ok(ConsumerAllocations::default());
    }
    let (providers, modified) = group(rows);
    Ok(ConsumerAllocations {
        providers,
        consumer: Some(found),
        modified,
    })
}

fn find_consumer(conn: &mut DbConnection, uuid: &str) -> QueryResult<Option<Consumer>> {
    let row: Option<NamedConsumer> = consumers::table
        .inner_join(projects::table.on(projects::id.eq(consumers::project_id)))
        .inner_join(users::table.on(users::id.eq(consumers::user_id)))
        .left_join(consumer_types::table.on(consumers::consumer_type_id.eq(consumer_types::id.nullable())))
        .filter(consumers::uuid.eq(uuid))
        .select((
            projects::external_id,
            users::external_id,
            consumers::generation,
            consumer_types::name.nullable(),
        ))
        .first(conn)
        .optional()?;
    Ok(row.map(|row| Consumer {
        project: row.project,
        user: row.user,
        generation: row.generation.into(),
        consumer_type: row.consumer_type.unwrap_or_else(|| UNKNOWN_TYPE.to_string()),
    }))
}

/// The allocations from a provider, to consumers that have a row. MariaDB may find a different spelling of the uuid.
pub fn of_provider(conn: &mut DbConnection, provider: &str) -> Result<Arc<ProviderAllocations>> {
    let found = of_providers(conn, &[provider])?.into_values().next();
    found.ok_or_else(|| Error::ProviderNotFoundForAllocations {
        uuid: provider.to_owned(),
    })
}

/// As `of_provider`, for several providers, by uuid.
pub fn of_providers(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, Arc<ProviderAllocations>>> {
    let columns = (
        consumers::uuid,
        consumers::generation.nullable(),
        resource_classes::name,
        allocations::used,
        allocations::updated_at,
        allocations::created_at,
    );
    let rows: Vec<OfProvider<(i32, ShareRow)>> = on_each!(conn, conn => providers::table
        .left_join(allocations::table.on(allocations::resource_provider_id.eq(providers::id)))
        .left_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
        .left_join(resource_classes::table.on(resource_classes::id.eq(allocations::resource_class_id)))
        .filter(among(providers::uuid, uuids))
        .select((providers::uuid, (providers::generation, (allocations::id, columns).nullable())))
        .load(conn))?;
    let allocations = group_by_provider(rows).into_iter().map(|(uuid, (generation, rows))| {
        let (consumers, modified) = group(rows);
        let found = ProviderAllocations {
            generation,
            consumers,
            modified,
        };
        (uuid, Arc::new(found))
    });
    Ok(allocations.collect())
}

/// Groups the rows by uuid, in the order of the rows, and finds the newest time.
fn group(rows: Vec<ShareRow>) -> (Vec<Share>, Option<Moment>) {
    let mut shares: Vec<Share> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut newest = None;
    for row in rows {
        let position = *positions.entry(row.uuid).or_insert_with_key(|uuid| {
            shares.push(Share {
                uuid: uuid.as_str().into(),
                generation: row.generation.unwrap_or_default().into(),
                resources: Vec::new(),
            });
            shares.len() - 1
        });
        shares[position].resources.push((row.class.into(), row.used.into()));
        newest = newest.max(modified(row.updated_at, row.created_at));
    }
    (shares, newest)
}
