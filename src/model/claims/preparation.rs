//! Prepares the search of a plan: a snapshot that contradicts no row that was read, and what existing consumers have.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;

use super::place::Call;
use super::plan::{OwnAllocations, PlanJob};
use super::{ClaimCandidate, ClaimQuery, PlaceRequest, RequestedConsumer, Wanted};
use crate::db::engines::dialect::in_lists;
use crate::db::schema::allocations;
use crate::db::{DbConnection, DbResult};
use crate::error::{ReasonCode, RefusedConsumer, Result};
use crate::model::allocations::Expected;
use crate::model::batch::collation::CollatedNames;
use crate::model::reads::unknown_names::{NamedSearch, Names, StoredSpellings};
use crate::search::{ClassId, ProviderId, SearchSettings, Snapshot};

/// A candidate that rows refused. The snapshot has changed since, or it lacks what another program changed.
pub struct Contradiction {
    consumer: String,
    provider: String,
    class: Option<String>,
    /// The room for the consumer, if that is too little.
    free: Option<i64>,
    /// Whether that is the room within the normal limit.
    is_normal: bool,
}

impl Contradiction {
    /// One for each reason that names a provider.
    pub fn of(refused: &RefusedConsumer) -> impl Iterator<Item = Contradiction> {
        let reasons = refused.reasons.kept().iter();
        reasons.filter_map(|reason| {
            Some(Contradiction {
                consumer: refused.consumer.clone(),
                provider: reason.resource_provider.clone()?,
                class: reason.resource_class.clone(),
                free: reason
                    .free
                    .filter(|_| matches!(reason.code, ReasonCode::NoRoom | ReasonCode::NoRoomNormal)),
                is_normal: reason.code == ReasonCode::NoRoomNormal,
            })
        })
    }

    /// Whether the snapshot still shows the provider as the search found it.
    fn is_shown(&self, snapshot: &Snapshot, own: &OwnAllocations) -> bool {
        let Some(slot) = snapshot.by_uuid(&self.provider) else {
            return false;
        };
        let provider = snapshot.id(slot);
        let class = self.class.as_deref().and_then(|name| snapshot.catalog().class_id(name));
        let (Some(class), Some(free)) = (class, self.free) else {
            return true;
        };
        let own = own.get(&self.consumer).into_iter().flatten();
        let own: i64 = own
            .filter(|(its_provider, its_class, _)| (*its_provider, *its_class) == (provider, class))
            .map(|(_, _, used)| used)
            .sum();
        let Some(inventory) = snapshot.inventory(slot, class) else {
            return false;
        };
        let normal = self
            .class
            .as_deref()
            .and_then(|name| snapshot.catalog().normal_limit(name));
        let limit = match normal.filter(|_| self.is_normal) {
            Some(normal) => normal.of(&inventory),
            None => inventory.limit(),
        };
        limit.saturating_sub(snapshot.used(slot, class) - own) > free
    }
}

/// What a plan rested on that rows contradicted.
#[derive(Default)]
pub struct Contradictions {
    pub refusals: Vec<Contradiction>,
    /// Uuids of the providers that the plan compared for the refused consumers and for those before them, with their
    /// generations. Rows may have placed one of these elsewhere, so that a refusal behind it does not name the provider
    /// that is shown wrongly.
    compared: BTreeMap<String, Option<i64>>,
    /// How many plans in a row were made without reading providers again, although rows contradicted the one before.
    left: u32,
}

/// The most plans in a row that are made without reading the providers again that stayed as they were, because others
/// have changed. A read makes every unverified search beside it search again.
const LEFT_MAX: u32 = 3;

impl Contradictions {
    /// Notes that the plan compared these providers on this snapshot.
    pub fn note_compared<'a>(&mut self, snapshot: &Snapshot, providers: impl Iterator<Item = &'a String>) {
        let known = providers.map(|uuid| (uuid.clone(), generation(snapshot, uuid)));
        self.compared.extend(known);
    }

    /// Takes the providers that the snapshot may show wrongly, by uuid: all that were compared, and those that a
    /// refusal names and that still show more room than the rows have.
    ///
    /// None if there are none of the latter, and one that was compared has changed since: then the next plan may be
    /// another one. A provider that keeps changing must not hide one that is shown wrongly. So after [`LEFT_MAX`] such
    /// plans all are taken, if one of them has not changed.
    pub fn take_suspects(&mut self, snapshot: &Snapshot, own: &OwnAllocations) -> BTreeSet<String> {
        let taken = std::mem::take(self);
        let wrong = taken.refusals.into_iter().filter(|it| it.is_shown(snapshot, own));
        let mut suspects: BTreeSet<String> = wrong.map(|it| it.provider).collect();
        let has_changed = |(uuid, known): (&String, &Option<i64>)| generation(snapshot, uuid) != *known;
        let has_changes = taken.compared.iter().any(has_changed);
        let is_read = taken.left == LEFT_MAX && !taken.compared.iter().all(has_changed);
        if suspects.is_empty() && has_changes && !is_read {
            self.left = LEFT_MAX.min(taken.left + 1);
        } else {
            suspects.extend(taken.compared.into_keys());
        }
        suspects
    }
}

