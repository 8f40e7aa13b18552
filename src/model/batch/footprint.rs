//! The footprint of a batch: the consumers, providers and names that its commands may read or write.
//!
//! Naively, each command would read its own rows, by its own statements. So the footprints of all commands are joined
//! first, and `batch_rows` reads and locks each kind of row once for the batch.

use std::collections::{BTreeSet, HashSet};

use super::command::Command;
use crate::model::allocations::ConsumerClaim;
use crate::model::claims::memory::ClaimId;
use crate::model::claims::{ClaimCandidate, ConsumerChoice};
use crate::model::providers::{DISABLED_TRAIT, Describe};
use crate::model::resource_providers::NewParent;
use crate::model::workloads;
use crate::search::Snapshot;

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
    /// Whether a claim has a choice: the states of `providers` are needed, and of the providers above.
    pub has_choices: bool,
    /// The `providers` whose whole trees are needed.
    pub trees: BTreeSet<&'a str>,
    /// Names of classes in claims. Commands that are no claims are decided on all classes.
    pub classes: BTreeSet<&'a str>,
    /// Names that commands give to providers.
    pub names: BTreeSet<&'a str>,
    /// Names of traits that commands create, or give to providers.
    pub traits: BTreeSet<&'a str>,
    /// Uuids of aggregates that commands give to providers.
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
    /// Classes whose normal limits commands replace.
    pub limits: BTreeSet<&'a str>,
    /// Uuids of workloads.
    pub workloads: BTreeSet<&'a str>,
    /// Uuids of the workloads in the rules of `workloads`, and of workloads whose rules name a new workload.
    pub neighbours: BTreeSet<&'a str>,
    /// Names that commands give to workloads.
    pub workload_names: BTreeSet<&'a str>,
    /// The `consumers` that exist and become replicas of a workload.
    pub adopted: BTreeSet<&'a str>,
    /// Whether a command is neither a claim nor a release.
    pub beyond_claims: bool,
    /// Whether a command is neither a claim, nor a release, nor a change of inventories.
    pub beyond_inventories: bool,
}

