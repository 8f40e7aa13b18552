//! Sums of usages by resource class, aggregate, domain or root provider, from the snapshot; and by project or consumer
//! type, from the tables (`GET /v1/usages`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use diesel::dsl::{count, exists, sum};
use diesel::prelude::*;

use super::{TotalQuery, TypeFilter};
use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, consumers, projects};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::domains::{go_on, prefixes, search_version};
use crate::model::snapshot::load;
use crate::model::{Model, Reader};
use crate::search::{ClassId, ClassTotals, Slot, Snapshot};

/// What the sums are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageKey {
    ResourceClass,
    /// The providers that are themselves in the aggregate.
    Aggregate,
    /// Of this dimension, with the domains inside.
    Domain(String),
    /// The tree of a root provider.
    Root,
    Project,
    /// The consumer type.
    Type,
}

impl UsageKey {
    /// Whether the sums go over consumers, else over providers.
    pub fn is_of_consumers(&self) -> bool {
        match self {
            UsageKey::Project | UsageKey::Type => true,
            UsageKey::ResourceClass | UsageKey::Aggregate | UsageKey::Domain(_) | UsageKey::Root => false,
        }
    }
}

/// A page of sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuestion {
    pub by: UsageKey,
    /// The consumers of this project alone, for sums by project or type.
    pub project: Option<String>,
    pub limit: usize,
    /// The key after which the page begins.
    pub after: Option<String>,
}

/// The sums of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSums {
    /// The name of the class or of the type, the uuid of the aggregate or of the root, the path or the project.
    pub key: String,
    /// The name of the root.
    pub name: Option<String>,
    pub counted: SummedThings,
    /// By name of class.
    pub classes: Vec<(Arc<str>, ClassUsage)>,
}

/// The number of things over which the sums go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummedThings {
    Providers(u64),
    Consumers(u64),
}

/// The amounts of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassUsage {
    /// Of providers.
    OfProviders(ClassTotals),
    /// The amount that consumers use.
    OfConsumers(i64),
}

/// The sums of a page, by key, and the key after which the next page begins.
pub type PageOfSums = (Vec<UsageSums>, Option<String>);

/// The sums of a page, by project or type.
///
/// # Errors
/// Of the database.
pub async fn over_consumers(model: &Model, reader: Reader, question: UsageQuestion) -> Result<PageOfSums> {
    let sum = move |conn: &mut DbConnection| match question.by {
        UsageKey::Type => by_type(conn, &question),
        _ => by_project(conn, &question),
    };
    reader.read_page(&model.pools.page_reads, sum).await
}

/// The sums of a page, by a key of providers.
///
/// # Errors
/// [`crate::error::Error::Busy`] if too many searches wait.
pub async fn over_providers(
    model: &Model,
    snapshot: Arc<Snapshot>,
    question: UsageQuestion,
    caller: &CallerKey,
) -> Result<PageOfSums> {
    let sum = move |snapshot: &Snapshot, interrupt: &Interrupt| of_providers(snapshot, &question, interrupt);
    search_version(model, snapshot, caller, sum).await
}

fn of_providers(snapshot: &Snapshot, question: &UsageQuestion, interrupt: &Interrupt) -> Result<PageOfSums> {
    if question.by == UsageKey::ResourceClass {
        return by_class(snapshot, question, interrupt);
    }
    let (page, next) = page(keys_after(snapshot, question, interrupt)?, question.limit);
    let mut sums_by_key: BTreeMap<&str, ProviderSums> =
        page.into_iter().map(|key| (key, ProviderSums::default())).collect();
    for slot in snapshot.iter() {
        each_key(snapshot, &question.by, slot, interrupt, |key| {
            if let Some(sums) = sums_by_key.get_mut(key) {
                sums.providers += 1;
                add(snapshot, slot, &mut sums.classes);
            }
        })?;
    }
    let sums = sums_by_key.into_iter().map(|(key, sums)| {
        let root = snapshot.by_uuid(key).filter(|_| question.by == UsageKey::Root);
        UsageSums {
            key: key.to_owned(),
            name: root.map(|root| snapshot.name(root).to_owned()),
            counted: SummedThings::Providers(sums.providers),
            classes: of_totals(sums.classes),
        }
    });
    Ok((sums.collect(), next))
}

