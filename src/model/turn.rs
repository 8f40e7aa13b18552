//! Whether a batch of claims waits for its turn, and where: at providers that other processes change at the moment, too.

use std::collections::{BTreeSet, HashSet};

use super::command::Command;
use super::gather;
use super::live::Live;
use super::named::Named;
use crate::db::{DbConnection, DbResult};
use crate::search::ProviderId;

/// The last turn that was thought of.
#[derive(Default)]
pub struct Turn {
    /// Where others were met by then.
    company: HashSet<ProviderId>,
    /// What is locked for it.
    at: BTreeSet<ProviderId>,
}

impl Turn {
    /// Whether the commands need one: at what others change too, or where a guard was `lost` at all that they name.
    pub fn is_needed(&mut self, live: &Live, commands: &[&Command], lost: bool) -> bool {
        self.company = live.company();
        self.at.clear();
        if lost || !self.company.is_empty() {
            let is_met = |id: &ProviderId| lost || self.company.contains(id);
            self.at = named(live, commands).into_iter().filter(is_met).collect();
        }
        !self.at.is_empty()
    }

    /// Locks what it is about, inside the transaction.
    pub fn take(&self, conn: &mut DbConnection) -> DbResult<()> {
        let ids: Vec<i32> = self.at.iter().map(|id| id.0).collect();
        gather::lock_providers(conn, &ids)
    }

    /// Whether a command names nothing where others are met and no turn was taken.
    pub fn is_for(&self, live: &Live, command: &Command) -> bool {
        let is_free = |id: &ProviderId| self.at.contains(id) || !self.company.contains(id);
        named(live, &[command]).iter().all(is_free)
    }
}

/// The providers that commands name, of those that there are.
fn named(live: &Live, commands: &[&Command]) -> Vec<ProviderId> {
    let (newest, named) = (live.newest(), Named::of(commands));
    let slots = named.providers.iter().filter_map(|uuid| newest.by_uuid(uuid));
    slots.map(|slot| newest.id(slot)).collect()
}
