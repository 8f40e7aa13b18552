//! The open connections of a worker, and the choice of connections to close if there are too many.
//!
//! Naively, a queue has the connections in the order of their progress, and every request moves its connection. But
//! connections are scarce only now and then. So nothing is in order: when a place is missing, all connections are
//! compared, and some more are closed than necessary. The next new connections need no comparison.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::address::Address;
use super::{Closing, Connection};

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
    /// By address, the number of all further connections.
    staying: HashMap<Address, usize>,
}

impl OpenConnections {
    /// At most `limit` connections.
    pub fn new(limit: usize) -> OpenConnections {
        OpenConnections {
            limit,
            open: BTreeMap::new(),
            closing: 0,
            staying: HashMap::new(),
        }
    }

    /// Adds a new connection, which has no accepted token yet.
    pub fn add(&mut self, connection: Rc<Connection>) {
        *self.staying.entry(connection.address).or_default() += 1;
        self.open.insert(connection.id, connection);
    }

    /// Removes a closed connection.
    pub fn remove(&mut self, connection: &Connection) {
        self.open.remove(&connection.id);
        if connection.is_closing() {
            self.closing -= 1;
        } else {
            self.leave(connection.address);
        }
    }

    /// Makes room for a new connection of this address. Returns false if the address has half of all connections, and
    /// placet serves a request on each.
    pub fn make_room(&mut self, address: Address) -> bool {
        let surplus = self.surplus_of(address, 1);
        let chosen = self.idlest_of(address, surplus);
        let is_admitted = chosen.len() >= surplus;
        self.close_all(chosen, true);
        self.close_surplus(usize::from(is_admitted), true);
        is_admitted
    }

    /// Chooses connections to be closed, if there are too many with `new` further ones.
    pub fn close_surplus(&mut self, new: usize, is_look_allowed: bool) {
        let surplus = (self.open.len() - self.closing + new).saturating_sub(self.limit);
        if surplus > 0 {
            self.close_all(self.choose(surplus, new), is_look_allowed);
        }
    }

    /// Closes the surplus of an address in any case, because requests have begun on the chosen connections since.
    /// Connections without a served request go first, and among equals the longest without progress.
    pub fn close_surplus_of(&mut self, address: Address) {
        let surplus = self.surplus_of(address, 0);
        if surplus == 0 {
            return;
        }
        let mut of_address: Vec<_> = self.staying_of(address).cloned().collect();
        of_address.sort_by_key(|connection| (connection.is_served(), connection.progress.get()));
        for chosen in of_address.into_iter().take(surplus) {
            self.close(&chosen, Closing::InAnyCase);
        }
    }

    /// Chooses a connection to be closed.
    pub fn close(&mut self, chosen: &Connection, closing: Closing) {
        chosen.close(closing);
        self.closing += 1;
        self.leave(chosen.address);
    }

    /// A chosen connection stays open.
    pub fn spare(&mut self, spared: &Connection) {
        spared.closing.set(Closing::No);
        self.closing -= 1;
        *self.staying.entry(spared.address).or_default() += 1;
    }

    /// A connection of the address is closed, or was chosen to be closed.
    fn leave(&mut self, address: Address) {
        let left = self.staying.remove(&address).unwrap_or_default().saturating_sub(1);
        if left > 0 {
            self.staying.insert(address, left);
        }
    }

    fn close_all(&mut self, chosen: Vec<Rc<Connection>>, is_look_allowed: bool) {
        for connection in chosen {
            let closing = if is_look_allowed {
                Closing::AfterLook(connection.progress.get())
            } else {
                Closing::AtOnce
            };
            self.close(&connection, closing);
        }
    }

    /// The most connections of an address, and the most without an accepted token while connections are scarce.
    fn half(&self) -> usize {
        self.limit.div_ceil(2)
    }

    /// The number of connections that an address has beyond half of all connections, with `new` further ones.
    fn surplus_of(&self, address: Address, new: usize) -> usize {
        let staying = self.staying.get(&address).copied().unwrap_or_default();
        (staying + new).saturating_sub(self.half())
    }

    fn staying(&self) -> impl Iterator<Item = &Rc<Connection>> {
        self.open.values().filter(|connection| !connection.is_closing())
    }

    fn staying_of(&self, address: Address) -> impl Iterator<Item = &Rc<Connection>> {
        self.staying().filter(move |connection| connection.address == address)
    }

    /// The connections of an address without progress for the longest time, at least `least` if enough may be closed.
    fn idlest_of(&self, address: Address, least: usize) -> Vec<Rc<Connection>> {
        if least == 0 {
            return Vec::new();
        }
        self.with_spare(by_rank(self.staying_of(address).collect()), least)
    }

    /// At least `least` connections, if enough may be closed. The choice is among the connections without a token if
    /// these are more than half, and else among all connections.
    fn choose(&self, least: usize, new: usize) -> Vec<Rc<Connection>> {
        let without_token: Vec<_> = self
            .staying()
            .filter(|connection| !connection.has_token.get())
            .collect();
        // A new connection has no token yet.
        let exceeds = without_token.len() + new > self.half();
        let mut ranked = if exceeds { by_rank(without_token) } else { Vec::new() };
        if ranked.is_empty() {
            ranked = by_rank(self.staying().collect());
        }
        self.with_spare(ranked, least)
    }

    /// The first of the ranked connections: `least`, and some more for the next new connections.
    fn with_spare(&self, ranked: Vec<&Rc<Connection>>, least: usize) -> Vec<Rc<Connection>> {
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
