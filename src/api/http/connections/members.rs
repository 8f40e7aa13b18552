//! The open connections of a worker, and the choice of the one that goes if there are too many.
//!
//! A share limits connections only while they are scarce. So a proxy, from whose address all connections come, may have
//! them all.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Connection;
use super::group::Group;
use super::queue::Standing;

/// One part in this many of all connections is the share of an address.
const ADDRESS_PARTS: usize = 8;
/// One part in this many of all connections is the share of those without an accepted token.
const WITHOUT_TOKEN_PARTS: usize = 2;

/// The open connections of one worker.
pub struct Members {
    limit: usize,
    open: BTreeMap<u64, Rc<Connection>>,
    all: Group,
    without_token: Group,
    /// How many connections were chosen to be closed, and are still open.
    closing: usize,
}

impl Members {
    /// At most `limit` connections.
    pub fn new(limit: usize) -> Members {
        Members {
            limit,
            open: BTreeMap::new(),
            all: Group::default(),
            without_token: Group::default(),
            closing: 0,
        }
    }

    /// Adds a new connection, which has no accepted token yet.
    pub fn add(&mut self, connection: Rc<Connection>) {
        for group in [&mut self.all, &mut self.without_token] {
            group.add(connection.address, connection.progress(), connection.id);
        }
        self.open.insert(connection.id, connection);
    }

    /// Removes a connection that is closed.
    pub fn remove(&mut self, connection: &Connection) {
        self.open.remove(&connection.id);
        self.closing -= usize::from(connection.is_closing());
        self.all.remove(connection.address, |id| self.open.contains_key(&id));
        if !connection.has_token() {
            self.leave_without_token(connection);
        }
    }

    /// A connection is closed, or has a token now.
    pub fn leave_without_token(&mut self, connection: &Connection) {
        let open = &self.open;
        let is_member = |id| open.get(&id).is_some_and(|connection| !connection.has_token());
        self.without_token.remove(connection.address, is_member);
    }

    /// Chooses connections to be closed, until there is room for the others and for `new` ones.
    pub fn close_surplus(&mut self, new: usize, now: u64, is_look_allowed: bool) {
        while self.open.len() - self.closing + new > self.limit {
            let Some(chosen) = self.oldest(new, now).and_then(|id| self.open.get(&id)) else {
                return;
            };
            chosen.close(is_look_allowed);
            self.closing += 1;
        }
    }

    /// A connection that was chosen stays open, because it has made progress since.
    pub fn spare(&mut self) {
        self.closing -= 1;
    }

    /// The connection without progress for the longest time: of an address with more than its share, of those without a
    /// token if they exceed theirs, and else of all.
    fn oldest(&mut self, new: usize, now: u64) -> Option<u64> {
        let open = &self.open;
        let standing = |id| {
            open.get(&id)
                .map_or(Standing::Gone, |connection| connection.standing(now))
        };
        let standing_without_token = |id| match open.get(&id) {
            Some(connection) if !connection.has_token() => connection.standing(now),
            _ => Standing::Gone,
        };
        let of_address = self.limit.div_ceil(ADDRESS_PARTS);
        // A new connection has no token yet.
        let exceeds = self.without_token.members() + new > self.limit.div_ceil(WITHOUT_TOKEN_PARTS);
        let without_token = &mut self.without_token;
        // An address above its share without tokens goes before a proxy, whose connections have them.
        let first = without_token.oldest_of_largest(of_address, standing_without_token);
        let second = || exceeds.then(|| without_token.oldest(standing_without_token)).flatten();
        let third = first.or_else(second);
        third
            .or_else(|| self.all.oldest_of_largest(of_address, standing))
            .or_else(|| self.all.oldest(standing))
    }
}
