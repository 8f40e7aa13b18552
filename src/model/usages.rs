//! Usages: sums over allocations.

pub mod sums;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use diesel::dsl::{count, sum};
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::allocations::UNKNOWN_TYPE;
use super::reads::reader::Reader;
use super::resource_providers;
use super::snapshot::load;
use crate::db::DbConnection;
use crate::db::schema::{allocations, consumer_types, consumers, inventories, projects, users};
use crate::error::{Error, Result};
use crate::search::ClassId;

/// The usages of a provider: the sum for every class of the provider's inventories. A sum may be 0.
#[derive(Debug, Clone)]
pub struct ProviderUsages {
    pub generation: i64,
    pub usages: Vec<(Arc<str>, i64)>,
}

/// The usages of a project or of all projects, or of a user.
#[derive(Debug, Clone)]
pub struct TotalQuery {
    pub project: Option<String>,
    pub user: Option<String>,
}

/// The consumers that `GET /usages` includes from 1.38, and their groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeFilter {
    /// Each type in a group of its own. Consumers without a type are in the group `unknown`.
    Each,
    /// `consumer_type=all`: one group of all consumers.
    All,
    /// Only consumers of these types, each in a group of its own. `unknown`: consumers without a type.
    AnyOf(BTreeSet<String>),
}

/// One group of `GET /usages` from 1.38.
#[derive(Debug, Clone)]
pub struct TypeUsages {
    pub consumer_type: Arc<str>,
    pub consumer_count: i64,
    pub usages: Vec<(Arc<str>, i64)>,
}

/// As [`of_provider`], in a transaction.
pub async fn fetch_of_provider(reader: Reader, provider: String) -> Result<ProviderUsages> {
    reader.read(move |conn| of_provider(conn, &provider)).await
}

/// As [`total`], in a transaction.
pub async fn fetch_total(reader: Reader, query: TotalQuery) -> Result<Vec<(Arc<str>, i64)>> {
    reader.read(move |conn| total(conn, &query)).await
}

/// As [`by_type`], in a transaction.
pub async fn fetch_by_type(reader: Reader, query: TotalQuery, filter: TypeFilter) -> Result<Vec<TypeUsages>> {
    reader.read(move |conn| by_type(conn, &query, &filter)).await
}

/// The usages of a provider.
pub fn of_provider(conn: &mut DbConnection, provider: &str) -> Result<ProviderUsages> {
    let Some((id, generation)) = resource_providers::find(conn, provider)? else {
        return Err(Error::ProviderNotFoundForUsages {
            uuid: provider.to_string(),
        });
    };
    let sums: Vec<(i32, Option<i64>)> = inventories::table
        .left_join(
            allocations::table.on(allocations::resource_provider_id
                .eq(inventories::resource_provider_id)
                .and(allocations::resource_class_id.eq(inventories::resource_class_id))),
        )
        .filter(inventories::resource_provider_id.eq(id))
        .group_by(inventories::resource_class_id)
        .order(inventories::resource_class_id)
        .select((inventories::resource_class_id, sum(allocations::used.nullable())))
        .load(conn)?;
    let classes: HashMap<ClassId, Arc<str>> = load::classes(conn)?.into_iter().collect();
    let usages = sums
        .into_iter()
        .filter_map(|(class, used)| Some((classes.get(&ClassId(class))?.clone(), used.unwrap_or(0))));
    Ok(ProviderUsages {
        generation,
        usages: usages.collect(),
    })
}

/// The sums over all consumers of the query's project and user, by class.
pub fn total(conn: &mut DbConnection, query: &TotalQuery) -> Result<Vec<(Arc<str>, i64)>> {
    Ok(by_type(conn, query, &TypeFilter::All)?
        .pop()
        .map(|all| all.usages)
        .unwrap_or_default())
}

/// The names of all consumer types by id. Consumers without a type have no id.
fn type_names(conn: &mut DbConnection) -> QueryResult<BTreeMap<Option<i32>, String>> {
    let types: Vec<(i32, String)> = consumer_types::table
        .select((consumer_types::id, consumer_types::name))
        .load(conn)?;
    let named = types.into_iter().map(|(id, name)| (Some(id), name));
    Ok(named.chain([(None, UNKNOWN_TYPE.to_owned())]).collect())
}

