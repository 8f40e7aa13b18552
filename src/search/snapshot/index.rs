//! Indexes from uuid, name and id to a slot, as copy-on-write maps: a copy shares the unchanged pages.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::ids::{ProviderId, Slot};

/// Shards of an index of texts: a new provider copies one shard, a few hundred entries at 100,000 providers.
const SHARDS: usize = 512;

/// Slots with the upper half of their text's hash, sorted by the hash.
type Shard = Arc<Vec<(u32, Slot)>>;

/// An index from texts to slots. The index holds hashes, and only the blocks have the texts: a lookup compares the
/// texts of the few slots with an equal hash.
#[derive(Clone, Debug)]
pub(in crate::search) struct TextIndex {
    /// The number of shards is a power of two.
    shards: Arc<Vec<Shard>>,
    /// The compared bits of a hash.
    hash_mask: u32,
    hasher: RandomState,
    /// Whether texts are equal that differ only in the case of ASCII letters.
    ignores_case: bool,
}

impl Default for TextIndex {
    fn default() -> Self {
        Self::new(false)
    }
}

impl TextIndex {
    pub fn new(ignores_case: bool) -> Self {
        Self {
            shards: Arc::new(vec![Shard::default(); SHARDS]),
            hash_mask: u32::MAX,
            hasher: RandomState::new(),
            ignores_case,
        }
    }

    /// An index with eight different hashes, in which many texts collide.
    #[cfg(test)]
    pub fn colliding() -> Self {
        Self {
            shards: Arc::new(vec![Shard::default(); 2]),
            hash_mask: 0b11,
            ..Self::default()
        }
    }

    /// The text by which equal texts are found.
    fn key<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.ignores_case && text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            text.to_ascii_lowercase().into()
        } else {
            text.into()
        }
    }

    /// The shard of a text, by the lower half of the hash of the text's key, and the upper half.
    fn locate(&self, text: &str) -> (usize, u32) {
        let hash = self.hasher.hash_one(self.key(text));
        let shard = hash as usize & (self.shards.len() - 1);
        (shard, (hash >> u32::BITS) as u32 & self.hash_mask)
    }

    fn shard_mut(&mut self, at: usize) -> &mut Vec<(u32, Slot)> {
        Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[at])
    }

    /// The slot with `text`, or with a text that is equal to the index. `text_of` returns the text of a slot.
    pub fn get<'t>(&self, text: &str, text_of: impl Fn(Slot) -> &'t str) -> Option<Slot> {
        let (shard, hash) = self.locate(text);
        let shard = &self.shards[shard];
        let from = shard.partition_point(|&(other, _)| other < hash);
        let colliding = shard[from..].iter().take_while(|&&(other, _)| other == hash);
        let key = self.key(text);
        let is_equal = |slot: &Slot| self.key(text_of(*slot)) == key;
        colliding.map(|&(_, slot)| slot).find(is_equal)
    }

    /// Adds an entry. While two providers swap their names, a text has two entries.
    pub fn insert(&mut self, text: &str, slot: Slot) {
        let (shard, hash) = self.locate(text);
        let shard = self.shard_mut(shard);
        let at = shard.partition_point(|&(other, _)| other < hash);
        shard.insert(at, (hash, slot));
    }

    /// Removes the entry of `slot` with `text`.
    pub fn remove(&mut self, text: &str, slot: Slot) {
        let (shard, hash) = self.locate(text);
        self.shard_mut(shard).retain(|&entry| entry != (hash, slot));
    }

    /// Returns memory that the shards reserved while they grew.
    pub fn shrink(&mut self) {
        let shards = Arc::make_mut(&mut self.shards).iter_mut();
        shards.for_each(|shard| Arc::make_mut(shard).shrink_to_fit());
    }
}

/// Ids per page. Ids are nearly dense. A page has fewer ids after providers were deleted, or on a cluster whose nodes
/// count ids in steps (Galera's `auto_increment_increment`).
const IDS_PER_PAGE: i32 = 2048;

/// An index from ids to slots, in the order of ids.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct IdIndex {
    pages: BTreeMap<i32, Arc<Vec<(ProviderId, Slot)>>>,
    len: usize,
}

impl IdIndex {
    fn page(id: ProviderId) -> i32 {
        id.0.div_euclid(IDS_PER_PAGE)
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
