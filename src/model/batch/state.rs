//! The state that a batch decides on: the rows from before the batch (`base`), overlaid with the changes of the
//! commands (`now`).
//!
//! Naively, each command would write its own rows. A batch of claims on a single provider would update the provider
//! once for each claim.
//!
//! So the commands change this state in memory, in order, and each command sees the changes of the earlier commands. A
//! command checks everything before its first change, so a refused command leaves no trace. At the end only the net
//! effect is written: the difference between `base` and `now` of each entry (`save`).

mod descriptions;
mod names;
mod workloads;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::base::Base;
use super::call_usage::CallUsage;
use super::entry::Entries;
use super::footprint::Footprint;
use super::own_rows::OwnRows;
use super::savepoint::Savepoint;
use crate::model::Moment;
use crate::search::{AggregateId, ClassId, ProviderId, ProviderRow, Snapshot, TraitId};

/// A provider that a command of the batch read.
#[derive(Debug, Clone, Default)]
pub struct ProviderEntry {
    /// The row before the batch; `None` if the batch creates the provider.
    pub base: Option<ProviderRow>,
    /// The row after the commands so far; `None` if a command deleted the provider.
    pub now: Option<ProviderRow>,
    /// How often the commands moved the generation.
    pub moves: u32,
    /// Classes whose inventory was written. An equal value counts as well, because `updated_at` moves.
    pub rewritten: BTreeSet<ClassId>,
}

impl ProviderEntry {
    /// The provider above, if the batch creates or moves this provider. An older row may lack its place in the tree.
    pub fn moved_to(&self) -> Option<Option<ProviderId>> {
        let parent = self.now.as_ref()?.parent;
        let before = self.base.as_ref().map(|row| row.parent);
        (before != Some(parent)).then_some(parent)
    }
}

/// A consumer's row of `allocations` before the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationRow {
    pub id: i32,
    pub provider: ProviderId,
    pub class: ClassId,
    pub used: i64,
}

/// A row of `consumers`, with names in place of the ids of project, user and type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConsumerRow {
    /// 0 if the batch creates the consumer.
    pub id: i32,
    pub generation: i64,
    pub project: String,
    pub user: String,
    pub consumer_type: Option<String>,
}

/// A consumer that the batch names.
#[derive(Debug, Clone, Default)]
pub struct ConsumerEntry {
    pub base: Option<ConsumerRow>,
    pub now: Option<ConsumerRow>,
    /// The id of the row that was inserted to lock a consumer without a row (`batch_rows`). The row is filled or
    /// deleted before COMMIT, so no other transaction sees the row.
    pub lock_row: Option<i32>,
    /// The allocations before the batch, read by uuid: they are found even if the consumer's row is missing.
    pub base_allocations: Vec<AllocationRow>,
    /// Whether the batch replaced the allocations. If so, `save` deletes all of `base_allocations` and inserts
    /// `allocations`.
    pub replaced: bool,
    /// The allocations after the commands so far.
    pub allocations: Vec<(ProviderId, ClassId, i64)>,
}

/// An aggregate that the batch creates.
#[derive(Debug, Clone)]
pub struct NewAggregate {
    pub id: AggregateId,
    /// In the first spelling.
    pub uuid: Arc<str>,
}

/// The rows before the batch, and the changes of the commands.
pub struct State {
    pub(super) base: Base,
    /// The time of the batch, and of every row that the batch writes.
    pub now: Moment,
    pub providers: BTreeMap<ProviderId, ProviderEntry>,
    uuids: HashMap<Arc<str>, Option<ProviderId>>,
    names: HashMap<Arc<str>, Option<ProviderId>>,
    /// Names of the classes that commands create, rename or delete.
    pub classes: Entries<ClassId, Arc<str>>,
    /// Names of the traits that commands create or delete.
    pub traits: Entries<TraitId, Arc<str>>,
    /// Aggregates that the batch creates, by folded uuid. Rows are inserted in this order, as in the unique index: in a
    /// random order 100,000 rows take SQLite several times as long.
    pub new_aggregates: BTreeMap<String, NewAggregate>,
    pub consumers: BTreeMap<String, ConsumerEntry>,
    pub own: OwnRows,
    /// Providers with an inventory, before the batch, of a class that a command removes.
    pub class_users: BTreeSet<(ClassId, ProviderId)>,
    /// Providers with a trait, before the batch, that a command deletes.
    pub trait_users: BTreeSet<(TraitId, ProviderId)>,
    /// When the traits of the commands were created, without new traits.
    pub trait_times: BTreeMap<String, Moment>,
    /// Whether a new provider whose uuid and name are both taken is refused because of its name.
    pub names_first: bool,
    /// Log lines for after the commit.
    pub warnings: Vec<String>,
    /// Uuids of providers that other transactions have locked: claims with a choice take nothing from these providers.
    pub held: Arc<BTreeSet<String>>,
    /// The usage around the current command, if the command claims for several consumers.
    pub call: CallUsage,
    /// Whether the current command, if refused, might be granted when rows of `held` are free.
    pub waits_for_held: bool,
    /// The id of the newest row that the batch creates. New ids are negative until the database gives real ids.
    last_new_id: i32,
    /// The entries before the current command's changes, if the command may have to be undone.
    pub(super) savepoint: Option<Savepoint>,
}

