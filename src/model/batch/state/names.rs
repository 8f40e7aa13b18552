//! The classes, traits and aggregates of a batch's state: the names before the batch, and the changes of the commands.

use std::sync::Arc;

use super::{NewAggregate, State};
use crate::model::batch::entry::{Entries, Entry};
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::search::{AggregateId, ClassId, ProviderId, TraitId};

/// The id of a name now. `before` is the id before the batch.
fn id_of<I: Copy + Ord>(names: &Entries<I, Arc<str>>, name: &str, before: Option<I>) -> Option<I> {
    let changed = names.iter().find(|(_, entry)| entry.now.as_deref() == Some(name));
    let unchanged = before.filter(|id| !names.contains_key(id));
    changed.map(|(id, _)| *id).or(unchanged)
}

impl State {
    pub fn class_id(&self, name: &str) -> Option<ClassId> {
        id_of(&self.classes, name, self.base.catalog().class_id(name))
    }

    pub fn class_name(&self, id: ClassId) -> Arc<str> {
        match self.classes.get(&id) {
            Some(entry) => entry.now.clone().or_else(|| entry.base.clone()),
            None => self.base.catalog().class_name(id).cloned(),
        }
        .unwrap_or_else(|| id.0.to_string().into())
    }

    /// Creates a custom class. The id is the next above all ids, as in OpenStack Placement.
    pub fn add_class(&mut self, name: &str) {
        let known = self.base.catalog().classes().map(|(id, _)| id.0);
        let highest = known.chain(self.classes.keys().map(|id| id.0)).max().unwrap_or(0);
        let id = ClassId(highest.max(FIRST_CUSTOM_CLASS - 1) + 1);
        self.classes.entry(id).or_default().now = Some(name.into());
    }

    /// Renames a class, or with `None` deletes it.
    pub fn set_class(&mut self, id: ClassId, name: Option<&str>) {
        let before = || Entry::of(self.base.catalog().class_name(id).cloned());
        self.classes.entry(id).or_insert_with(before).now = name.map(Into::into);
    }

    /// Whether a provider has an inventory of the class.
    pub fn class_in_use(&self, id: ClassId) -> bool {
        let untouched =
            |(class, provider): &(ClassId, ProviderId)| *class == id && !self.providers.contains_key(provider);
        self.class_users.iter().any(untouched) || self.current_rows().any(|row| row.inventories.contains_key(&id))
    }

    /// Whether a provider has the trait.
    pub fn trait_in_use(&self, id: TraitId) -> bool {
        let untouched =
            |(user, provider): &(TraitId, ProviderId)| *user == id && !self.providers.contains_key(provider);
        self.trait_users.iter().any(untouched) || self.current_rows().any(|row| row.traits.contains(&id))
    }

    pub fn trait_id(&self, name: &str) -> Option<TraitId> {
        id_of(&self.traits, name, self.base.catalog().trait_id(name))
    }

    pub fn add_trait(&mut self, name: &str) {
        let id = TraitId(self.new_id());
        self.traits.entry(id).or_default().now = Some(name.into());
    }

    pub fn delete_trait(&mut self, id: TraitId) {
        let before = || Entry::of(self.base.catalog().trait_name(id).cloned());
        self.traits.entry(id).or_insert_with(before).now = None;
    }

    /// The id of an aggregate. Naming an aggregate creates the aggregate.
    pub fn ensure_aggregate(&mut self, uuid: &str) -> AggregateId {
        let (catalog, folded) = (self.base.catalog(), self.base.fold(uuid));
        if let Some(id) = catalog.aggregate_id(uuid).or_else(|| catalog.aggregate_id(&folded)) {
            return id;
        }
        if let Some(new) = self.new_aggregates.get(&folded) {
            return new.id;
        }
        let id = AggregateId(self.new_id());
        let uuid = uuid.into();
        self.new_aggregates.insert(folded, NewAggregate { id, uuid });
        id
    }
}
