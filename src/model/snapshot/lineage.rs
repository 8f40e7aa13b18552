//! The states of providers and of their ancestors: a provider below an ancestor that is not up gets nothing new.

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::model::providers;
use crate::search::{ProviderId, ProviderRow, ProviderState, Slot, Snapshot};

/// By provider: the provider's own state, and the parent.
#[derive(Default)]
pub struct Lineage(HashMap<ProviderId, (ProviderState, Option<ProviderId>)>);

impl Lineage {
    /// The lineage of providers of which rows were read, with the states in the tables. With the providers locked, the
    /// lineage holds until COMMIT: a change from up to a different state moves the generations of the whole subtree.
    pub fn of_rows(conn: &mut DbConnection, rows: &[ProviderRow]) -> DbResult<Lineage> {
        use resource_providers as t;
        let nested = rows.iter().filter(|row| row.parent.is_some());
        let roots: BTreeSet<i32> = nested.map(|row| row.root.0).collect();
        let roots: Vec<i32> = roots.into_iter().collect();
        let mut providers: Vec<(i32, String, Option<i32>)> = in_lists(&roots, |roots| {
            t::table
                .filter(t::root_provider_id.eq_any(roots))
                .select((t::id, t::uuid, t::parent_provider_id))
                .load(&mut *conn)
        })?;
        let alone = rows.iter().filter(|row| row.parent.is_none());
        providers.extend(alone.map(|row| (row.id.0, row.uuid.to_string(), None)));
        let keys: Vec<(i32, &str)> = providers.iter().map(|(id, uuid, _)| (*id, uuid.as_str())).collect();
        let not_up = providers::not_up(conn, &keys)?;
        let lineage = providers.iter().map(|(id, _, parent)| {
            let state = not_up.get(&ProviderId(*id)).copied().unwrap_or_default();
            (ProviderId(*id), (state, parent.map(ProviderId)))
        });
        Ok(Lineage(lineage.collect()))
    }

    pub fn are_all_up(&self) -> bool {
        self.0.values().all(|(state, _)| *state == ProviderState::Up)
    }

    pub fn state_and_parent(&self, id: ProviderId) -> (ProviderState, Option<ProviderId>) {
        self.0.get(&id).copied().unwrap_or_default()
    }
}

/// Whether the snapshot shows each of these providers, and each ancestor, as up.
pub fn are_up(snapshot: &Snapshot, ids: &[i32]) -> bool {
    let slots = || ids.iter().filter_map(|id| snapshot.by_id(ProviderId(*id)));
    snapshot.are_all_up() || slots().all(|slot| snapshot.state(slot) == ProviderState::Up)
}

/// The own state of a provider in the snapshot, and the parent.
pub fn of_slot(snapshot: &Snapshot, slot: Slot) -> (ProviderState, Option<ProviderId>) {
    let parent = snapshot.parent(slot).map(|parent| snapshot.id(parent));
    (snapshot.own_state(slot), parent)
}
