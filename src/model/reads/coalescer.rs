//! Coalescing of reads (as a DataLoader): requests that wait at the same time share one statement.
//!
//! As in the follower, a request is answered from a statement that was sent after the request arrived. So the answer
//! shows everything committed before. The caller supplies the statement.

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::db::{Database, DbConnection, SetupError, thread};
use crate::error::{Error, Result};

/// At most this many requests share a statement, so that no request waits for the rows of hundreds.
const REQUESTS_PER_STATEMENT_MAX: usize = 64;

/// Reads several providers with one statement. The keys are their uuids as the tables spell them.
type ReadMany<T> = dyn Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>> + Send + Sync;

/// A request that waits for a thread.
struct Pending<T> {
    uuid: String,
    reply: oneshot::Sender<Result<Option<T>>>,
}

/// A handle of the threads. They end when it is dropped.
pub struct Coalescer<T> {
    queue: Sender<Pending<T>>,
}

impl<T: Clone + Send + 'static> Coalescer<T> {
    /// Starts `threads` threads, which read on connections of the pool. Requests that arrive while all of them are busy
    /// share a statement.
    pub fn start(
        database: &Database,
        threads: usize,
        read_many: impl Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>> + Send + Sync + 'static,
    ) -> std::result::Result<Coalescer<T>, SetupError> {
        let (queue, requests) = channel();
        let (requests, read_many) = (Arc::new(Mutex::new(requests)), Arc::new(read_many));
        for _ in 0..threads {
            let worker = Worker {
                database: database.clone(),
                read_many: read_many.clone(),
            };
            let requests = requests.clone();
            thread::spawn("placet-coalesce", move || worker.work(&requests))?;
        }
        Ok(Coalescer { queue })
    }

    /// Reads one provider; `None` if the tables have none with this spelling. The caller sets the timeout: a request
    /// whose future is dropped is skipped.
    pub async fn read(&self, uuid: &str) -> Result<Option<T>> {
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::Unavailable {
            detail: "placet is shutting down".to_owned(),
        };
        let uuid = uuid.to_owned();
        self.queue.send(Pending { uuid, reply }).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

struct Worker<T> {
    database: Database,
    read_many: Arc<ReadMany<T>>,
}

impl<T: Clone> Worker<T> {
    fn work(&self, requests: &Mutex<Receiver<Pending<T>>>) {
        while let Some(waiting) = next_batch(requests) {
            let uuids: BTreeSet<&str> = waiting.iter().map(|request| request.uuid.as_str()).collect();
            let uuids: Vec<&str> = uuids.into_iter().collect();
            let result = self.read(&uuids);
            for request in waiting {
                let answer = result.as_ref().map(|found| found.get(&request.uuid).cloned());
                if request.reply.send(answer.map_err(Error::clone)).is_err() {
                    log::debug!("The client was gone before the answer was ready");
                }
            }
        }
    }

    /// Reads, and catches a panic: it must not end the thread.
    fn read(&self, uuids: &[&str]) -> Result<HashMap<String, T>> {
        let read = || self.database.ask(|conn| (self.read_many)(conn, uuids));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| {
            Err(Error::Internal {
                detail: "Reading of several providers met a defect of placet.".into(),
            })
        })
    }
}

/// Waits for a request, and returns it with those that are queued behind it. Requests that were dropped are skipped.
/// `None` when the handle is dropped.
fn next_batch<T>(requests: &Mutex<Receiver<Pending<T>>>) -> Option<Vec<Pending<T>>> {
    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    let is_open = |request: &Pending<T>| !request.reply.is_closed();
    let first = requests.iter().find(is_open)?;
    Some(
        std::iter::once(first)
            .chain(requests.try_iter().filter(is_open))
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
    async fn waiting_requests_share_a_statement_that_is_sent_after_they_arrive() {
        let (_kept, database) = TestDatabase::synced();
        let number = || Arc::new(AtomicUsize::new(0));
        let (committed, sent, may_end) = (number(), number(), number());
        let coalescer = {
            let (committed, sent, may_end) = (committed.clone(), sent.clone(), may_end.clone());
            let started = Coalescer::start(&database, 2, move |_: &mut DbConnection, uuids: &[&str]| {
                let seen = committed.load(Ordering::SeqCst);
                sent.fetch_add(1, Ordering::SeqCst);
                while may_end.load(Ordering::SeqCst) == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(uuids.iter().map(|uuid| ((*uuid).to_owned(), seen)).collect())
            });
            Arc::new(started.unwrap())
        };
        let read = |uuid: &'static str| {
            let coalescer = coalescer.clone();
            rt::spawn(async move { coalescer.read(uuid).await.unwrap() })
        };
        let mut early = Vec::new();
        for in_flight in 1..=2 {
            early.push(read("a"));
            while sent.load(Ordering::SeqCst) < in_flight {
                rt::time::sleep(Duration::from_millis(2)).await;
            }
        }
        committed.store(1, Ordering::SeqCst);
        let late: Vec<_> = ["a", "b", "a", "c"].map(read).into();
        rt::time::sleep(Duration::from_millis(50)).await;
        may_end.store(1, Ordering::SeqCst);
        for answer in late {
            assert_eq!(answer.await.unwrap(), Some(1), "the commit before the request");
        }
        for answer in early {
            assert_eq!(answer.await.unwrap(), Some(0));
        }
        assert_eq!(sent.load(Ordering::SeqCst), 3);
    }
}
