//! The open connections of a worker, and the choice of connections to close if there are too many.
//!
//! Naively, a queue has the connections in the order of their progress, and every request moves its connection. But
//! connections are scarce only now and then. So nothing is in order: when a place is missing, all connections are
//! compared, and some more are closed than necessary. The next new connections need no comparison.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Connection;

/// One part in this many of all connections is closed at once.
const PARTS: usize = 64;

/// How many connections are closed at once, of at most `limit`. This many may be open beyond `limit` until the chosen
/// connections are closed.
pub fn spare_connections(limit: usize) -> usize {
    limit.div_ceil(PARTS)
}

/// The open connections of one worker.
pub struct OpenConnections {
    limit: usize,
    open: BTreeMap<u64, Rc<Connection>>,
    /// The number of connections that were chosen to be closed, and are still open.
    closing: usize,
}

impl OpenConnections {
    /// At most `limit` connections.
    pub fn new(limit: usize) -> OpenConnections {
        OpenConnections {
            limit,
            open: BTreeMap::new(),
            closing: 0,
        }
    }

    /// Adds a new connection, which has no accepted token yet.
    pub fn add(&mut self, connection: Rc<Connection>) {
        self.open.insert(connection.id, connection);
    }

    /// Removes a closed connection.
    pub fn remove(&mut self, connection: &Connection) {
        self.open.remove(&connection.id);
        self.closing -= usize::from(connection.is_closing());
    }

    /// Chooses connections to be closed, if there are too many with `new` further ones.
    pub fn close_surplus(&mut self, new: usize, is_look_allowed: bool) {
        let surplus = (self.open.len() - self.closing + new).saturating_sub(self.limit);
        if surplus == 0 {
            return;
        }
        for chosen in self.choose(surplus, new) {
            chosen.close(is_look_allowed);
            self.closing += 1;
        }
    }

    /// A chosen connection stays open, because the connection has made progress since.
    pub fn spare(&mut self) {
        self.closing -= 1;
    }

    /// At least `least` connections, if enough may be closed. The choice is among the connections without a token if
    /// these are more than half, and else among all connections.
    fn choose(&self, least: usize, new: usize) -> Vec<Rc<Connection>> {
        let staying = || self.open.values().filter(|connection| !connection.is_closing());
        let without_token: Vec<_> = staying().filter(|connection| !connection.has_token.get()).collect();
        // A new connection has no token yet.
        let exceeds = without_token.len() + new > self.limit.div_ceil(2);
        let mut ranked = if exceeds { by_rank(without_token) } else { Vec::new() };
        if ranked.is_empty() {
            ranked = by_rank(staying().collect());
        }
        // At most half of the connections go without need. The newer half may be about to send a request.
        let most = (least + spare_connections(self.limit) - 1).min(ranked.len() / 2);
        ranked.into_iter().take(least.max(most)).cloned().collect()
    }
}

/// The connections that may be closed, in the order of closing. The address with the most connections loses its
/// connection without progress for the longest time, again and again.
///
/// The rank of a connection is the number of connections of its address with later progress, or with a served request.
fn by_rank(mut connections: Vec<&Rc<Connection>>) -> Vec<&Rc<Connection>> {
    connections.sort_by_key(|connection| {
        (
            connection.address,
            !connection.is_served(),
            Reverse(connection.progress.get()),
        )
    });
    let addresses = connections.chunk_by(|one, next| one.address == next.address);
    let mut ranked: Vec<_> = addresses
        .flat_map(|of_address| of_address.iter().enumerate())
        .filter(|(_, connection)| !connection.is_served())
        .collect();
    ranked.sort_by_key(|(rank, connection)| (Reverse(*rank), connection.progress.get()));
    ranked.into_iter().map(|(_, connection)| *connection).collect()
}