/// The sums by consumer type and class. A type without allocations is left out.
pub fn by_type(conn: &mut DbConnection, query: &TotalQuery, filter: &TypeFilter) -> Result<Vec<TypeUsages>> {
    let mut types = type_names(conn)?;
    if let TypeFilter::AnyOf(wanted) = filter {
        types.retain(|_, name| wanted.contains(name));
    }
    let of = ConsumersOf {
        query,
        types: matches!(filter, TypeFilter::AnyOf(_)).then(|| types.keys().copied().collect()),
    };
    let group_of = |consumer_type: Option<i32>| match filter {
        TypeFilter::All => "all",
        TypeFilter::Each | TypeFilter::AnyOf(_) => types.get(&consumer_type).map_or(UNKNOWN_TYPE, String::as_str),
    };
    let mut groups: BTreeMap<&str, UsageGroup> = BTreeMap::new();
    for (consumer_type, count) in count_consumers(conn, &of)? {
        groups.entry(group_of(consumer_type)).or_default().consumers += count;
    }
    for sum in sum_usages(conn, &of)? {
        let usages = &mut groups.entry(group_of(sum.consumer_type)).or_default().usages;
        *usages.entry(ClassId(sum.class)).or_default() += sum.used.unwrap_or_default();
    }
    let classes: HashMap<ClassId, Arc<str>> = load::classes(conn)?.into_iter().collect();
    Ok(groups
        .into_iter()
        .map(|(name, group)| group.named(name, &classes))
        .collect())
}

/// The consumers whose allocations are summed.
struct ConsumersOf<'q> {
    query: &'q TotalQuery,
    /// The ids of the types, `None` for consumers without a type. Without a list, consumers of all types.
    types: Option<Vec<Option<i32>>>,
}

/// A group during the addition: the number of consumers, and the sums by class id.
#[derive(Default)]
struct UsageGroup {
    consumers: i64,
    usages: BTreeMap<ClassId, i64>,
}

impl UsageGroup {
    fn named(self, name: &str, classes: &HashMap<ClassId, Arc<str>>) -> TypeUsages {
        let usages = self
            .usages
            .into_iter()
            .filter_map(|(class, used)| Some((classes.get(&class)?.clone(), used)));
        TypeUsages {
            consumer_type: name.into(),
            consumer_count: self.consumers,
            usages: usages.collect(),
        }
    }
}

/// Whether a consumer is of any of these types, as in [`ConsumersOf::types`].
#[diesel::dsl::auto_type(no_type_alias)]
fn is_of_types(types: &[Option<i32>]) -> _ {
    let named: Vec<i32> = types.iter().copied().flatten().collect();
    let is_untyped_wanted: bool = types.contains(&None);
    let is_untyped = consumers::consumer_type_id.is_null();
    consumers::consumer_type_id
        .eq_any(named)
        .or(is_untyped.and(is_untyped_wanted.into_sql::<Bool>()))
}

/// The number of consumers with allocations, by type. A consumer with several classes counts once.
fn count_consumers(conn: &mut DbConnection, of: &ConsumersOf) -> QueryResult<Vec<(Option<i32>, i64)>> {
    let mut counts = allocations::table
        .inner_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
        .inner_join(projects::table.on(projects::id.eq(consumers::project_id)))
        .inner_join(users::table.on(users::id.eq(consumers::user_id)))
        .group_by(consumers::consumer_type_id)
        .select((
            consumers::consumer_type_id,
            count(allocations::consumer_id).aggregate_distinct(),
        ))
        .into_boxed();
    if let Some(project) = &of.query.project {
        counts = counts.filter(projects::external_id.eq(project));
    }
    if let Some(user) = &of.query.user {
        counts = counts.filter(users::external_id.eq(user));
    }
    if let Some(types) = &of.types {
        counts = counts.filter(is_of_types(types));
    }
    counts.load(conn)
}

/// The amount of a class used by the consumers of a type.
#[derive(Queryable)]
struct UsageSum {
    consumer_type: Option<i32>,
    class: i32,
    used: Option<i64>,
}

/// The sums by type and class.
fn sum_usages(conn: &mut DbConnection, of: &ConsumersOf) -> QueryResult<Vec<UsageSum>> {
    let mut sums = allocations::table
        .inner_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
        .inner_join(projects::table.on(projects::id.eq(consumers::project_id)))
        .inner_join(users::table.on(users::id.eq(consumers::user_id)))
        .group_by((consumers::consumer_type_id, allocations::resource_class_id))
        .select((
            consumers::consumer_type_id,
            allocations::resource_class_id,
            sum(allocations::used),
        ))
        .into_boxed();
    if let Some(project) = &of.query.project {
        sums = sums.filter(projects::external_id.eq(project));
    }
    if let Some(user) = &of.query.user {
        sums = sums.filter(users::external_id.eq(user));
    }
    if let Some(types) = &of.types {
        sums = sums.filter(is_of_types(types));
    }
    sums.load(conn)
}
