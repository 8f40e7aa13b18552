//! Which providers a list has, and the page of a list: from the snapshot by uuid (`GET /v1/providers`).
//!
//! The key of a page is the uuid, which no write changes. So a provider that is there all the time is on one page.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Described, body_bytes, described};
use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, resource_classes, resource_providers as table};
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::model::allocation_groups::{self, AllocationOfKey, AmountsOfClasses};
use crate::model::domains::{go_on, lies_in_any, search_version};
use crate::model::pages;
use crate::model::reads::unknown_names::Names;
use crate::model::{Model, Reader};
use crate::search::{self, Domain, ProviderQuery, ProviderState, Slot, Snapshot};
use diesel::dsl::count_star;
use diesel::prelude::*;

/// A part of a provider in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderField {
    Inventories,
    Usages,
    Traits,
    Aggregates,
    Allocations,
    State,
}

/// The providers of a list, and the parts of each in the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderListQuestion {
    pub query: ProviderQuery,
    /// Domains of one dimension are alternatives; a domain of each dimension is required.
    pub in_domains: Vec<Domain>,
    /// The state of the provider, or of the nearest ancestor that is not up.
    pub state: Option<ProviderState>,
    pub fields: Vec<ProviderField>,
    pub limit: usize,
    /// The uuid after which the page begins.
    pub after: Option<String>,
}

impl ProviderListQuestion {
    /// Whether the list has all providers.
    pub fn has_filter(&self) -> bool {
        self.query != ProviderQuery::default() || !self.in_domains.is_empty() || self.state.is_some()
    }
}

/// The conditions of a question beyond those of the search.
struct ListConditions<'q> {
    question: &'q ProviderListQuestion,
    /// By dimension: the paths, of which any is enough.
    domains: BTreeMap<&'q str, Vec<&'q str>>,
}