/// The generation of a provider; `None` if the snapshot does not have it.
fn generation(snapshot: &Snapshot, uuid: &str) -> Option<i64> {
    snapshot.by_uuid(uuid).map(|slot| snapshot.generation(slot))
}

impl Call<'_> {
    /// The search for the pending consumers, on a snapshot that shows every commit acknowledged before; or on the
    /// newest one, if the claim can be verified when it is written.
    pub async fn plan_job(&mut self, pending: &[usize], settings: &SearchSettings) -> Result<PlanJob> {
        let request = Arc::clone(&self.request);
        let unverified = self
            .may_search_unverified(pending)
            .then(|| self.model.unverified_snapshot(&request));
        self.searched = None;
        self.has_searched = true;
        if let Some((snapshot, stamp)) = unverified.flatten() {
            self.searched = Some(stamp);
            self.planned_on = Some(Arc::clone(&snapshot));
            return Ok(PlanJob {
                snapshot,
                request,
                pending: pending.into(),
                own: Arc::default(),
                held: Arc::clone(&self.held),
                settings: settings.clone(),
            });
        }
        let prepared = self.model.prepare_search(request, Duration::ZERO).await?;
        let own = self.own_allocations(pending).await?;
        let suspects = self.contradictions.take_suspects(&prepared.snapshot, &own);
        let snapshot = if suspects.is_empty() {
            prepared.snapshot
        } else {
            self.model.read_again(suspects).await?
        };
        self.planned_on = Some(Arc::clone(&snapshot));
        Ok(PlanJob {
            snapshot,
            request: prepared.search,
            pending: pending.into(),
            own: Arc::new(own),
            held: Arc::clone(&self.held),
            settings: settings.clone(),
        })
    }

    /// What the pending consumers have that may exist.
    async fn own_allocations(&self, pending: &[usize]) -> Result<OwnAllocations> {
        let consumers = pending.iter().map(|at| &self.request.consumers[*at]);
        let may_exist = |consumer: &&RequestedConsumer| consumer.claim.generation != Expected::New;
        let existing: Vec<String> = consumers
            .filter(may_exist)
            .map(|consumer| consumer.claim.consumer.clone())
            .collect();
        if existing.is_empty() {
            return Ok(OwnAllocations::new());
        }
        self.model
            .ask(move |conn: &mut DbConnection| Ok(own_allocations(conn, &existing)?))
            .await
    }
}

/// The names in the queries, and the providers of posted candidates: the plan counts both on the snapshot.
impl NamedSearch for Arc<PlaceRequest> {
    fn names(&self) -> Names {
        let mut names = self.queries.names();
        for consumer in &self.consumers {
            if let Wanted::Candidates(list) = &consumer.wanted {
                let allocations = list.iter().flat_map(|candidate| &candidate.allocations);
                names.add_providers(allocations.map(|(provider, _)| provider));
            }
        }
        names
    }

    fn respell(&mut self, stored: &StoredSpellings) {
        let request = Arc::make_mut(self);
        request.queries.respell(stored);
        for consumer in &mut request.consumers {
            if let Wanted::Candidates(list) = &mut consumer.wanted {
                let list = Arc::make_mut(list).iter_mut();
                list.for_each(|candidate| candidate.respell(stored));
            }
        }
    }
}

impl ClaimCandidate {
    /// Names providers as the tables spell them. Allocations under two spellings of one provider are joined.
    fn respell(&mut self, stored: &StoredSpellings) {
        let mut joined: BTreeMap<String, Vec<(String, i64)>> = BTreeMap::new();
        for (mut provider, resources) in std::mem::take(&mut self.allocations) {
            stored.respell_provider(&mut provider);
            let amounts = joined.entry(provider).or_default();
            for (class, amount) in resources {
                match amounts.iter_mut().find(|(other, _)| *other == class) {
                    Some((_, sum)) => *sum = sum.saturating_add(amount),
                    None => amounts.push((class, amount)),
                }
            }
        }
        self.allocations = joined.into_iter().collect();
        let mapped = self.mappings.iter_mut().flatten().flat_map(|(_, providers)| providers);
        mapped.for_each(|provider| stored.respell_provider(provider));
    }
}

impl NamedSearch for Vec<ClaimQuery> {
    fn names(&self) -> Names {
        let mut names = Names::default();
        self.iter().for_each(|query| names.extend(query.request.names()));
        names
    }

    fn respell(&mut self, stored: &StoredSpellings) {
        self.iter_mut().for_each(|query| query.request.respell(stored));
    }
}

/// The allocations of the consumers, by their names in the call.
fn own_allocations(conn: &mut DbConnection, consumers: &[String]) -> DbResult<OwnAllocations> {
    use allocations as t;
    let names: Vec<&str> = consumers.iter().map(String::as_str).collect();
    let collated = CollatedNames::new(conn, &names);
    let rows: Vec<(String, i32, i32, i32)> = in_lists(&names, |names| {
        t::table
            .filter(t::consumer_id.eq_any(names))
            .select((t::consumer_id, t::resource_provider_id, t::resource_class_id, t::used))
            .load(&mut *conn)
    })?;
    let mut own: OwnAllocations = HashMap::new();
    for (consumer, provider, class, used) in rows {
        let allocation = (ProviderId(provider), ClassId(class), i64::from(used));
        own.entry(collated.as_requested(consumer)).or_default().push(allocation);
    }
    Ok(own)
}