impl State {
    pub fn new(base: Base, consumers: BTreeMap<String, ConsumerEntry>, own: OwnRows, now: Moment) -> State {
        State {
            base,
            now,
            providers: BTreeMap::new(),
            uuids: HashMap::new(),
            names: HashMap::new(),
            classes: Entries::new(),
            traits: Entries::new(),
            new_aggregates: BTreeMap::new(),
            consumers,
            own,
            class_users: BTreeSet::new(),
            trait_users: BTreeSet::new(),
            trait_times: BTreeMap::new(),
            names_first: false,
            warnings: Vec::new(),
            held: Arc::default(),
            call: CallUsage::default(),
            waits_for_held: false,
            last_new_id: 0,
            savepoint: None,
        }
    }

    /// The providers whose rows differ from the snapshot; none if the batch decides on the snapshot.
    pub fn differing_from(&self, snapshot: &Snapshot, footprint: &Footprint<'_>) -> BTreeSet<ProviderId> {
        match &self.base {
            Base::Snapshot(_) => BTreeSet::new(),
            Base::Rows(rows) => rows.differing_from(snapshot, &footprint.known_providers(snapshot)),
        }
    }

    /// Whether the providers are rows that were read for the batch, and not the snapshot's providers.
    pub fn is_of_rows(&self) -> bool {
        matches!(self.base, Base::Rows(_))
    }

    /// A provisional id for a new row.
    fn new_id(&mut self) -> i32 {
        self.last_new_id -= 1;
        self.last_new_id
    }

    pub fn find_provider(&self, uuid: &str) -> Option<ProviderId> {
        match self.uuids.get(uuid) {
            Some(found) => *found,
            // The base may know a deleted provider by another spelling.
            None => self.base.by_uuid(uuid).filter(|id| self.exists(*id)),
        }
    }

    fn exists(&self, id: ProviderId) -> bool {
        self.providers.get(&id).is_none_or(|entry| entry.now.is_some())
    }

    pub fn find_provider_by_name(&self, name: &str) -> Option<ProviderId> {
        match self.names.get(name) {
            Some(found) => *found,
            None => self.base.by_name(name),
        }
    }

    /// The entry of a provider, which may be deleted by now; `None` for an unknown id.
    pub(super) fn entry(&mut self, id: ProviderId) -> Option<&mut ProviderEntry> {
        if !self.providers.contains_key(&id) {
            let row = self.base.row(id)?;
            let entry = ProviderEntry {
                base: Some(row.clone()),
                now: Some(row),
                ..ProviderEntry::default()
            };
            self.providers.insert(id, entry);
        }
        self.providers.get_mut(&id)
    }

    /// The current row of a provider.
    pub fn provider(&mut self, id: ProviderId) -> Option<&ProviderRow> {
        self.entry(id)?.now.as_ref()
    }

    /// The name of a provider by uuid; `None` if the provider does not exist.
    pub fn provider_name(&mut self, uuid: &str) -> Option<Arc<str>> {
        let id = self.find_provider(uuid)?;
        Some(Arc::clone(&self.provider(id)?.name))
    }

    /// Changes the row of a provider, if it exists.
    pub fn edit(&mut self, id: ProviderId, change: impl FnOnce(&mut ProviderRow)) {
        self.keep_provider(id);
        if let Some(row) = self.entry(id).and_then(|entry| entry.now.as_mut()) {
            change(row);
        }
    }

    /// Moves a provider's generation by 1, with `updated_at`. Only for moves that `generation_moves` checked.
    pub(super) fn move_generation(&mut self, id: ProviderId) {
        let now = self.now.timestamp_micros();
        self.keep_provider(id);
        if let Some(entry) = self.entry(id) {
            entry.moves += 1;
            if let Some(row) = entry.now.as_mut() {
                row.generation += 1;
                row.modified = now;
            }
        }
    }

    /// Records that the inventory of `class` was written.
    pub fn rewrite_inventory(&mut self, id: ProviderId, class: ClassId) {
        if let Some(entry) = self.entry(id) {
            entry.rewritten.insert(class);
        }
    }

