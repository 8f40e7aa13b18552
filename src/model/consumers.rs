//! Consumers with their owners and allocations, from the tables (`GET /v1/consumers`). Each page is of one moment, and
//! pages go by uuid, which no write changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{NaiveDateTime, SecondsFormat, TimeDelta};
use diesel::prelude::*;
use uuid::Uuid;

use super::Model;
use super::allocation_groups;
use super::allocations::UNKNOWN_TYPE;
use super::pages;
use super::reads::reader::Reader;
use crate::db::DbConnection;
use crate::db::engines::dialect::{LIST_MAX, in_lists, now};
use crate::db::schema::{
    allocations, consumer_types, consumers as table, projects, resource_classes, resource_providers, users,
};
use crate::error::{Error, Result};

/// The consumers of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerFilter {
    pub project: Option<String>,
    pub user: Option<String>,
    /// The consumer type. [`UNKNOWN_TYPE`]: consumers without a type.
    pub kind: Option<String>,
    /// The uuid or the name of a provider: consumers with allocations of the provider, or of a provider below.
    pub provider: Option<String>,
    /// The consumer was written for the last time before this number of seconds.
    pub older_than: Option<i64>,
    pub has_allocations: bool,
    pub limit: usize,
    /// The uuid after which the page begins.
    pub after: Option<String>,
}

/// A consumer of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedConsumer {
    pub uuid: String,
    pub project: String,
    pub user: String,
    /// [`UNKNOWN_TYPE`] without a type.
    pub kind: String,
    pub generation: i64,
    /// The time of the first write, in the form of RFC 3339.
    pub created: Option<String>,
    /// The time of the last write.
    pub updated: Option<String>,
    /// By provider. `None` unless the list has allocations.
    pub allocations: Option<Vec<ConsumerShare>>,
}

/// The allocations of a consumer from a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerShare {
    /// Uuid.
    pub provider: String,
    pub name: String,
    pub resources: Vec<(String, i64)>,
}

/// A row of the list.
#[derive(Queryable)]
struct ListedConsumerRow {
    uuid: String,
    project: String,
    user: String,
    kind: Option<String>,
    generation: i32,
    created_at: Option<NaiveDateTime>,
    updated_at: Option<NaiveDateTime>,
}

/// The consumers of a page, by uuid, and the uuid after which the next page begins.
///
/// # Errors
/// [`Error::NotFound`] for an unknown provider. Errors of the database.
pub async fn fetch_list(
    model: &Model,
    reader: Reader,
    filter: ConsumerFilter,
) -> Result<(Vec<ListedConsumer>, Option<String>)> {
    let read = move |conn: &mut DbConnection| list(conn, &filter);
    reader.read_page(&model.pools.page_reads, read).await
}

fn list(conn: &mut DbConnection, filter: &ConsumerFilter) -> Result<(Vec<ListedConsumer>, Option<String>)> {
    let mut rows = rows(conn, filter)?;
    let mut has_more = rows.len() > filter.limit;
    rows.truncate(filter.limit);
    let uuids: Vec<String> = rows.iter().map(|row| row.uuid.clone()).collect();
    let mut shares = HashMap::new();
    if filter.has_allocations {
        let read;
        (shares, read) = read_shares(conn, &uuids)?;
        let length = |row: &ListedConsumerRow| {
            let of_consumer = shares.get(&row.uuid).into_iter().flatten();
            of_consumer.map(|share| share.resources.len()).sum::<usize>() * ALLOCATION_BYTES
        };
        let is_cut;
        (rows, is_cut) = pages::cut(rows, read, length);
        has_more |= is_cut;
    }
    let next = rows.last().filter(|_| has_more).map(|last| last.uuid.clone());
    let time = |time: Option<NaiveDateTime>| time.map(|time| time.and_utc().to_rfc3339_opts(SecondsFormat::Secs, true));
    let listed = rows.into_iter().map(|row| ListedConsumer {
        allocations: filter
            .has_allocations
            .then(|| shares.remove(&row.uuid).unwrap_or_default()),
        uuid: row.uuid,
        project: row.project,
        user: row.user,
        kind: row.kind.unwrap_or_else(|| UNKNOWN_TYPE.to_owned()),
        generation: row.generation.into(),
        created: time(row.created_at),
        updated: time(row.updated_at.or(row.created_at)),
    });
    Ok((listed.collect(), next))
}

