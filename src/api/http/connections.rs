//! The open connections of an HTTP worker. If there are too many, connections without progress are closed.
//!
//! A connection makes progress when it opens, when a request begins, when a request is answered, and with each further
//! part of a body or of an answer. The cause of a wait does not matter: the rest of a head, the rest of a body, a
//! client that does not read, or the next request. The clock counts the progress of all connections.

mod address;
pub mod closed;
mod open_connections;

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use address::Address;
use closed::WaitCause;
pub use open_connections::spare_connections;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::expectation::Expectation;
use super::statistics::HttpStatistics;

/// The bytes of a body or of an answer that count as progress. A client that sends byte by byte makes no progress.
const PROGRESS_BYTES: usize = 16 * 1024;
/// After this number of turns of the event loop the worker has read all data that had arrived on a connection.
const TURNS_OF_A_LOOK: usize = 2;

/// The open connections of one worker.
pub struct Connections {
    open: RefCell<open_connections::OpenConnections>,
    statistics: Arc<HttpStatistics>,
    next_id: Cell<u64>,
    clock: Cell<u64>,
}

/// The state that the parts of one connection share: the stream, and the requests in the stream.
pub struct Connection {
    id: u64,
    peer: IpAddr,
    address: Address,
    all: Rc<Connections>,
    /// The time of the clock at the last progress.
    progress: Cell<u64>,
    /// Bytes since the last progress.
    bytes: Cell<usize>,
    /// The number of requests whose heads have arrived, and the number of answered requests.
    pub begun: Cell<u64>,
    answered: Cell<u64>,
    /// The requests that are being served, with an accepted token or without a token.
    served: Cell<u64>,
    /// Whether a request had an accepted token.
    pub has_token: Cell<bool>,
    /// Whether a part of an answer waits for the client to read.
    pub write_is_blocked: Cell<bool>,
    /// Whether a part of a head has arrived.
    pub has_head: Cell<bool>,
    /// When the connection was opened, or last carried a part of a body or of an answer.
    idle_since: Cell<Instant>,
    /// Whether the client of the present request waits before sending the body.
    pub expectation: Cell<Expectation>,
    /// Whether the client announced a request as the last.
    had_last: Cell<bool>,
    closing: Cell<Closing>,
    close: Notify,
}

/// Whether a connection was chosen for closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    No,
    /// If nothing arrives until the event loop has looked at the socket. With the time of the last progress.
    AfterLook(u64),
    /// Unless placet serves a request on the connection.
    AtOnce,
    /// Whatever placet does for the connection: the address has more than half of all connections.
    InAnyCase,
}

impl Connections {
    /// At most `limit` connections, if enough connections may be closed.
    pub fn new(limit: usize, statistics: Arc<HttpStatistics>) -> Rc<Connections> {
        Rc::new(Connections {
            open: RefCell::new(open_connections::OpenConnections::new(limit)),
            statistics,
            next_id: Cell::default(),
            clock: Cell::default(),
        })
    }

    /// Adds a connection. If the address or all addresses together have too many now, earlier connections are closed.
    /// If the address has too many, and placet serves a request on each, the new connection is refused.
    pub fn open(self: &Rc<Self>, peer: IpAddr) -> OpenConnection {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let connection = Rc::new(Connection {
            id,
            peer,
            address: Address::of(peer),
            all: Rc::clone(self),
            progress: Cell::new(self.tick()),
            bytes: Cell::default(),
            begun: Cell::default(),
            answered: Cell::default(),
            served: Cell::default(),
            has_token: Cell::default(),
            write_is_blocked: Cell::default(),
            has_head: Cell::default(),
            idle_since: Cell::new(Instant::now()),
            expectation: Cell::default(),
            had_last: Cell::default(),
            closing: Cell::new(Closing::No),
            close: Notify::new(),
        });
        let mut open = self.open.borrow_mut();
        let is_admitted = open.make_room(connection.address);
        open.add(Rc::clone(&connection));
        if !is_admitted {
            open.close(&connection, Closing::InAnyCase);
        }
        OpenConnection(connection)
    }

    /// The number of opened connections so far.
    pub fn opened(&self) -> u64 {
        self.next_id.get()
    }

    fn tick(&self) -> u64 {
        let now = self.clock.get() + 1;
        self.clock.set(now);
        now
    }

    fn close_surplus(&self, is_look_allowed: bool) {
        self.open.borrow_mut().close_surplus(0, is_look_allowed);
    }

    /// A chosen connection stays open, because the connection has made progress since. The next connection goes without
    /// a look: otherwise busy clients could keep all new clients waiting.
    fn spare(&self, spared: &Connection) {
        let mut open = self.open.borrow_mut();
        open.spare(spared);
        open.close_surplus_of(spared.address);
        open.close_surplus(0, false);
    }
}

impl Connection {
    /// Counts a request as begun, and as answered when the result is dropped.
    pub fn begin_request(self: &Rc<Self>) -> RequestGuard {
        self.begun.set(self.begun.get() + 1);
        self.has_head.set(false);
        self.advance();
        RequestGuard(Rc::clone(self))
    }

