//! What a batch works on: a base, the consumers it names, and over both what its commands changed so far.
//!
//! A command reads the newest state, checks everything, and only then edits, so that a refused one leaves no trace.
//! What is written in the end is the difference between each entry's `base` and its `now` (`model/save`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::Moment;
use super::base::Base;
use super::standard::FIRST_CUSTOM_CLASS;
use crate::search::{AggregateId, ClassId, ProviderId, ProviderRow, TraitId};

/// A provider that the batch looked at.
#[derive(Debug, Clone)]
pub struct ProviderEntry {
    /// As it was before the batch; `None` where the batch makes it.
    pub base: Option<ProviderRow>,
    /// As it is now; `None` where the batch deleted it.
    pub now: Option<ProviderRow>,
    /// How often its generation moved.
    pub moves: u32,
    /// Classes whose inventory was written, changed or not (its `updated_at` moves either way).
    pub rewritten: BTreeSet<ClassId>,
}

/// A row of `allocations` that a consumer had before the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRow {
    pub id: i32,
    pub provider: ProviderId,
    pub class: ClassId,
    pub used: i64,
}

/// A consumer, by external names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerRow {
    /// 0 where the batch makes it.
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
    /// The row that was made to lock it where it had none: see `gather`. Nobody else ever sees it so.
    pub lock_row: Option<i32>,
    /// Its rows before the batch: read by its uuid, even where its own row is missing.
    pub held: Vec<HeldRow>,
    /// Whether the batch replaced them: then all of `held` go, and `allocations` come.
    pub replaced: bool,
    /// What it has now.
    pub allocations: Vec<(ProviderId, ClassId, i64)>,
}

/// A class or trait that the batch made, renamed or deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameEntry {
    pub base: Option<Arc<str>>,
    pub now: Option<Arc<str>>,
}

/// See the module.
pub struct State {
    base: Base,
    /// The time of every row that the batch writes.
    pub now: Moment,
    pub providers: BTreeMap<ProviderId, ProviderEntry>,
    uuids: HashMap<Arc<str>, Option<ProviderId>>,
    names: HashMap<Arc<str>, Option<ProviderId>>,
    pub classes: BTreeMap<ClassId, NameEntry>,
    pub traits: BTreeMap<TraitId, NameEntry>,
    pub new_aggregates: HashMap<Arc<str>, AggregateId>,
    pub consumers: BTreeMap<String, ConsumerEntry>,
    /// Which providers had an inventory of a class, or a trait, that some command of the batch is to delete.
    pub class_users: BTreeSet<(ClassId, ProviderId)>,
    pub trait_users: BTreeSet<(TraitId, ProviderId)>,
    /// Since when the traits that the batch names are there; not those that it makes.
    pub trait_times: BTreeMap<String, Moment>,
    /// Whether a new provider whose uuid and name are both taken is refused for its name.
    pub names_first: bool,
    /// What the log says once it is committed.
    pub warnings: Vec<String>,
    /// Rows that the batch makes have negative ids until they are written.
    next_new: i32,
}

impl State {
    pub fn new(base: Base, consumers: BTreeMap<String, ConsumerEntry>, now: Moment) -> State {
        State {
            base,
            now,
            providers: BTreeMap::new(),
            uuids: HashMap::new(),
            names: HashMap::new(),
            classes: BTreeMap::new(),
            traits: BTreeMap::new(),
            new_aggregates: HashMap::new(),
            consumers,
            class_users: BTreeSet::new(),
            trait_users: BTreeSet::new(),
            trait_times: BTreeMap::new(),
            names_first: false,
            warnings: Vec::new(),
            next_new: 0,
        }
    }

    /// An id for a row that is yet to be written.
    fn new_id(&mut self) -> i32 {
        self.next_new -= 1;
        self.next_new
    }

    // ---- providers ----

    pub fn find_provider(&self, uuid: &str) -> Option<ProviderId> {
        match self.uuids.get(uuid) {
            Some(found) => *found,
            // By another spelling, one that the batch deleted.
            None => self.base.by_uuid(uuid).filter(|id| self.is_living(*id)),
        }
    }