impl<'a> Footprint<'a> {
    pub fn of(commands: &[&'a Command]) -> Footprint<'a> {
        Footprint::beside_held(commands, &BTreeSet::new())
    }

    /// The footprint without the candidates that name a provider of `held`.
    pub fn beside_held(commands: &[&'a Command], held: &BTreeSet<String>) -> Footprint<'a> {
        let mut footprint = Footprint::default();
        for command in commands {
            footprint.add(command, held);
        }
        footprint
    }

    /// The ids of the `providers` that the snapshot knows in this spelling.
    pub fn known_providers(&self, snapshot: &Snapshot) -> Vec<i32> {
        let slots = self.providers.iter().filter_map(|uuid| snapshot.by_uuid(uuid));
        slots.map(|slot| snapshot.id(slot).0).collect()
    }

    fn add(&mut self, command: &'a Command, held: &BTreeSet<String>) {
        match command {
            Command::Claim(claim) => self.add_claims(&claim.consumers),
            Command::ClaimFirst(claim) => {
                self.claim_ids.extend(claim.memory.iter().map(|memory| memory.id()));
                self.add_choices(&claim.consumers, held);
            }
            Command::SetWorkload(set) => self.add_workload(set, held),
            Command::Release(release) => {
                self.consumers.insert(&release.consumer);
            }
            other => {
                self.beyond_claims = true;
                self.beyond_inventories |= !changes_inventories(other);
                self.add_other(other);
            }
        }
    }

    fn add_claims(&mut self, consumers: &'a [ConsumerClaim]) {
        for claim in consumers {
            self.consumers.insert(&claim.consumer);
            if claim.allocations.is_empty() {
                self.wiped.insert(&claim.consumer);
            }
            self.add_allocations(&claim.allocations);
        }
    }

    /// Adds a workload, which is decided as claims and releases are.
    fn add_workload(&mut self, set: &'a workloads::Set, held: &BTreeSet<String>) {
        self.workloads.insert(&set.uuid);
        let tied = set.neighbours.iter().chain(&set.referrers);
        self.neighbours.extend(tied.map(|it| it.uuid.as_str()));
        self.workload_names.extend(set.row.iter().map(|row| row.name.as_str()));
        self.adopted.extend(set.adopted.iter().map(String::as_str));
        self.consumers
            .extend(set.standing.iter().map(|(consumer, _)| consumer.as_str()));
        self.consumers
            .extend(set.released.iter().map(|(consumer, _)| consumer.as_str()));
        let hosts = || set.hosts.iter().map(|it| it.host.as_str());
        self.providers.extend(hosts());
        self.compared_hosts.extend(hosts());
        self.add_choices(&set.placed, held);
    }

    /// Adds all candidates that name no held provider. A list that consumers share is added once.
    fn add_choices(&mut self, consumers: &'a [ConsumerChoice], held: &BTreeSet<String>) {
        self.has_choices |= !consumers.is_empty();
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

    /// Adds a command that is neither a claim nor a release.
    fn add_other(&mut self, command: &'a Command) {
        match command {
            Command::CreateProvider(command) => {
                self.providers.insert(&command.uuid);
                self.providers.extend(command.parent.as_deref());
                self.parents.extend(command.parent.as_deref());
                self.names.insert(&command.name);
            }
            Command::UpdateProvider(command) => {
                self.providers.insert(&command.uuid);
                self.trees.insert(&command.uuid);
                self.names.insert(&command.name);
                if let NewParent::Set(parent) = &command.parent {
                    self.providers.extend(parent.as_deref());
                    self.parents.extend(parent.as_deref());
                }
            }
            Command::DeleteProvider(command) => {
                self.providers.insert(&command.uuid);
                self.trees.insert(&command.uuid);
            }
            Command::Reshape(command) => {
                self.add_claims(&command.consumers);
                self.providers
                    .extend(command.providers.iter().map(|reshaped| reshaped.provider.as_str()));
            }
            Command::DeleteClass(command) => self.removed_classes.push(&command.name),
            Command::RenameClass(command) => self.removed_classes.push(&command.from),
            Command::DeleteTrait(command) => self.removed_traits.push(&command.name),
            Command::EnsureTrait(command) => {
                self.traits.insert(&command.name);
            }
            Command::ReplaceTraits(command) => {
                self.providers.insert(&command.provider);
                self.traits.extend(command.traits.iter().map(String::as_str));
            }
            Command::ReplaceAggregates(command) => {
                self.providers.insert(&command.provider);
                self.aggregates.extend(command.aggregates.iter().map(String::as_str));
            }
            Command::Describe(command) => {
                self.add_described(command.providers.iter().map(|new| new.provider.as_str()));
                self.descriptions.extend(&command.providers);
            }
            Command::SetStates(command) => self.add_described(command.hosts.iter().map(String::as_str)),
            Command::SetLimit(command) => {
                self.limits.insert(&command.class);
            }
            Command::CreateClass(_) | Command::EnsureClass(_) => {}
            other => self.providers.extend(provider_of(other)),
        }
    }

    /// Adds providers whose descriptions change. The providers below change their states and domains, too.
    fn add_described(&mut self, uuids: impl Iterator<Item = &'a str> + Clone) {
        self.providers.extend(uuids.clone());
        self.described.extend(uuids.clone());
        self.trees.extend(uuids);
        self.traits.insert(DISABLED_TRAIT);
    }
}

fn changes_inventories(command: &Command) -> bool {
    matches!(
        command,
        Command::ReplaceInventories(_)
            | Command::AddInventory(_)
            | Command::UpdateInventory(_)
            | Command::RemoveInventory(_)
            | Command::ClearInventories(_)
    )
}

/// The provider of a command on a single provider's inventories or traits.
fn provider_of(command: &Command) -> Option<&str> {
    Some(match command {
        Command::ReplaceInventories(command) => &command.provider,
        Command::AddInventory(command) => &command.provider,
        Command::UpdateInventory(command) => &command.provider,
        Command::RemoveInventory(command) => &command.provider,
        Command::ClearInventories(command) => &command.provider,
        Command::ClearTraits(command) => &command.provider,
        _ => return None,
    })
}