/// The sums of a key over providers.
#[derive(Default)]
struct ProviderSums {
    providers: u64,
    classes: BTreeMap<Arc<str>, ClassTotals>,
}

/// The keys after the beginning of the page, in order. Only the keys of the page are summed: the providers of all keys
/// would take too much memory.
fn keys_after<'s>(snapshot: &'s Snapshot, question: &UsageQuestion, interrupt: &Interrupt) -> Result<Vec<&'s str>> {
    let after = question.after.as_deref();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for slot in snapshot.iter() {
        each_key(snapshot, &question.by, slot, interrupt, |key| {
            if after.is_none_or(|after| key > after) {
                found.insert(key);
            }
        })?;
    }
    Ok(found.into_iter().collect())
}

/// A sum for each class, over all providers with an inventory.
fn by_class(snapshot: &Snapshot, question: &UsageQuestion, interrupt: &Interrupt) -> Result<PageOfSums> {
    let mut classes = BTreeMap::new();
    for slot in snapshot.iter() {
        go_on(interrupt)?;
        add(snapshot, slot, &mut classes);
    }
    let (page, next) = page(following(classes, question), question.limit);
    let sums = page.into_iter().map(|(class, totals)| UsageSums {
        key: class.to_string(),
        name: None,
        counted: SummedThings::Providers(totals.providers),
        classes: vec![(class, ClassUsage::OfProviders(totals))],
    });
    Ok((sums.collect(), next))
}

fn add(snapshot: &Snapshot, slot: Slot, classes: &mut BTreeMap<Arc<str>, ClassTotals>) {
    for (class, inventory, used) in snapshot.inventories(slot) {
        if let Some(name) = snapshot.catalog().class_name(class) {
            classes.entry(name.clone()).or_default().add(inventory, used);
        }
    }
}

fn of_totals(classes: BTreeMap<Arc<str>, ClassTotals>) -> Vec<(Arc<str>, ClassUsage)> {
    let classes = classes.into_iter();
    classes
        .map(|(class, totals)| (class, ClassUsage::OfProviders(totals)))
        .collect()
}

/// Calls `take` with each key of a provider.
fn each_key<'s>(
    snapshot: &'s Snapshot,
    by: &UsageKey,
    slot: Slot,
    interrupt: &Interrupt,
    mut take: impl FnMut(&'s str),
) -> Result<()> {
    match by {
        UsageKey::Root => take(snapshot.uuid(snapshot.root(slot))),
        UsageKey::Aggregate => {
            let uuids = snapshot
                .aggregates(slot)
                .filter_map(|id| snapshot.catalog().aggregate_uuid(id));
            uuids.for_each(|uuid| take(uuid));
        }
        UsageKey::Domain(dimension) => {
            for path in snapshot
                .domain(slot, dimension)
                .into_iter()
                .flat_map(|path| prefixes(path))
            {
                take(path);
                go_on(interrupt)?;
            }
        }
        UsageKey::ResourceClass | UsageKey::Project | UsageKey::Type => {}
    }
    go_on(interrupt)
}

/// The first of these entries, and the key of the last one if there are more.
fn page<T: AsKey>(mut following: Vec<T>, limit: usize) -> (Vec<T>, Option<String>) {
    let has_more = following.len() > limit;
    following.truncate(limit);
    let next = following.last().filter(|_| has_more).map(|last| last.key().to_owned());
    (following, next)
}

/// An entry of a page.
trait AsKey {
    fn key(&self) -> &str;
}

impl AsKey for &str {
    fn key(&self) -> &str {
        self
    }
}

impl<K: AsRef<str>, V> AsKey for (K, V) {
    fn key(&self) -> &str {
        self.0.as_ref()
    }
}

/// The entries after the beginning of the page, in order.
fn following<K: AsRef<str> + Ord, V>(all: BTreeMap<K, V>, question: &UsageQuestion) -> Vec<(K, V)> {
    let after = question.after.as_deref();
    let following = all
        .into_iter()
        .filter(|(key, _)| after.is_none_or(|after| key.as_ref() > after));
    following.collect()
}

