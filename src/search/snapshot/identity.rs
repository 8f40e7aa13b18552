//! Who the providers of a block are, and how they hang together.

use super::change::ProviderRow;
use super::ends::Ends;
use super::ids::{LANES, ProviderId, Slot};

/// Changes when a provider is made, renamed, moved or removed.
///
/// Parents and roots are ids, not slots: an id that is gone finds nothing, a slot that is gone finds another provider.
#[derive(Clone, Debug)]
pub(in crate::search) struct Identity {
    pub ids: [ProviderId; LANES],
    pub uuids: Names,
    pub names: Names,
    pub parents: [Option<ProviderId>; LANES],
    pub trees: [ProviderId; LANES],
    pub children: Children,
}

impl Identity {
    pub fn empty() -> Self {
        Self {
            ids: [ProviderId(0); LANES],
            uuids: Names::default(),
            names: Names::default(),
            parents: [None; LANES],
            trees: [ProviderId(0); LANES],
            children: Children::default(),
        }
    }

    /// Children stay: they belong to those who name this provider their parent.
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

    pub fn shrink(&mut self) {
        self.uuids.all.shrink_to_fit();
        self.names.all.shrink_to_fit();
        self.children.all.shrink_to_fit();
    }
}

/// A text of each lane.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Names {
    all: String,
    ends: Ends,
}

impl Names {
    pub fn get(&self, lane: usize) -> &str {
        &self.all[self.ends.part(lane)]
    }

    fn set(&mut self, lane: usize, text: &str) {
        self.all.replace_range(self.ends.part(lane), text);
        self.ends.resize(lane, text.len());
    }
}

/// Of each lane its direct children, in an order that others keep.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Children {
    all: Vec<Slot>,
    ends: Ends,
}

impl Children {
    pub fn of(&self, lane: usize) -> &[Slot] {
        &self.all[self.ends.part(lane)]
    }

    pub fn insert(&mut self, lane: usize, at: usize, child: Slot) {
        let part = self.ends.part(lane);
        self.all.insert(part.start + at, child);
        self.ends.resize(lane, part.len() + 1);
    }

    pub fn remove(&mut self, lane: usize, child: Slot) {
        let part = self.ends.part(lane);
        if let Some(at) = self.of(lane).iter().position(|&it| it == child) {
            self.all.remove(part.start + at);
            self.ends.resize(lane, part.len() - 1);
        }
    }

    fn clear(&mut self, lane: usize) {
        self.all.drain(self.ends.part(lane));
        self.ends.resize(lane, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_its_own_text_and_children_whatever_those_before_it_get() {
        let mut identity = Identity::empty();
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
        let children = |identity: &Identity| [0, 5, 63].map(|lane| identity.children.of(lane).to_vec());
        assert_eq!(
            children(&identity),
            [vec![slot(9)], vec![slot(2), slot(4)], vec![slot(1)]]
        );
        identity.clear(5);
        assert_eq!(children(&identity), [vec![slot(9)], vec![], vec![slot(1)]]);
        assert_eq!([5, 63].map(|lane| identity.names.get(lane)), ["", "last"]);
    }
}
