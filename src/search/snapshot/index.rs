//! Finding a slot by uuid, name or id, in maps whose copies share what did not change.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::ids::{ProviderId, Slot};

/// Shards of a map of texts: adding a provider copies one of them, a few hundred entries at 100,000 providers.
const SHARDS: usize = if cfg!(test) { 2 } else { 512 };

/// Which part of a hash is kept. In tests so little, of so few shards, that many texts have the same.
const KEPT: u32 = if cfg!(test) { 0b11 } else { u32::MAX };

/// Sorted by a part of the text's hash.
type Shard = Arc<Vec<(u32, Slot)>>;

/// Texts to slots. The texts themselves are in the blocks alone: whoever looks for one says whose it is, of the few that have
/// the same part of its hash.
#[derive(Clone, Debug)]
pub(in crate::search) struct TextIndex {
    shards: Arc<Vec<Shard>>,
    hasher: RandomState,
}

impl Default for TextIndex {
    fn default() -> Self {
        Self {
            shards: Arc::new(vec![Shard::default(); SHARDS]),
            hasher: RandomState::new(),
        }
    }
}

impl TextIndex {
    /// The shard of a text, and the part of its hash that shards are not chosen by.
    fn place(&self, text: &str) -> (usize, u32) {
        let hash = self.hasher.hash_one(text);
        (hash as usize % SHARDS, (hash >> u32::BITS) as u32 & KEPT)
    }

    fn shard_mut(&mut self, at: usize) -> &mut Vec<(u32, Slot)> {
        Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[at])
    }

    /// The slot that has `text`, as `has` tells.
    pub fn get(&self, text: &str, has: impl Fn(Slot) -> bool) -> Option<Slot> {
        let (shard, part) = self.place(text);
        let shard = &self.shards[shard];
        let from = shard.partition_point(|&(other, _)| other < part);
        let alike = shard[from..].iter().take_while(|&&(other, _)| other == part);
        alike.map(|&(_, slot)| slot).find(|&slot| has(slot))
    }

    /// While names are swapped two have the same.
    pub fn insert(&mut self, text: &str, slot: Slot) {
        let (shard, part) = self.place(text);
        let shard = self.shard_mut(shard);
        let at = shard.partition_point(|&(other, _)| other < part);
        shard.insert(at, (part, slot));
    }

    /// Forgets that `slot` has `text`.
    pub fn remove(&mut self, text: &str, slot: Slot) {
        let (shard, part) = self.place(text);
        self.shard_mut(shard).retain(|&it| it != (part, slot));
    }

    /// Gives back memory that it took too much while it grew.
    pub fn shrink(&mut self) {
        let shards = Arc::make_mut(&mut self.shards).iter_mut();
        shards.for_each(|shard| Arc::make_mut(shard).shrink_to_fit());
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
