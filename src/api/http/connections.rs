//! The open connections of an HTTP worker: which are idle, and which is closed when there are too many.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// How long a connection that brought no request yet counts as in use: its first request may have arrived unread.
const FIRST_REQUEST_GRACE: Duration = Duration::from_secs(1);

/// The open connections of one worker.
#[derive(Default)]
pub struct Connections {
    open: RefCell<BTreeMap<u64, Rc<Connection>>>,
    next_id: Cell<u64>,
    /// Moves with each use of a connection: the order of their last uses, without a clock.
    uses: Cell<u64>,
}

/// What the parts of one connection share: its stream, and the requests that come in it.
pub struct Connection {
    opened: Instant,
    /// The requests that dispatch has begun to answer, and those that it has answered.
    begun: Cell<u64>,
    answered: Cell<u64>,
    last_use: Cell<u64>,
    write_is_blocked: Cell<bool>,
    is_closing: Cell<bool>,
    /// Whether the client announced that a request is its last one.
    had_last: Cell<bool>,
    /// Wakes the task of the connection.
    waker: RefCell<Option<Waker>>,
}

impl Connections {
    /// Adds a connection. If there are then `limit` of them, the idlest one is closed, so that a further client need
    /// not wait.
    pub fn open(self: &Rc<Self>, limit: usize) -> OpenConnection {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let connection = Rc::new(Connection::opened_now());
        if self.open.borrow().len() + 1 >= limit {
            self.close_idlest();
        }
        self.open.borrow_mut().insert(id, Rc::clone(&connection));
        let opened = OpenConnection {
            id,
            connection,
            all: Rc::clone(self),
        };
        opened.used();
        opened
    }

    /// How many connections were opened so far.
    pub fn opened(&self) -> u64 {
        self.next_id.get()
    }

    fn close_idlest(&self) {
        let open = self.open.borrow();
        let idle = open.values().filter(|connection| connection.is_idle());
        if let Some(idlest) = idle.min_by_key(|connection| connection.last_use.get()) {
            idlest.is_closing.set(true);
            if let Some(waker) = idlest.waker.borrow_mut().take() {
                waker.wake();
            }
        }
    }
}

impl Connection {
    fn opened_now() -> Connection {
        Connection {
            opened: Instant::now(),
            begun: Cell::default(),
            answered: Cell::default(),
            last_use: Cell::default(),
            write_is_blocked: Cell::default(),
            is_closing: Cell::default(),
            had_last: Cell::default(),
            waker: RefCell::default(),
        }
    }

    /// The number of requests whose heads have arrived.
    pub fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// Counts a request as begun, and when the result is dropped as answered.
    pub fn begin_request(self: &Rc<Self>) -> RequestGuard {
        self.begun.set(self.begun.get() + 1);
        RequestGuard(Rc::clone(self))
    }

    /// Whether a request may be served: not behind one that was announced as the last (RFC 9112, 9.6), which actix does
    /// not check. A proxy that counts on that would take its answer for the answer to another request.
    pub fn admits(&self, is_last: bool) -> bool {
        let admits = !self.had_last.get();
        self.had_last.set(is_last || !admits);
        admits
    }

    /// Whether all requests that came are answered.
    pub fn awaits_request(&self) -> bool {
        self.begun.get() == self.answered.get()
    }

    fn is_idle(&self) -> bool {
        let is_settled = self.begun() > 0 || self.opened.elapsed() > FIRST_REQUEST_GRACE;
        is_settled && self.awaits_request() && !self.write_is_blocked.get() && !self.is_closing.get()
    }
}

/// A request that is being answered.
pub struct RequestGuard(Rc<Connection>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.answered.set(self.0.answered.get() + 1);
    }
}

/// A connection until it is closed.
pub struct OpenConnection {
    id: u64,
    connection: Rc<Connection>,
    all: Rc<Connections>,
}

impl OpenConnection {
    pub fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    /// Bytes came or went.
    pub fn used(&self) {
        let uses = self.all.uses.get() + 1;
        self.all.uses.set(uses);
        self.connection.last_use.set(uses);
    }

    /// Whether the client does not read what is written.
    pub fn write_is_blocked(&self, is_blocked: bool) {
        self.connection.write_is_blocked.set(is_blocked);
    }

    /// Whether the connection is to be closed, because it is the idlest one. If not, `waker` is woken when it is.
    pub fn is_closing(&self, waker: &Waker) -> bool {
        let mut known = self.connection.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
        self.connection.is_closing.get()
    }

    /// The connection is no longer the idlest one.
    pub fn keep_open(&self) {
        self.connection.is_closing.set(false);
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.all.open.borrow_mut().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idlest_connection_is_closed_when_there_are_too_many() {
        let all = Rc::new(Connections::default());
        let first: Vec<OpenConnection> = (0..3).map(|_| all.open(4)).collect();
        // Each has served a request.
        first.iter().for_each(|open| drop(open.connection().begin_request()));
        let closing = |open: &OpenConnection| open.is_closing(Waker::noop());
        assert!(!first.iter().any(closing));
        first[0].used();
        let request = first[1].connection().begin_request();
        let more = [all.open(4)];
        assert_eq!(first.iter().map(closing).collect::<Vec<_>>(), [false, false, true]);
        drop((first.into_iter().nth(2), request));
        assert_eq!(all.open.borrow().len(), 1);
        assert!(!more.iter().any(closing));
    }

    #[test]
    fn no_request_is_admitted_behind_the_last_one() {
        let connection = Connection::opened_now();
        let admitted = [false, true, false, true].map(|is_last| connection.admits(is_last));
        assert_eq!(admitted, [true, true, false, false]);
    }
}
