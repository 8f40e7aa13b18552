//! The connections of a group, ordered by the time since they made progress.
//!
//! Naively, each progress of a connection moves it to the end of a list. That costs every request something, although
//! connections are scarce only now and then. So an entry keeps the time at which it was made, and is corrected when it
//! comes to the front: progress itself costs nothing here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries of connections that are gone are removed when the queue has this many more than twice its members.
const SPARE_ENTRIES: usize = 64;

/// What the queue learns about a connection.
pub enum Standing {
    /// It is closed, or left the group.
    Gone,
    /// It may not be closed now, for instance because its request is being served. The present time of the clock.
    Kept(u64),
    /// When it made progress.
    Idle(u64),
}

/// The connections of a group.
#[derive(Default)]
pub struct Queue {
    /// Times of progress, which may be too early, and ids.
    entries: BinaryHeap<Reverse<(u64, u64)>>,
    members: usize,
}

impl Queue {
    pub fn members(&self) -> usize {
        self.members
    }

    /// Adds a connection that has made progress at this time.
    pub fn add(&mut self, progress: u64, id: u64) {
        self.entries.push(Reverse((progress, id)));
        self.members += 1;
    }

    /// Removes a connection, which has left the group. Its entry stays until it comes to the front.
    pub fn remove(&mut self, is_member: impl Fn(u64) -> bool) {
        self.members -= 1;
        if self.entries.len() > 2 * self.members + SPARE_ENTRIES {
            self.entries.retain(|Reverse((_, id))| is_member(*id));
        }
    }

    /// The connection that made no progress for the longest time, without those that are to be kept.
    pub fn oldest(&mut self, standing: impl Fn(u64) -> Standing) -> Option<u64> {
        let mut passed = Vec::new();
        let found = loop {
            let Some(Reverse((at, id))) = self.entries.pop() else {
                break None;
            };
            match standing(id) {
                Standing::Gone => {}
                Standing::Kept(now) => passed.push(Reverse((now, id))),
                Standing::Idle(progress) if progress > at => self.entries.push(Reverse((progress, id))),
                Standing::Idle(_) => {
                    passed.push(Reverse((at, id)));
                    break Some(id);
                }
            }
        };
        self.entries.extend(passed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_without_progress_for_the_longest_comes_first() {
        let mut queue = Queue::default();
        (0..4).for_each(|id| queue.add(id, id));
        // The first is gone, the second has made progress, and the third is kept.
        let standing = |id| match id {
            0 => Standing::Gone,
            1 => Standing::Idle(9),
            2 => Standing::Kept(10),
            _ => Standing::Idle(3),
        };
        assert_eq!(queue.oldest(standing), Some(3));
        // The queue is as it was, but for the one that is gone.
        assert_eq!(queue.oldest(|id| Standing::Idle(id + 10)), Some(1));
        assert_eq!(queue.oldest(|_| Standing::Kept(20)), None);
        assert_eq!(queue.entries.len(), 3);
    }

    #[test]
    fn entries_of_members_that_are_gone_are_bounded() {
        let mut queue = Queue::default();
        queue.add(0, 0);
        for id in 1..10_000 {
            queue.add(id, id);
            queue.remove(|id| id == 0);
        }
        assert_eq!(queue.members(), 1);
        assert!(queue.entries.len() <= 2 + SPARE_ENTRIES);
    }
}
