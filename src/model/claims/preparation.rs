//! Prepares the search of a plan: the snapshot, and the allocations of existing consumers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;

use super::plan::{ClaimPlanJob, OwnAllocations};
use super::{ClaimCandidate, PlaceRequest, Wanted};
use crate::db::engines::dialect::in_lists;
use crate::db::schema::allocations;
use crate::db::{DbConnection, DbResult};
use crate::error::Result;
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::batch::collation::CollatedNames;
use crate::model::reads::unknown_names::Names;
use crate::search::{ClassId, ProviderId, Snapshot};

impl ClaimPlanJob {
    /// Prepares the search for the consumers without a refusal, on a snapshot that shows every commit acknowledged
    /// before.
    ///
    /// Naively, the change feed is read before each search. While peers are idle, the first search of a call does not
    /// read the feed: the writer compares the peers' revisions in the statement that writes the claim. With 32
    /// schedulers on 10,000 nested hosts (PostgreSQL), placements rose from 75% to 95% of plain claims. If the claim
    /// fails, the snapshot may miss a commit, and only the feed shows the commit.
    pub(super) async fn prepare_search(&mut self, model: &Model, is_first: bool) -> Result<()> {
        let pending = self.request.pending(&self.refused);
        self.is_hasty = is_first && self.request.are_new_with_queries(&pending);
        self.searched = None;
        // A dry run is not verified by the writer.
        if self.is_hasty
            && !self.request.is_dry_run
            && let Some((snapshot, stamp)) = model.unverified_snapshot(&self.request.names())
        {
            (self.snapshot, self.searched) = (snapshot, Some(stamp));
            return Ok(());
        }
        self.snapshot = model
            .prepare_search(self.request.names(), Duration::ZERO)
            .await?
            .snapshot;
        self.own = Arc::new(existing_allocations(model, &self.request, &pending).await?);
        Ok(())
    }
}

/// The allocations of the pending consumers, of which some may not exist.
async fn existing_allocations(model: &Model, request: &PlaceRequest, pending: &[usize]) -> Result<OwnAllocations> {
    let claims = pending.iter().map(|at| &request.consumers[*at].claim);
    let existing = claims.filter(|claim| claim.generation != Expected::New);
    let existing: Vec<String> = existing.map(|claim| claim.consumer.clone()).collect();
    if existing.is_empty() {
        return Ok(OwnAllocations::new());
    }
    let reader = model.reader(false);
    reader.ask(move |conn| Ok(own_allocations(conn, &existing)?)).await
}

impl PlaceRequest {
    /// The names in the queries.
    fn names(&self) -> Names {
        Names::of_candidates(self.queries.iter().map(|query| &query.request))
    }

    /// Names the providers of posted candidates as the snapshot does. So a provider has one name in the answer, and
    /// among the held rows.
    pub(super) fn spell_as(&mut self, snapshot: &Snapshot) {
        for consumer in &mut self.consumers {
            if let Wanted::Candidates(list) = &mut consumer.wanted {
                let list = Arc::make_mut(list).iter_mut();
                list.for_each(|candidate| candidate.spell_as(snapshot));
            }
        }
    }
}

impl ClaimCandidate {
    /// Names providers as the snapshot does. Joins allocations under two spellings of the same provider.
    fn spell_as(&mut self, snapshot: &Snapshot) {
        let mapped = self.mappings.iter_mut().flatten().flat_map(|(_, providers)| providers);
        let allocated = self.allocations.iter_mut().map(|(provider, _)| provider);
        let mut is_changed = false;
        for uuid in allocated.chain(mapped) {
            let stored = snapshot.by_uuid(uuid).map(|slot| snapshot.uuid(slot));
            if let Some(stored) = stored.filter(|stored| *stored != uuid.as_str()) {
                stored.clone_into(uuid);
                is_changed = true;
            }
        }
        if !is_changed {
            return;
        }
        let mut joined: BTreeMap<String, Vec<(String, i64)>> = BTreeMap::new();
        for (provider, resources) in std::mem::take(&mut self.allocations) {
            let amounts = joined.entry(provider).or_default();
            for (class, amount) in resources {
                match amounts.iter_mut().find(|(other, _)| *other == class) {
                    Some((_, sum)) => *sum = sum.saturating_add(amount),
                    None => amounts.push((class, amount)),
                }
            }
        }
        self.allocations = joined.into_iter().collect();
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