    fn is_living(&self, id: ProviderId) -> bool {
        self.providers.get(&id).is_none_or(|entry| entry.now.is_some())
    }

    pub fn find_name(&self, name: &str) -> Option<ProviderId> {
        match self.names.get(name) {
            Some(found) => *found,
            None => self.base.by_name(name),
        }
    }

    /// The entry of a provider that exists or existed before the batch; `None` for an id that nothing has.
    fn entry(&mut self, id: ProviderId) -> Option<&mut ProviderEntry> {
        if !self.providers.contains_key(&id) {
            let row = self.base.row(id)?;
            let entry = ProviderEntry {
                base: Some(row.clone()),
                now: Some(row),
                moves: 0,
                rewritten: BTreeSet::new(),
            };
            self.providers.insert(id, entry);
        }
        self.providers.get_mut(&id)
    }

    /// The newest row of a provider.
    pub fn provider(&mut self, id: ProviderId) -> Option<&ProviderRow> {
        self.entry(id)?.now.as_ref()
    }

    /// Changes a provider's row.
    pub fn edit(&mut self, id: ProviderId, change: impl FnOnce(&mut ProviderRow)) {
        if let Some(row) = self.entry(id).and_then(|entry| entry.now.as_mut()) {
            change(row);
        }
    }

    /// Moves a provider's generation by one; `updated_at` moves with it.
    pub fn move_generation(&mut self, id: ProviderId) {
        let now = self.now.timestamp_micros();
        if let Some(entry) = self.entry(id) {
            entry.moves += 1;
            if let Some(row) = entry.now.as_mut() {
                row.generation += 1;
                row.modified = now;
            }
        }
    }

    /// Notes that the inventory of `class` was written.
    pub fn rewrite_inventory(&mut self, id: ProviderId, class: ClassId) {
        if let Some(entry) = self.entry(id) {
            entry.rewritten.insert(class);
        }
    }