/// The rows of a page, and a further row if there is a next page.
fn rows(conn: &mut DbConnection, filter: &ConsumerFilter) -> Result<Vec<ListedConsumerRow>> {
    let mut query = table::table
        .inner_join(projects::table.on(projects::id.eq(table::project_id)))
        .inner_join(users::table.on(users::id.eq(table::user_id)))
        .left_join(consumer_types::table.on(table::consumer_type_id.eq(consumer_types::id.nullable())))
        .into_boxed();
    if let Some(after) = &filter.after {
        query = query.filter(table::uuid.gt(after));
    }
    if let Some(project) = &filter.project {
        query = query.filter(projects::external_id.eq(project));
    }
    if let Some(user) = &filter.user {
        query = query.filter(users::external_id.eq(user));
    }
    match filter.kind.as_deref() {
        Some(UNKNOWN_TYPE) => query = query.filter(table::consumer_type_id.is_null()),
        Some(kind) => query = query.filter(consumer_types::name.eq(kind)),
        None => {}
    }
    if let Some(seconds) = filter.older_than {
        let end = TimeDelta::try_seconds(seconds).and_then(|age| now().checked_sub_signed(age));
        let Some(end) = end else { return Ok(Vec::new()) };
        let is_old = table::created_at.lt(end).or(table::created_at.is_null());
        query = query.filter(table::updated_at.lt(end).or(table::updated_at.is_null().and(is_old)));
    }
    if let Some(named) = &filter.provider {
        let providers = find_provider(conn, named)?;
        query = match providers {
            NamedProvider::Root(root) => {
                let of_tree = allocations::table
                    .inner_join(
                        resource_providers::table.on(resource_providers::id.eq(allocations::resource_provider_id)),
                    )
                    .filter(resource_providers::root_provider_id.eq(root))
                    .select(allocations::consumer_id);
                query.filter(table::uuid.eq_any(of_tree))
            }
            NamedProvider::Below(ids) => {
                let of_subtree = allocations::table
                    .filter(allocations::resource_provider_id.eq_any(ids))
                    .select(allocations::consumer_id);
                query.filter(table::uuid.eq_any(of_subtree))
            }
        };
    }
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX).saturating_add(1);
    Ok(query
        .order(table::uuid)
        .limit(limit)
        .select((
            table::uuid,
            projects::external_id,
            users::external_id,
            consumer_types::name.nullable(),
            table::generation,
            table::created_at,
            table::updated_at,
        ))
        .load(conn)?)
}

/// The providers that a name stands for.
enum NamedProvider {
    /// The tree of a root, by the id of the root.
    Root(i32),
    /// A provider below a root with the providers below, by id.
    Below(Vec<i32>),
}

/// Finds a provider by uuid, or else by name.
fn find_provider(conn: &mut DbConnection, named: &str) -> Result<NamedProvider> {
    use resource_providers as t;
    let uuid = Uuid::try_parse(named).map_or_else(|_| named.to_owned(), |uuid| uuid.to_string());
    let columns = (t::id, t::root_provider_id, t::parent_provider_id);
    let by_uuid = t::table
        .filter(t::uuid.eq(uuid))
        .select(columns)
        .first(conn)
        .optional()?;
    let found: Option<(i32, Option<i32>, Option<i32>)> = match by_uuid {
        Some(found) => Some(found),
        None => t::table
            .filter(t::name.eq(named))
            .select(columns)
            .first(conn)
            .optional()?,
    };
    let Some((id, root, parent)) = found else {
        return Err(Error::NotFound {
            noun: format!("provider {named}"),
        });
    };
    if parent.is_none() {
        return Ok(NamedProvider::Root(root.unwrap_or(id)));
    }
    let tree: Vec<(i32, Option<i32>)> = t::table
        .filter(t::root_provider_id.eq(root))
        .select((t::id, t::parent_provider_id))
        .load(conn)?;
    let subtree = subtree(id, &tree);
    if subtree.len() > LIST_MAX {
        return Err(Error::BadRequest {
            detail: format!(
                "provider: {} providers are below {named}, and at most {LIST_MAX} are searched. Name the root of the tree.",
                subtree.len()
            ),
        });
    }
    Ok(NamedProvider::Below(subtree))
}

