//! Coalescing of reads (as a DataLoader): requests that wait at the same time share one statement.
//!
//! As in the follower, a request is answered from a statement that was sent after the request came, never from one in
//! flight. So the answer has everything that was committed before. What is read is the caller's.

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::db::{Database, DbConnection, SetupError, thread};
use crate::error::{Error, Result};

/// At most this many requests share a statement, so that none waits for the rows of hundreds.
const REQUESTS_PER_STATEMENT_MAX: usize = 64;

/// Reads several providers with one statement; the keys are their uuids as the tables spell them.
type Ask<T> = dyn Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>> + Send + Sync;

struct Pending<T> {
    uuid: String,
    reply: oneshot::Sender<Result<Option<T>>>,
}

/// A handle of the threads. They end when it is dropped.
pub struct Coalescer<T> {
    queue: Sender<Pending<T>>,
}

impl<T: Clone + Send + 'static> Coalescer<T> {
    /// Starts this many threads, which read on connections of the pool. Requests that wait while all are busy share a statement.
    pub fn start(
        database: &Database,
        threads: usize,
        ask: impl Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>> + Send + Sync + 'static,
    ) -> std::result::Result<Coalescer<T>, SetupError> {
        let (queue, wishes) = channel();
        let (wishes, ask) = (Arc::new(Mutex::new(wishes)), Arc::new(ask));
        for _ in 0..threads {
            let asker = Worker {
                database: database.clone(),
                ask: ask.clone(),
            };
            let wishes = wishes.clone();
            thread::spawn("placet-coalesce", move || asker.work(&wishes))?;
        }
        Ok(Coalescer { queue })
    }

    /// Reads one provider; `None` if the tables have none with this spelling. It has no timeout of its own: a request that was
    /// dropped is skipped.
    pub async fn of(&self, uuid: &str) -> Result<Option<T>> {
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::Unavailable {
            detail: "it is shutting down".to_owned(),
        };
        let uuid = uuid.to_owned();
        self.queue.send(Pending { uuid, reply }).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

struct Worker<T> {
    database: Database,
    ask: Arc<Ask<T>>,
}

impl<T: Clone> Worker<T> {
    fn work(&self, wishes: &Mutex<Receiver<Pending<T>>>) {
        while let Some(waiting) = next(wishes) {
            let uuids: BTreeSet<&str> = waiting.iter().map(|wish| wish.uuid.as_str()).collect();
            let uuids: Vec<&str> = uuids.into_iter().collect();
            let found = self.find(&uuids);
            for wish in waiting {
                let answer = found.as_ref().map(|found| found.get(&wish.uuid).cloned());
                if wish.reply.send(answer.map_err(Error::clone)).is_err() {
                    log::debug!("The client was gone before the answer was ready");
                }
            }
        }
    }

    /// Reads, and catches a panic: it must not end the thread.
    fn find(&self, uuids: &[&str]) -> Result<HashMap<String, T>> {
        let ask = || self.database.ask(|conn| (self.ask)(conn, uuids));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).unwrap_or_else(|_| {
            Err(Error::Internal {
                detail: "Reading of several providers met a defect of placet.".into(),
            })
        })
    }
}

/// Waits for requests and returns those that wait, without dropped ones; `None` when the handle is dropped.
fn next<T>(wishes: &Mutex<Receiver<Pending<T>>>) -> Option<Vec<Pending<T>>> {
    let wishes = wishes.lock().unwrap_or_else(PoisonError::into_inner);
    let is_waited_for = |wish: &Pending<T>| !wish.reply.is_closed();
    let first = wishes.iter().find(is_waited_for)?;
    Some(
        std::iter::once(first)
            .chain(wishes.try_iter().filter(is_waited_for))
            .take(REQUESTS_PER_STATEMENT_MAX)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use actix_web::rt;

    use super::*;
    use crate::db::tests::support::TestDatabase;

    #[actix_web::test]
    async fn those_who_wait_share_a_statement_and_none_in_flight() {
        let (_kept, database) = TestDatabase::synced();
        let number = || Arc::new(AtomicUsize::new(0));
        let (committed, sent, may_end) = (number(), number(), number());
        let shared = {
            let (committed, sent, may_end) = (committed.clone(), sent.clone(), may_end.clone());
            let asked = Coalescer::start(&database, 2, move |_: &mut DbConnection, uuids: &[&str]| {
                let seen = committed.load(Ordering::SeqCst);
                sent.fetch_add(1, Ordering::SeqCst);
                while may_end.load(Ordering::SeqCst) == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(uuids.iter().map(|uuid| ((*uuid).to_owned(), seen)).collect())
            });
            Arc::new(asked.unwrap())
        };
        let ask = |uuid: &'static str| {
            let shared = shared.clone();
            rt::spawn(async move { shared.of(uuid).await.unwrap() })
        };
        let mut early = Vec::new();
        for in_flight in 1..=2 {
            early.push(ask("a"));
            while sent.load(Ordering::SeqCst) < in_flight {
                rt::time::sleep(Duration::from_millis(2)).await;
            }
        }
        committed.store(1, Ordering::SeqCst);
        let late: Vec<_> = ["a", "b", "a", "c"].map(ask).into();
        rt::time::sleep(Duration::from_millis(50)).await;
        may_end.store(1, Ordering::SeqCst);
        for answer in late {
            assert_eq!(answer.await.unwrap(), Some(1), "what was committed before it came");
        }
        for answer in early {
            assert_eq!(answer.await.unwrap(), Some(0));
        }
        assert_eq!(sent.load(Ordering::SeqCst), 3);
    }
}
