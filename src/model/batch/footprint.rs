//! The footprint of a batch: the consumers, providers and names in the commands of the batch.
//!
//! Naively, each command would read its own rows, by its own statements. So the footprints of all commands are joined
//! first, and `batch_rows` reads and locks each kind of row once for the batch.

use std::collections::{BTreeSet, HashSet};

use super::own_tables::OwnTables;
use crate::db::writer::RowNames;
use crate::model::allocations::ConsumerClaim;
use crate::model::claims::memory::ClaimId;
use crate::model::claims::{ClaimCandidate, ConsumerChoice};
use crate::model::providers::{DISABLED_TRAIT, Describe};
use crate::search::{SHARING_TRAIT, Snapshot};

/// How much of providers a command may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only usage and generations.
    #[default]
    Claims,
    /// Inventories too.
    Inventories,
    All,
}

/// The names in the commands of a batch, by kind.
#[derive(Debug, Default)]
pub struct Footprint<'a> {
    pub consumers: BTreeSet<&'a str>,
    /// The ids of calls.
    pub claim_ids: BTreeSet<&'a ClaimId>,
    /// The `consumers` that a claim wipes: the generations of their providers will move.
    pub wiped: BTreeSet<&'a str>,
    /// Uuids of providers.
    pub providers: BTreeSet<&'a str>,
    /// The `providers` whose roots are needed too.
    pub parents: BTreeSet<&'a str>,
    /// Whether a consumer has a choice of which each candidate names a held provider.
    pub is_blocked: bool,
    /// Whether the states of `providers` are needed, and of the providers above: a claim has a choice, or replicas
    /// leave a lost host.
    pub needs_states: bool,
    /// The `providers` whose whole trees are needed.
    pub trees: BTreeSet<&'a str>,
    /// Names of classes in claims. All other commands are decided on all classes.
    pub classes: BTreeSet<&'a str>,
    /// The new names of providers.
    pub names: BTreeSet<&'a str>,
    /// Names of new traits, and of traits for providers.
    pub traits: BTreeSet<&'a str>,
    /// Uuids of aggregates for providers.
    pub aggregates: BTreeSet<&'a str>,
    /// Classes that commands delete or rename. A renamed class counts, because a later command may delete the class by
    /// the new name.
    pub removed_classes: Vec<&'a str>,
    pub removed_traits: Vec<&'a str>,
    /// The `providers` that commands describe.
    pub described: BTreeSet<&'a str>,
    /// The new descriptions of the described providers.
    pub descriptions: Vec<&'a Describe>,
    /// The `providers` whose domains workloads compare.
    pub compared_hosts: BTreeSet<&'a str>,
    /// Keys of rows that the nouns declare by `OwnRow`.
    pub own: OwnTables,
    /// Uuids of workloads.
    pub workloads: BTreeSet<&'a str>,
    /// Uuids of the workloads in the rules of `workloads`, and of workloads whose rules name a new workload.
    pub neighbours: BTreeSet<&'a str>,
    /// The new names of workloads.
    pub workload_names: BTreeSet<&'a str>,
    /// The `consumers` that exist and become replicas of a workload.
    pub adopted: BTreeSet<&'a str>,
    /// Uuids of providers locked by concurrent transactions: candidates with these providers are left out.
    pub held: Option<&'a BTreeSet<String>>,
    /// The greatest reach of a command.
    pub reach: Reach,
}

impl<'a> Footprint<'a> {
    /// The ids of the `providers` that the snapshot knows.
    pub fn known_providers(&self, snapshot: &Snapshot) -> Vec<i32> {
        let slots = self.providers.iter().filter_map(|uuid| snapshot.by_uuid(uuid));
        slots.map(|slot| snapshot.id(slot).0).collect()
    }

    /// The rows of consumers and providers.
    pub fn rows(&self) -> RowNames {
        let owned = |uuids: &BTreeSet<&str>| uuids.iter().map(|uuid| (*uuid).to_owned()).collect();
        RowNames {
            providers: owned(&self.providers),
            consumers: owned(&self.consumers),
        }
    }

    /// Whether the commands cannot do without these rows. `held` are the providers among the rows.
    pub fn needs(&self, rows: &RowNames) -> bool {
        self.is_blocked
            || self.providers.iter().any(|uuid| rows.providers.contains(*uuid))
            || self.consumers.iter().any(|uuid| rows.consumers.contains(*uuid))
    }

    pub fn add_claims(&mut self, consumers: &'a [ConsumerClaim]) {
        for claim in consumers {
            self.consumers.insert(&claim.consumer);
            if claim.allocations.is_empty() {
                self.wiped.insert(&claim.consumer);
            }
            self.add_allocations(&claim.allocations);
        }
    }

    /// Adds all candidates that name no held provider. A list that consumers share is added once.
    pub fn add_choices(&mut self, consumers: &'a [ConsumerChoice]) {
        self.needs_states |= !consumers.is_empty();
        let none = BTreeSet::new();
        let held = self.held.unwrap_or(&none);
        let is_free = |candidate: &&ClaimCandidate| !candidate.names_any(held);
        let mut lists = HashSet::new();
        for consumer in consumers {
            self.consumers.insert(&consumer.claim.consumer);
            if lists.insert(consumer.candidates.list.as_ptr()) {
                let candidates = consumer.candidates.list.iter().filter(is_free);
                candidates.for_each(|candidate| self.add_allocations(&candidate.allocations));
            }
            self.is_blocked |= !held.is_empty() && consumer.candidates.are_all_on(held);
        }
    }

    fn add_allocations(&mut self, allocations: &'a [(String, Vec<(String, i64)>)]) {
        for (provider, resources) in allocations {
            self.providers.insert(provider);
            self.classes.extend(resources.iter().map(|(class, _)| class.as_str()));
        }
    }

    /// Adds providers whose descriptions change. The providers below change their states and domains, too.
    pub fn add_described(&mut self, uuids: impl Iterator<Item = &'a str> + Clone) {
        self.providers.extend(uuids.clone());
        self.described.extend(uuids.clone());
        self.trees.extend(uuids);
        self.traits.extend([DISABLED_TRAIT, SHARING_TRAIT]);
    }
}
