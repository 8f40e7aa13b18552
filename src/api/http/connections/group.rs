//! A group of connections, in which no address has more than its share while connections are scarce.

use std::collections::{BTreeSet, HashMap};

use super::address::Address;
use super::queue::{Queue, Standing};

/// A group of connections, by age of their progress and by address.
#[derive(Default)]
pub struct Group {
    all: Queue,
    addresses: HashMap<Address, Queue>,
    /// The addresses by the number of their connections.
    by_number: BTreeSet<(usize, Address)>,
}

impl Group {
    pub fn members(&self) -> usize {
        self.all.members()
    }

    /// Adds a connection from this address, which has made progress at this time.
    pub fn add(&mut self, address: Address, progress: u64, id: u64) {
        self.all.add(progress, id);
        let queue = self.addresses.entry(address).or_default();
        self.by_number.remove(&(queue.members(), address));
        queue.add(progress, id);
        self.by_number.insert((queue.members(), address));
    }

    /// Removes a connection from this address: `is_member` says that it has left the group.
    pub fn remove(&mut self, address: Address, is_member: impl Fn(u64) -> bool) {
        self.all.remove(&is_member);
        let Some(queue) = self.addresses.get_mut(&address) else {
            return;
        };
        self.by_number.remove(&(queue.members(), address));
        queue.remove(is_member);
        match queue.members() {
            0 => drop(self.addresses.remove(&address)),
            left => drop(self.by_number.insert((left, address))),
        }
    }

    /// The connection without progress for the longest time.
    pub fn oldest(&mut self, standing: impl Fn(u64) -> Standing) -> Option<u64> {
        self.all.oldest(standing)
    }

    /// As [`Self::oldest`], of the address with the most connections, if they are more than `share`. If none of these
    /// may go, of the next such address.
    pub fn oldest_of_largest(&mut self, share: usize, standing: impl Fn(u64) -> Standing) -> Option<u64> {
        let larger = self.by_number.iter().rev().take_while(|(number, _)| *number > share);
        for (_, address) in larger {
            let queue = self.addresses.get_mut(address);
            if let Some(oldest) = queue.and_then(|queue| queue.oldest(&standing)) {
                return Some(oldest);
            }
        }
        None
    }
}