    /// Adds a provider. Sets `row.id` and, for a root, `row.root`.
    pub fn add_provider(&mut self, mut row: ProviderRow, is_root: bool) -> ProviderId {
        let id = ProviderId(self.new_id());
        row.id = id;
        if is_root {
            row.root = id;
        }
        self.uuids.insert(row.uuid.clone(), Some(id));
        self.names.insert(row.name.clone(), Some(id));
        let entry = ProviderEntry {
            now: Some(row),
            ..ProviderEntry::default()
        };
        self.providers.insert(id, entry);
        id
    }

    pub fn rename_provider(&mut self, id: ProviderId, name: &str) {
        let name: Arc<str> = name.into();
        let Some(row) = self.entry(id).and_then(|entry| entry.now.as_mut()) else {
            return;
        };
        let old = std::mem::replace(&mut row.name, name.clone());
        self.names.insert(old, None);
        self.names.insert(name, Some(id));
    }

    pub fn delete_provider(&mut self, id: ProviderId) {
        let Some(row) = self.entry(id).and_then(|entry| entry.now.take()) else {
            return;
        };
        self.uuids.insert(row.uuid, None);
        self.names.insert(row.name, None);
        if let Some(entry) = self.own.descriptions.get_mut(&id) {
            entry.now = None;
        }
    }

    /// The providers of `tops`, and all providers below now.
    pub fn with_all_below(&mut self, tops: Vec<ProviderId>) -> BTreeSet<ProviderId> {
        if tops.is_empty() {
            return BTreeSet::new();
        }
        let roots = tops.iter().filter_map(|id| self.provider(*id).map(|row| row.root));
        let roots: BTreeSet<ProviderId> = roots.collect();
        let mut ids: BTreeSet<ProviderId> = self.providers.keys().copied().collect();
        ids.extend(self.base.trees(&roots));
        let mut below: BTreeMap<ProviderId, Vec<ProviderId>> = BTreeMap::new();
        for id in ids {
            let row = self.provider(id).filter(|row| roots.contains(&row.root));
            if let Some(parent) = row.and_then(|row| row.parent) {
                below.entry(parent).or_default().push(id);
            }
        }
        let (mut found, mut next) = (BTreeSet::new(), tops);
        while let Some(id) = next.pop() {
            if found.insert(id) {
                next.extend(below.remove(&id).unwrap_or_default());
            }
        }
        found
    }

    /// The providers whose generation moves.
    pub fn written_providers(&self) -> impl Iterator<Item = ProviderId> {
        let moved = self.providers.iter().filter(|(_, entry)| entry.moves > 0);
        moved.map(|(id, _)| *id)
    }

    /// The current rows of the providers that the batch read.
    fn current_rows(&self) -> impl Iterator<Item = &ProviderRow> {
        self.providers.values().filter_map(|entry| entry.now.as_ref())
    }

    /// The entry of a consumer. All consumers of the commands were loaded, so a missing entry is a new consumer.
    pub fn consumer(&mut self, uuid: &str) -> &mut ConsumerEntry {
        self.keep_consumer(uuid);
        self.consumers.entry(uuid.to_owned()).or_default()
    }

    /// The amount of a class of a provider that is allocated to a consumer.
    pub fn allocated(&self, consumer: &str, provider: ProviderId, class: ClassId) -> i64 {
        let entry = self.consumers.get(consumer).into_iter();
        let allocations = entry.flat_map(|entry| &entry.allocations);
        let of_class = allocations.filter(|(of, its_class, _)| (*of, *its_class) == (provider, class));
        of_class.map(|(_, _, used)| used).sum()
    }

    /// Releases all allocations of a consumer, and subtracts the amounts from the providers' usage.
    pub fn release_allocations(&mut self, uuid: &str) {
        let entry = self.consumer(uuid);
        entry.replaced = true;
        for (provider, class, used) in std::mem::take(&mut entry.allocations) {
            self.add_usage(provider, class, -used);
        }
    }

    /// Allocates to a consumer, and adds the amount to the provider's usage.
    pub fn allocate(&mut self, uuid: &str, provider: ProviderId, class: ClassId, used: i64) {
        self.add_usage(provider, class, used);
        self.consumer(uuid).allocations.push((provider, class, used));
    }

    fn add_usage(&mut self, provider: ProviderId, class: ClassId, amount: i64) {
        self.edit(provider, |row| {
            let used = row.used.entry(class).or_insert(0);
            *used += amount;
            if *used == 0 {
                row.used.remove(&class);
            }
        });
    }
}