impl<'q> ListConditions<'q> {
    fn of(question: &'q ProviderListQuestion) -> ListConditions<'q> {
        let mut domains: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for domain in &question.in_domains {
            domains.entry(&domain.dimension).or_default().push(&domain.path);
        }
        ListConditions { question, domains }
    }

    /// Whether a provider is in the list, and after the beginning of the page.
    fn hold(&self, snapshot: &Snapshot, slot: Slot) -> bool {
        let after = self.question.after.as_deref();
        after.is_none_or(|after| snapshot.uuid(slot) > after)
            && self
                .question
                .state
                .is_none_or(|state| snapshot.given_state(slot) == state)
            && self
                .domains
                .iter()
                .all(|(dimension, paths)| lies_in_any(snapshot, slot, dimension, paths))
    }

    /// The steps of a look at a provider.
    fn steps(&self) -> u64 {
        1 + self.question.in_domains.len() as u64 / OPERATIONS_A_STEP
    }
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct ProviderPage {
    pub snapshot: Arc<Snapshot>,
    /// By uuid.
    pub slots: Vec<Slot>,
    /// By uuid of the provider. Empty unless the question is about allocations.
    pub allocations: HashMap<String, ConsumerAmounts>,
    /// The uuid after which the next page begins.
    pub next: Option<String>,
}

/// The amounts of a provider by consumer and name of class.
pub type ConsumerAmounts = Vec<(String, AmountsOfClasses)>;

/// The page of a list, from the snapshot, or from a newer snapshot if the query has names that the snapshot lacks. The
/// allocations are read from the tables afterwards.
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`] and the like for unknown names. [`crate::error::Error::Busy`] if too
/// many searches wait. Errors of the database.
pub async fn fetch_page(
    model: &Model,
    snapshot: Arc<Snapshot>,
    question: ProviderListQuestion,
    is_strict: bool,
    caller: &CallerKey,
) -> Result<ProviderPage> {
    let names = Names::of_providers(&question.query);
    let prepared = model.with_names(names, snapshot).await?;
    let mut question = question;
    question.query.name = prepared.provider_name.or(question.query.name);
    let reads_allocations = question.fields.contains(&ProviderField::Allocations);
    let snapshot = Arc::clone(&prepared.snapshot);
    let find = move |snapshot: &Snapshot, interrupt: &Interrupt| page_of(snapshot, &question, is_strict, interrupt);
    let (slots, next) = search_version(model, prepared.snapshot, caller, find).await?;
    let page = ProviderPage {
        snapshot,
        slots,
        allocations: HashMap::new(),
        next,
    };
    if !reads_allocations {
        return Ok(page);
    }
    with_allocations(model, page).await
}

/// The providers of a page, by uuid, and the uuid after which the next page begins.
fn page_of(
    snapshot: &Snapshot,
    question: &ProviderListQuestion,
    is_strict: bool,
    interrupt: &Interrupt,
) -> Result<(Vec<Slot>, Option<String>)> {
    let found = search::providers(snapshot, &question.query, is_strict, interrupt)?;
    let conditions = ListConditions::of(question);
    let mut kept = Vec::new();
    for slot in found {
        interrupt.spend(conditions.steps());
        go_on(interrupt)?;
        kept.extend(Some(slot).filter(|slot| conditions.hold(snapshot, *slot)));
    }
    let has_more = kept.len() > question.limit;
    if has_more {
        kept.select_nth_unstable_by_key(question.limit, |slot| snapshot.uuid(*slot));
        kept.truncate(question.limit);
    }
    kept.sort_unstable_by_key(|slot| snapshot.uuid(*slot));
    let next = kept
        .last()
        .filter(|_| has_more)
        .map(|slot| snapshot.uuid(*slot).to_owned());
    Ok((kept, next))
}

/// The approximate length of an allocation in the answer.
const ALLOCATION_BYTES: usize = 90;

/// Reads the allocations of a page's providers. The page ends with the provider that brings the page to
/// [`pages::PAGE_BYTES`].
async fn with_allocations(model: &Model, page: ProviderPage) -> Result<ProviderPage> {
    let read = move |conn: &mut DbConnection| {
        let mut page = page.clone();
        let mut uuids: Vec<String> = page
            .slots
            .iter()
            .map(|slot| page.snapshot.uuid(*slot).to_owned())
            .collect();
        let counts = count_allocations(conn, &uuids)?;
        refuse_crowded(&counts)?;
        let length = |uuid: &String| counts.get(uuid).copied().unwrap_or_default() * ALLOCATION_BYTES;
        let limit = uuids.len();
        let has_more;
        (uuids, has_more) = pages::cut(uuids, limit, length);
        if has_more {
            page.slots.truncate(uuids.len());
            page.next = uuids.last().cloned();
        }
        page.allocations = read_allocations(conn, &uuids)?;
        Ok(page)
    };
    let reader = model.reader(false);
    reader.read_page(&model.pools.page_reads, read).await
}

/// The most allocations of a provider in a page.
const MAX_ALLOCATIONS: usize = 200_000;

/// Refuses a provider whose allocations are too many for an answer, such as a pool of a large cloud.
fn refuse_crowded(counts: &HashMap<String, usize>) -> Result<()> {
    let Some((uuid, count)) = counts.iter().find(|(_, count)| **count > MAX_ALLOCATIONS) else {
        return Ok(());
    };
    Err(Error::BadRequest {
        detail: format!(
            "fields: provider {uuid} has {count} allocations, and an answer has at most {MAX_ALLOCATIONS} of a \
             provider. GET /v1/consumers?provider={uuid}&fields=allocations has them in pages."
        ),
    })
}

/// The number of allocations of each provider that has any, by uuid.
fn count_allocations(conn: &mut DbConnection, uuids: &[String]) -> Result<HashMap<String, usize>> {
    let found: Vec<(String, i64)> = in_lists(uuids, |uuids| {
        allocations::table
            .inner_join(table::table.on(table::id.eq(allocations::resource_provider_id)))
            .filter(table::uuid.eq_any(uuids))
            .group_by(table::uuid)
            .select((table::uuid, count_star()))
            .load(&mut *conn)
    })?;
    Ok(allocation_groups::counts(found))
}

fn read_allocations(conn: &mut DbConnection, uuids: &[String]) -> Result<HashMap<String, ConsumerAmounts>> {
    let rows: Vec<AllocationOfKey<String>> = in_lists(uuids, |uuids| {
        allocations::table
            .inner_join(table::table.on(table::id.eq(allocations::resource_provider_id)))
            .inner_join(resource_classes::table.on(resource_classes::id.eq(allocations::resource_class_id)))
            .filter(table::uuid.eq_any(uuids))
            .select((
                table::uuid,
                allocations::consumer_id,
                resource_classes::name,
                allocations::used,
            ))
            .load(&mut *conn)
    })?;
    Ok(allocation_groups::by_key(rows))
}

/// The descriptions of the providers of a page, by uuid, and the uuid after which the next page begins. All rows are of
/// one moment. A page ends earlier with the provider that brings the page to [`pages::PAGE_BYTES`].
///
/// # Errors
/// Of the database.
pub async fn fetch_described(reader: Reader, page: ProviderPage) -> Result<(Vec<Described>, Option<String>)> {
    let uuids: Vec<String> = page
        .slots
        .iter()
        .map(|slot| page.snapshot.uuid(*slot).to_owned())
        .collect();
    let next = page.next;
    let read = reader.read(move |conn| {
        let mut found: Vec<(i32, String, Option<String>)> = in_lists(&uuids, |uuids| {
            table::table
                .filter(table::uuid.eq_any(uuids))
                .select((table::id, table::uuid, table::name))
                .load(&mut *conn)
        })?;
        found.sort_unstable_by(|(_, one, _), (_, other, _)| one.cmp(other));
        let bytes = body_bytes(conn, &found.iter().map(|(id, ..)| *id).collect::<Vec<_>>())?;
        let (found, is_cut) = pages::cut(found, uuids.len(), |(id, ..)| bytes.get(id).copied().unwrap_or(0));
        let last = found.last().filter(|_| is_cut).map(|(_, uuid, _)| uuid.clone());
        Ok((described(conn, found)?, last.or_else(|| next.clone())))
    });
    read.await
}