    /// Completes when nothing has come for `limit` since the last answer, or since the connection was opened.
    pub async fn idle_for(&self, limit: Duration) {
        loop {
            let now = Instant::now();
            let since = if self.is_idle() { self.idle_since.get() } else { now };
            if since + limit > now {
                sleep_until(since + limit).await;
                continue;
            }
            let before = self.progress.get();
            look_at_socket().await;
            if self.is_idle() && self.progress.get() == before {
                return;
            }
        }
    }

    /// Whether the connection is idle. A connection whose answer is made or sent, or waits for the client, is not idle.
    fn is_idle(&self) -> bool {
        let is_answering = self.served.get() > 0 || self.write_is_blocked.get();
        self.awaits_request() && !self.has_head.get() && !is_answering
    }

    /// The body of the present request is read: a waiting client may send the body.
    pub fn read_body(&self) {
        if self.expectation.get() == Expectation::Undecided {
            self.expectation.set(Expectation::Met);
        }
    }

    /// Counts a request as being served until the result is dropped: placet works, and the client waits.
    pub fn serve_request(self: &Rc<Self>) -> ServedGuard {
        self.served.set(self.served.get() + 1);
        ServedGuard(Rc::clone(self))
    }

    /// Whether a request may be served: no request may follow the last announced request (RFC 9112, 9.6). actix does
    /// not check this. A proxy would take the answer for the answer to a different request.
    pub fn admits(&self, is_last: bool) -> bool {
        let admits = !self.had_last.get();
        self.had_last.set(is_last || !admits);
        admits
    }

    /// Whether all requests so far are answered.
    pub fn awaits_request(&self) -> bool {
        self.begun.get() == self.answered.get()
    }

    /// Completes when the connection must be closed for a new connection.
    pub async fn closed(&self) {
        loop {
            self.close.notified().await;
            look_at_socket().await;
            // A request may have begun since, and its answer must not be lost.
            let is_spared = match self.closing.get() {
                Closing::No => continue,
                Closing::AfterLook(before) => self.progress.get() > before || self.is_served(),
                Closing::AtOnce => self.is_served(),
                Closing::InAnyCase => false,
            };
            if !is_spared {
                self.all.statistics.closed.record(self.peer, self.waits_for());
                return;
            }
            self.all.spare(self);
        }
    }

    /// Whether the connection was refused when it was opened. No byte of such a connection is read.
    pub fn is_refused(&self) -> bool {
        self.closing.get() == Closing::InAnyCase
    }

    fn close(&self, closing: Closing) {
        self.closing.set(closing);
        self.close.notify_one();
    }

    fn advance(&self) {
        self.progress.set(self.all.tick());
        self.bytes.set(0);
    }

    fn is_closing(&self) -> bool {
        self.closing.get() != Closing::No
    }

    /// Whether placet works for a client that had a token and reads.
    fn is_served(&self) -> bool {
        self.served.get() > 0 && self.has_token.get() && !self.write_is_blocked.get()
    }

    fn waits_for(&self) -> WaitCause {
        if self.write_is_blocked.get() {
            WaitCause::Client
        } else if self.awaits_request() {
            WaitCause::Request
        } else {
            WaitCause::Answer
        }
    }
}

/// Completes when the worker has read all data that had arrived.
async fn look_at_socket() {
    for _ in 0..TURNS_OF_A_LOOK {
        yield_now().await;
    }
}

/// A request, until the answer.
pub struct RequestGuard(Rc<Connection>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.answered.set(self.0.answered.get() + 1);
        self.0.idle_since.set(Instant::now());
        self.0.advance();
    }
}

/// A request while it is served.
pub struct ServedGuard(Rc<Connection>);

impl Drop for ServedGuard {
    fn drop(&mut self) {
        self.0.served.set(self.0.served.get() - 1);
        self.0.idle_since.set(Instant::now());
        self.0.advance();
        self.0.all.close_surplus(true);
    }
}

/// A connection, until closed.
pub struct OpenConnection(Rc<Connection>);

impl OpenConnection {
    pub fn connection(&self) -> &Rc<Connection> {
        &self.0
    }

    /// Counts bytes of a body or an answer, in either direction. Bytes of a head are no progress.
    pub fn moved(&self, bytes: usize) {
        self.0.idle_since.set(Instant::now());
        let bytes = self.0.bytes.get() + bytes;
        self.0.bytes.set(bytes);
        if bytes >= PROGRESS_BYTES {
            self.0.advance();
        }
    }

    /// Whether the client does not read the written bytes.
    pub fn write_is_blocked(&self, is_blocked: bool) {
        let was_blocked = self.0.write_is_blocked.replace(is_blocked);
        if is_blocked && !was_blocked {
            self.0.all.close_surplus(true);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.all.open.borrow_mut().remove(&self.0);
    }
}

#[cfg(test)]
mod tests;
