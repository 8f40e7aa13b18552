//! A bitmap index: a small sorted map from a key, such as a trait, to the lanes of a block with the key.

use std::cmp::Ordering;

/// The keys in a block, each with a bit for every lane with the key. There may be a thousand traits, but a block of 64
/// similar providers has few different traits. So all providers with trait T are found by one binary search.
#[derive(Clone, Debug)]
pub(in crate::search) struct Lanes<K>(Vec<(K, u64)>);

impl<K> Lanes<K> {
    pub const EMPTY: Self = Self(Vec::new());
}

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<K: Ord> Lanes<K> {
    /// The lanes with `key`.
    pub fn get(&self, key: &K) -> u64 {
        self.0
            .binary_search_by_key(&key, |(known, _)| known)
            .map_or(0, |at| self.0[at].1)
    }

    /// The lanes with any of `keys`.
    pub fn any(&self, keys: &[K]) -> u64 {
        keys.iter().fold(0, |lanes, key| lanes | self.get(key))
    }

    /// The keys of a lane, sorted.
    pub fn of(&self, lane: usize) -> impl Iterator<Item = &K> {
        let found = self.0.iter().filter(move |(_, lanes)| lanes >> lane & 1 == 1);
        found.map(|(key, _)| key)
    }

    /// All keys with their lanes, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &(K, u64)> {
        self.0.iter()
    }

    /// The keys for which `compare` is equal, with their lanes. `compare` has the order of the keys.
    pub fn equal(&self, compare: impl Fn(&K) -> Ordering) -> &[(K, u64)] {
        let first = self.0.partition_point(|(key, _)| compare(key).is_lt());
        let length = self.0[first..].partition_point(|(key, _)| compare(key).is_eq());
        &self.0[first..first + length]
    }

    /// Adds a key to lanes.
    pub fn add(&mut self, key: K, lanes: u64) {
        if lanes == 0 {
            return;
        }
        match self.0.binary_search_by_key(&&key, |(known, _)| known) {
            Ok(at) => self.0[at].1 |= lanes,
            Err(at) => self.0.insert(at, (key, lanes)),
        }
    }

    /// Replaces the keys of a lane.
    pub fn set(&mut self, lane: usize, keys: impl IntoIterator<Item = K>) {
        let bit = 1u64 << lane;
        self.0.iter_mut().for_each(|(_, lanes)| *lanes &= !bit);
        keys.into_iter().for_each(|key| self.add(key, bit));
        self.0.retain(|&(_, lanes)| lanes != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Lanes;

    #[test]
    fn keys_of_a_lane_are_replaced_and_keys_without_a_lane_are_removed() {
        let mut lanes = Lanes::default();
        lanes.set(0, [7, 3]);
        lanes.set(63, [3]);
        assert_eq!(lanes.get(&3), 1 | 1 << 63);
        assert_eq!(lanes.any(&[7, 9]), 1);
        assert_eq!(lanes.of(0).collect::<Vec<_>>(), [&3, &7]);
        lanes.set(0, [9]);
        assert_eq!(lanes.iter().collect::<Vec<_>>(), [&(3, 1 << 63), &(9, 1)]);
    }
}
