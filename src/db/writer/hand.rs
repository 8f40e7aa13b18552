//! Another thread, which writes plans and commits them, so that the writer's own can answer the batch before and decide the
//! next one meanwhile.

use std::sync::mpsc::{Receiver, Sender, channel};

use diesel::result::Error as DbError;

use super::contain;
use super::plan::Prepared;
use super::transaction::{Ended, commit};
use crate::db::dialect::AtOnce;
use crate::db::failure::Failure;
use crate::db::queue::Permit;
use crate::db::together::How;
use crate::db::{DbConnection, SetupError, thread};

/// What is to be written and committed, and a connection that begins a transaction with what it writes.
pub(super) struct Order {
    pub conn: DbConnection,
    pub prepared: Prepared,
    pub permits: Vec<Permit>,
    pub at_once: AtOnce,
}

enum Report {
    /// All is written, and COMMIT about to be sent.
    Committing,
    Ended(Box<DbConnection>, Ended),
}

/// The way to the thread, which has one order at a time. When it is gone the thread ends.
pub(super) struct Hand {
    orders: Sender<Order>,
    reports: Receiver<Report>,
    /// What was reported before it was asked for.
    early: Option<Report>,
}

impl Hand {
    pub fn start() -> Result<Hand, SetupError> {
        let (orders, given) = channel::<Order>();
        let (tell, reports) = channel();
        thread::spawn("placet-hand", move || {
            for order in given {
                let told = carry_out(order, &tell);
                if tell.send(told).is_err() {
                    return;
                }
            }
        })?;
        Ok(Hand {
            orders,
            reports,
            early: None,
        })
    }

    /// The order comes back where there is nobody to carry it out.
    pub fn give(&self, order: Order) -> Result<(), Box<Order>> {
        self.orders.send(order).map_err(|unsent| Box::new(unsent.0))
    }

    /// Waits until COMMIT is about to be sent; false where it will not be.
    pub fn commits(&mut self) -> bool {
        match self.reports.recv() {
            Ok(Report::Committing) => true,
            other => {
                self.early = other.ok();
                false
            }
        }
    }

    /// Waits for the end of what was given. There is no connection, and a doubt, where the thread broke down.
    pub fn take_back(&mut self) -> (Option<DbConnection>, Ended) {
        loop {
            match self.early.take().map_or_else(|| self.reports.recv(), Ok) {
                Ok(Report::Committing) => {}
                Ok(Report::Ended(conn, ended)) => return (Some(*conn), ended),
                Err(_) => return (None, Ended::Sent(Err(DbError::BrokenTransactionManager))),
            }
        }
    }
}

fn carry_out(order: Order, tell: &Sender<Report>) -> Report {
    let Order {
        mut conn,
        prepared,
        permits,
        at_once,
    } = order;
    let written = contain(|| prepared.write(&mut conn, How::Beginning)).unwrap_or(Err(Failure::Panicked));
    let ended = match written {
        Err(failure) => Ended::Failed(failure),
        Ok(()) => {
            if tell.send(Report::Committing).is_err() {
                log::debug!("Nobody waits for a commit any more");
            }
            commit(&mut conn, permits.iter(), at_once)
        }
    };
    Report::Ended(Box::new(conn), ended)
}