    /// Adds a provider; `row.id` and, for a root, `row.root` are set here.
    pub fn add_provider(&mut self, mut row: ProviderRow, is_root: bool) -> ProviderId {
        let id = ProviderId(self.new_id());
        row.id = id;
        if is_root {
            row.root = id;
        }
        self.uuids.insert(row.uuid.clone(), Some(id));
        self.names.insert(row.name.clone(), Some(id));
        let entry = ProviderEntry {
            base: None,
            now: Some(row),
            moves: 0,
            rewritten: BTreeSet::new(),
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
    }

    /// Every provider whose newest root is `root`, in id order.
    pub fn tree(&mut self, root: ProviderId) -> Vec<ProviderId> {
        let mut ids: BTreeSet<ProviderId> = self.providers.keys().copied().collect();
        ids.extend(self.base.tree(root));
        ids.into_iter()
            .filter(|id| self.provider(*id).is_some_and(|row| row.root == root))
            .collect()
    }

    // ---- classes, traits, aggregates ----

    pub fn class_id(&self, name: &str) -> Option<ClassId> {
        if let Some((id, _)) = self
            .classes
            .iter()
            .find(|(_, entry)| entry.now.as_deref() == Some(name))
        {
            return Some(*id);
        }
        self.base
            .catalog()
            .class_id(name)
            .filter(|id| !self.classes.contains_key(id))
    }

    pub fn class_name(&self, id: ClassId) -> Arc<str> {
        match self.classes.get(&id) {
            Some(entry) => entry.now.clone().or_else(|| entry.base.clone()),
            None => self.base.catalog().class_name(id).cloned(),
        }
        .unwrap_or_else(|| id.0.to_string().into())
    }

    /// Makes a custom class; its id is the next above all others, as upstream numbers them.
    pub fn add_class(&mut self, name: &str) {
        let known = self.base.catalog().classes().map(|(id, _)| id.0);
        let highest = known.chain(self.classes.keys().map(|id| id.0)).max().unwrap_or(0);
        let id = ClassId(highest.max(FIRST_CUSTOM_CLASS - 1) + 1);
        self.classes.insert(
            id,
            NameEntry {
                base: None,
                now: Some(name.into()),
            },
        );
    }

    /// Renames a class, or with `None` deletes it.
    pub fn set_class(&mut self, id: ClassId, name: Option<&str>) {
        let base = self.base.catalog().class_name(id).cloned();
        self.classes
            .entry(id)
            .or_insert_with(|| NameEntry {
                base: base.clone(),
                now: base,
            })
            .now = name.map(Into::into);
    }

    /// Whether some provider has an inventory of the class.
    pub fn class_in_use(&self, id: ClassId) -> bool {
        let untouched =
            |(class, provider): &(ClassId, ProviderId)| *class == id && !self.providers.contains_key(provider);
        self.class_users.iter().any(untouched) || self.living().any(|row| row.inventories.contains_key(&id))
    }

    /// Whether some provider has the trait.
    pub fn trait_in_use(&self, id: TraitId) -> bool {
        let untouched = |(it, provider): &(TraitId, ProviderId)| *it == id && !self.providers.contains_key(provider);
        self.trait_users.iter().any(untouched) || self.living().any(|row| row.traits.contains(&id))
    }

    /// The newest rows of the providers that the batch looked at.
    fn living(&self) -> impl Iterator<Item = &ProviderRow> {
        self.providers.values().filter_map(|entry| entry.now.as_ref())
    }

    pub fn trait_id(&self, name: &str) -> Option<TraitId> {
        if let Some((id, _)) = self.traits.iter().find(|(_, entry)| entry.now.as_deref() == Some(name)) {
            return Some(*id);
        }
        self.base
            .catalog()
            .trait_id(name)
            .filter(|id| !self.traits.contains_key(id))
    }

    pub fn add_trait(&mut self, name: &str) {
        let id = TraitId(self.new_id());
        self.traits.insert(
            id,
            NameEntry {
                base: None,
                now: Some(name.into()),
            },
        );
    }

    pub fn delete_trait(&mut self, id: TraitId) {
        let base = self.base.catalog().trait_name(id).cloned();
        self.traits
            .entry(id)
            .or_insert_with(|| NameEntry { base, now: None })
            .now = None;
    }

    /// The id of an aggregate, which comes to be by being named.
    pub fn ensure_aggregate(&mut self, uuid: &str) -> AggregateId {
        if let Some(id) = self.base.catalog().aggregate_id(uuid) {
            return id;
        }
        if let Some(id) = self.new_aggregates.get(uuid) {
            return *id;
        }
        let id = AggregateId(self.new_id());
        self.new_aggregates.insert(uuid.into(), id);
        id
    }

    // ---- consumers ----

    /// The entry of a consumer that some command of the batch names: all of those were loaded.
    pub fn consumer(&mut self, uuid: &str) -> &mut ConsumerEntry {
        self.consumers.entry(uuid.to_owned()).or_default()
    }

    /// Takes away all that a consumer has, in the providers' sums too. Answers what it had.
    pub fn take_allocations(&mut self, uuid: &str) -> Vec<(ProviderId, ClassId, i64)> {
        let entry = self.consumer(uuid);
        entry.replaced = true;
        let had = std::mem::take(&mut entry.allocations);
        for (provider, class, used) in &had {
            self.use_more(*provider, *class, -used);
        }
        had
    }

    /// Gives a consumer an allocation.
    pub fn give_allocation(&mut self, uuid: &str, provider: ProviderId, class: ClassId, used: i64) {
        self.use_more(provider, class, used);
        self.consumer(uuid).allocations.push((provider, class, used));
    }

    fn use_more(&mut self, provider: ProviderId, class: ClassId, more: i64) {
        self.edit(provider, |row| {
            let used = row.used.entry(class).or_insert(0);
            *used += more;
            if *used == 0 {
                row.used.remove(&class);
            }
        });
    }
}