/// The ids of a provider and of the providers below. `tree` has the parent of each provider.
fn subtree(top: i32, tree: &[(i32, Option<i32>)]) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (id, parent) in tree {
        if let Some(parent) = parent {
            children.entry(*parent).or_default().push(*id);
        }
    }
    let (mut found, mut at) = (vec![top], 0);
    while let Some(id) = found.get(at) {
        found.extend(children.remove(id).unwrap_or_default());
        at += 1;
    }
    found
}

/// The approximate length of an allocation in the answer.
const ALLOCATION_BYTES: usize = 120;

/// How many consumers' allocations are read at once.
const CONSUMERS_AT_ONCE: usize = 100;

/// The allocations of the first consumers, by consumer and provider, and the number of these consumers. The read ends
/// with the consumers that bring the allocations to [`pages::PAGE_BYTES`].
///
/// A join would read all providers for each page.
fn read_shares(conn: &mut DbConnection, uuids: &[String]) -> Result<(HashMap<String, Vec<ConsumerShare>>, usize)> {
    let (mut rows, mut count): (Vec<(String, i32, i32, i32)>, usize) = (Vec::new(), 0);
    for uuids in uuids.chunks(CONSUMERS_AT_ONCE) {
        let of_consumers = allocations::table.filter(allocations::consumer_id.eq_any(uuids));
        let columns = (
            allocations::consumer_id,
            allocations::resource_provider_id,
            allocations::resource_class_id,
            allocations::used,
        );
        rows.extend(of_consumers.select(columns).load::<(String, i32, i32, i32)>(conn)?);
        count += uuids.len();
        if rows.len() * ALLOCATION_BYTES >= pages::PAGE_BYTES {
            break;
        }
    }
    let providers = names_of_providers(conn, rows.iter().map(|row| row.1).collect())?;
    let classes = names_of_classes(conn, rows.iter().map(|row| row.2).collect())?;
    let rows = rows.into_iter().filter_map(|(consumer, provider, class, used)| {
        Some((consumer, providers.get(&provider)?, classes.get(&class)?.clone(), used))
    });
    let share = |((provider, name), resources): (&(String, Option<String>), _)| ConsumerShare {
        provider: provider.clone(),
        name: name.clone().unwrap_or_default(),
        resources,
    };
    let by_consumer = allocation_groups::by_key(rows.collect()).into_iter();
    let shares = by_consumer.map(|(consumer, shares)| (consumer, shares.into_iter().map(share).collect()));
    Ok((shares.collect(), count))
}

/// The uuids and the names of providers, by id.
fn names_of_providers(
    conn: &mut DbConnection,
    ids: BTreeSet<i32>,
) -> QueryResult<HashMap<i32, (String, Option<String>)>> {
    use resource_providers as t;
    let ids: Vec<i32> = ids.into_iter().collect();
    let found = in_lists(&ids, |ids| {
        let names = t::table.filter(t::id.eq_any(ids));
        names.select((t::id, (t::uuid, t::name))).load(&mut *conn)
    });
    Ok(found?.into_iter().collect())
}

/// The names of classes, by id.
fn names_of_classes(conn: &mut DbConnection, ids: BTreeSet<i32>) -> QueryResult<HashMap<i32, String>> {
    use resource_classes as t;
    let ids: Vec<i32> = ids.into_iter().collect();
    let found = in_lists(&ids, |ids| {
        let names = t::table.filter(t::id.eq_any(ids));
        names.select((t::id, t::name)).load(&mut *conn)
    });
    Ok(found?.into_iter().collect())
}