/// The sums of the types of a page. A type without allocations has no sums, so a page may have less than its limit.
fn by_type(conn: &mut DbConnection, question: &UsageQuestion) -> Result<PageOfSums> {
    let of_project = TotalQuery {
        project: question.project.clone(),
        user: None,
    };
    let names = super::type_names(conn)?.into_values().map(|name| (name, ())).collect();
    let (page, next) = page(following(names, question), question.limit);
    let types = TypeFilter::AnyOf(page.into_iter().map(|(name, ())| name).collect());
    let sums = super::by_type(conn, &of_project, &types)?
        .into_iter()
        .map(|found| UsageSums {
            key: found.consumer_type.to_string(),
            name: None,
            counted: SummedThings::Consumers(found.consumer_count.unsigned_abs()),
            classes: of_amounts(found.usages.into_iter().collect()),
        });
    Ok((sums.collect(), next))
}

/// The projects of the page with the numbers of consumers, and then the amounts of these projects.
fn by_project(conn: &mut DbConnection, question: &UsageQuestion) -> Result<PageOfSums> {
    // The database's order may differ from the order of bytes, so the rows keep their order.
    let (projects, next) = page(count_by_project(conn, question)?, question.limit);
    let ids: Vec<i32> = projects.iter().map(|(_, (id, _))| *id).collect();
    let amounts: Vec<(i32, i32, Option<i64>)> = in_lists(&ids, |ids| {
        allocations::table
            .inner_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
            .filter(consumers::project_id.eq_any(ids))
            .group_by((consumers::project_id, allocations::resource_class_id))
            .select((
                consumers::project_id,
                allocations::resource_class_id,
                sum(allocations::used),
            ))
            .load(&mut *conn)
    })?;
    let names: HashMap<ClassId, Arc<str>> = load::classes(conn)?.into_iter().collect();
    let mut amounts_by_project: HashMap<i32, BTreeMap<Arc<str>, i64>> = HashMap::new();
    for (project, class, used) in amounts {
        if let Some(name) = names.get(&ClassId(class)) {
            let amounts = amounts_by_project.entry(project).or_default();
            amounts.insert(name.clone(), used.unwrap_or_default());
        }
    }
    let sums = projects.into_iter().map(|(key, (id, consumers))| UsageSums {
        key,
        name: None,
        counted: SummedThings::Consumers(consumers),
        classes: of_amounts(amounts_by_project.remove(&id).unwrap_or_default()),
    });
    Ok((sums.collect(), next))
}

/// The id and the number of consumers with allocations of each project of a page, and of a further project if there is
/// a next page.
fn count_by_project(conn: &mut DbConnection, question: &UsageQuestion) -> Result<Vec<(String, (i32, u64))>> {
    let mut query = projects::table
        .filter(exists(
            consumers::table
                .inner_join(allocations::table.on(allocations::consumer_id.eq(consumers::uuid)))
                .filter(consumers::project_id.eq(projects::id)),
        ))
        .select((projects::external_id, projects::id))
        .into_boxed();
    if let Some(after) = &question.after {
        query = query.filter(projects::external_id.gt(after));
    }
    if let Some(project) = &question.project {
        query = query.filter(projects::external_id.eq(project));
    }
    let limit = i64::try_from(question.limit).unwrap_or(i64::MAX).saturating_add(1);
    let named: Vec<(String, i32)> = query.order(projects::external_id).limit(limit).load(conn)?;
    let ids: Vec<i32> = named.iter().map(|(_, id)| *id).collect();
    let counts: Vec<(i32, i64)> = in_lists(&ids, |ids| {
        consumers::table
            .filter(consumers::project_id.eq_any(ids))
            .filter(exists(
                allocations::table.filter(allocations::consumer_id.eq(consumers::uuid)),
            ))
            .group_by(consumers::project_id)
            .select((consumers::project_id, count(consumers::id)))
            .load(&mut *conn)
    })?;
    let counts: HashMap<i32, i64> = counts.into_iter().collect();
    let count = |id: i32| counts.get(&id).copied().unwrap_or_default().unsigned_abs();
    Ok(named
        .into_iter()
        .map(|(project, id)| (project, (id, count(id))))
        .collect())
}

fn of_amounts(amounts: BTreeMap<Arc<str>, i64>) -> Vec<(Arc<str>, ClassUsage)> {
    let amounts = amounts.into_iter();
    amounts
        .map(|(class, used)| (class, ClassUsage::OfConsumers(used)))
        .collect()
}
