//! The identity of the providers of a block: ids, uuids, names, and places in trees.

use std::ops::Range;

use super::change::ProviderRow;
use super::ids::{LANES, ProviderId, Slot};

/// The part of a block to change if a provider is created, renamed, moved or removed.
///
/// Parents and roots are ids, not slots: the id of a removed provider finds nothing, its slot may find a new provider.
#[derive(Clone, Debug)]
pub(in crate::search) struct IdentityColumns {
    pub ids: [ProviderId; LANES],
    pub uuids: LaneTexts,
    pub names: LaneTexts,
    pub parents: [Option<ProviderId>; LANES],
    pub trees: [ProviderId; LANES],
    pub children: Children,
}

impl Default for IdentityColumns {
    fn default() -> Self {
        Self {
            ids: [ProviderId(0); LANES],
            uuids: LaneTexts::default(),
            names: LaneTexts::default(),
            parents: [None; LANES],
            trees: [ProviderId(0); LANES],
            children: Children::default(),
        }
    }
}

impl IdentityColumns {
    /// Replaces all data of a lane except the children, which change with the children's own rows.
    pub fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.ids[lane] = row.id;
        self.uuids.set(lane, &row.uuid);
        self.names.set(lane, &row.name);
        self.parents[lane] = row.parent;
        self.trees[lane] = row.root;
    }

    pub fn clear(&mut self, lane: usize) {
        self.uuids.set(lane, "");
        self.names.set(lane, "");
        self.parents[lane] = None;
        self.children.clear(lane);
    }
}

/// A text for each lane.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct LaneTexts {
    text: String,
    offsets: LaneOffsets,
}

impl LaneTexts {
    pub fn get(&self, lane: usize) -> &str {
        &self.text[self.offsets.range(lane)]
    }

    fn set(&mut self, lane: usize, text: &str) {
        self.text.replace_range(self.offsets.range(lane), text);
        self.offsets.resize(lane, text.len());
    }
}

/// The direct children of each lane, in the order maintained by callers of `insert`.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Children {
    slots: Vec<Slot>,
    offsets: LaneOffsets,
}

impl Children {
    pub fn of(&self, lane: usize) -> &[Slot] {
        &self.slots[self.offsets.range(lane)]
    }

    pub fn insert(&mut self, lane: usize, at: usize, child: Slot) {
        let range = self.offsets.range(lane);
        self.slots.insert(range.start + at, child);
        self.offsets.resize(lane, range.len() + 1);
    }

    pub fn remove(&mut self, lane: usize, child: Slot) {
        let range = self.offsets.range(lane);
        if let Some(at) = self.of(lane).iter().position(|&other| other == child) {
            self.slots.remove(range.start + at);
            self.offsets.resize(lane, range.len() - 1);
        }
    }

    fn clear(&mut self, lane: usize) {
        self.slots.drain(self.offsets.range(lane));
        self.offsets.resize(lane, 0);
    }
}

/// Offsets into a list that holds the entries lane after lane. The list is one allocation of memory instead of an
/// allocation for each provider.
///
/// By lane, the end of the lane's range and the beginning of the next range. A lane without entries has an empty range.
#[derive(Clone, Debug)]
struct LaneOffsets([u32; LANES]);

impl Default for LaneOffsets {
    fn default() -> Self {
        Self([0; LANES])
    }
}

impl LaneOffsets {
    pub fn range(&self, lane: usize) -> Range<usize> {
        let start = lane.checked_sub(1).map_or(0, |before| self.0[before]);
        start as usize..self.0[lane] as usize
    }

    /// Changes the length of a lane's range, and moves the ranges behind.
    pub fn resize(&mut self, lane: usize, length: usize) {
        let (old, new) = (self.range(lane).len() as u32, length as u32);
        self.0[lane..].iter_mut().for_each(|end| *end = *end - old + new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_one_lane_leave_texts_and_children_of_the_others() {
        let mut identity = IdentityColumns::default();
        let slot = |lane| Slot::new(7, lane);
        for (lane, text) in [(63, "last"), (0, "first"), (5, "middle"), (0, "another first")] {
            identity.names.set(lane, text);
        }
        for (lane, at, child) in [(63, 0, 1), (5, 0, 3), (5, 0, 2), (0, 0, 9), (5, 2, 4)] {
            identity.children.insert(lane, at, slot(child));
        }
        identity.children.remove(5, slot(3));
        identity.children.remove(5, slot(9));
        let names = [0, 1, 5, 62, 63].map(|lane| identity.names.get(lane));
        assert_eq!(names, ["another first", "", "middle", "", "last"]);
        let children = |identity: &IdentityColumns| [0, 5, 63].map(|lane| identity.children.of(lane).to_vec());
        assert_eq!(
            children(&identity),
            [vec![slot(9)], vec![slot(2), slot(4)], vec![slot(1)]]
        );
        identity.clear(5);
        assert_eq!(children(&identity), [vec![slot(9)], vec![], vec![slot(1)]]);
        assert_eq!([5, 63].map(|lane| identity.names.get(lane)), ["", "last"]);
    }
}
