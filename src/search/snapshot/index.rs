//! Finding a slot by uuid, name or id, in maps whose copies share what did not change.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use super::ids::{ProviderId, Slot};

/// Shards of a map of texts: adding a provider copies one of them, a few hundred entries at 100,000 providers.
const SHARDS: usize = 512;

type Shard = Arc<HashMap<Arc<str>, Slot>>;

/// Texts to slots.
#[derive(Clone, Debug)]
pub(in crate::search) struct TextIndex {
    shards: Arc<Vec<Shard>>,
    hasher: RandomState,
}

impl Default for TextIndex {
    fn default() -> Self {
        let empty = Arc::new(HashMap::new());
        Self {
            shards: Arc::new(vec![empty; SHARDS]),
            hasher: RandomState::new(),
        }
    }
}

impl TextIndex {
    fn shard(&self, text: &str) -> usize {
        self.hasher.hash_one(text) as usize % SHARDS
    }

    fn shard_mut(&mut self, text: &str) -> &mut HashMap<Arc<str>, Slot> {
        let shard = self.shard(text);
        Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[shard])
    }

    pub fn get(&self, text: &str) -> Option<Slot> {
        self.shards[self.shard(text)].get(text).copied()
    }

    pub fn insert(&mut self, text: &Arc<str>, slot: Slot) {
        self.shard_mut(text).insert(text.clone(), slot);
    }

    /// Forgets `text` if it is `slot`'s: two providers may swap names in one change, and the first of them has already
    /// taken the other's.
    pub fn remove(&mut self, text: &str, slot: Slot) {
        if self.get(text) == Some(slot) {
            self.shard_mut(text).remove(text);
        }
    }
}

/// Ids a page. Ids are dense or nearly so; where they are not (several writers that count in steps, deleted hosts) a page
/// has fewer entries.
const PAGE: i32 = 2048;

/// Ids to slots, in the order of ids.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct IdIndex {
    pages: BTreeMap<i32, Arc<Vec<(ProviderId, Slot)>>>,
    len: usize,
}

impl IdIndex {
    fn page(id: ProviderId) -> i32 {
        id.0.div_euclid(PAGE)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, id: ProviderId) -> Option<Slot> {
        let page = self.pages.get(&Self::page(id))?;
        page.binary_search_by_key(&id, |&(id, _)| id).ok().map(|at| page[at].1)
    }

    pub fn insert(&mut self, id: ProviderId, slot: Slot) {
        let page = Arc::make_mut(self.pages.entry(Self::page(id)).or_default());
        match page.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(at) => page[at].1 = slot,
            Err(at) => {
                page.insert(at, (id, slot));
                self.len += 1;
            }
        }
    }

    pub fn remove(&mut self, id: ProviderId) {
        let Some(page) = self.pages.get_mut(&Self::page(id)) else {
            return;
        };
        if let Ok(at) = page.binary_search_by_key(&id, |&(id, _)| id) {
            Arc::make_mut(page).remove(at);
            self.len -= 1;
        }
    }

    /// All slots by id.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.pages.values().flat_map(|page| page.iter().map(|&(_, slot)| slot))
    }
}
