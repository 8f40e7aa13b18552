//! Threads that read the same of several providers by one statement, for all requests that wait together.
//!
//! As with `follower`, a request is answered by a statement that was sent after it came, never by one in flight: so it shows
//! whatever anybody committed before. It knows nothing of what is read.

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::db::{Database, DbConnection, SetupError, thread};
use crate::error::{Error, Result};

/// So many requests share a statement at most: none waits for the rows of hundreds.
const SHARE_MAX: usize = 64;

/// What one statement finds of providers, by their uuids as the tables spell them.
type Ask<T> = dyn Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>> + Send + Sync;

struct Wish<T> {
    uuid: String,
    reply: oneshot::Sender<Result<Option<T>>>,
}

/// The way to the threads. When it is gone they end.
pub struct Shared<T> {
    queue: Sender<Wish<T>>,
}

impl<T: Clone + Send + 'static> Shared<T> {
    /// Starts so many threads, which ask on connections of the pool: what waits while all of them are busy is shared.
    pub fn start(
        database: &Database,
        threads: usize,
        ask: impl Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>> + Send + Sync + 'static,
    ) -> std::result::Result<Shared<T>, SetupError> {
        let (queue, wishes) = channel();
        let (wishes, ask) = (Arc::new(Mutex::new(wishes)), Arc::new(ask));
        for _ in 0..threads {
            let asker = Asker {
                database: database.clone(),
                ask: ask.clone(),
            };
            let wishes = wishes.clone();
            thread::spawn("placet-shared", move || asker.work(&wishes))?;
        }
        Ok(Shared { queue })
    }

    /// What there is of a provider; `None` where the tables have none that is spelled so. However long that takes: whoever
    /// gives up is not asked for.
    pub async fn of(&self, uuid: &str) -> Result<Option<T>> {
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::Unavailable {
            detail: "it is shutting down".to_owned(),
        };
        let uuid = uuid.to_owned();
        self.queue.send(Wish { uuid, reply }).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

struct Asker<T> {
    database: Database,
    ask: Arc<Ask<T>>,
}

impl<T: Clone> Asker<T> {
    fn work(&self, wishes: &Mutex<Receiver<Wish<T>>>) {
        while let Some(waiting) = next(wishes) {
            let uuids: BTreeSet<&str> = waiting.iter().map(|wish| wish.uuid.as_str()).collect();
            let uuids: Vec<&str> = uuids.into_iter().collect();
            let found = self.find(&uuids);
            for wish in waiting {
                let answer = found.as_ref().map(|found| found.get(&wish.uuid).cloned());
                if wish.reply.send(answer.map_err(Error::clone)).is_err() {
                    log::debug!("A client went away before it was answered");
                }
            }
        }
    }

    /// Asks, and contains what a defect does: a panic must not end the thread.
    fn find(&self, uuids: &[&str]) -> Result<HashMap<String, T>> {
        let ask = || self.database.ask(|conn| (self.ask)(conn, uuids));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).unwrap_or_else(|_| {
            Err(Error::Internal {
                detail: "Reading of several providers met a defect of placet.".into(),
            })
        })
    }
}

/// Whoever waits, once somebody does; `None` when nobody ever will. Who has given up is not asked for.
fn next<T>(wishes: &Mutex<Receiver<Wish<T>>>) -> Option<Vec<Wish<T>>> {
    let wishes = wishes.lock().unwrap_or_else(PoisonError::into_inner);
    let is_waited_for = |wish: &Wish<T>| !wish.reply.is_closed();
    let first = wishes.iter().find(is_waited_for)?;
    Some(
        std::iter::once(first)
            .chain(wishes.try_iter().filter(is_waited_for))
            .take(SHARE_MAX)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use actix_web::rt;

    use super::*;
    use crate::db::testing::TestDatabase;

    #[actix_web::test]
    async fn those_who_wait_share_a_statement_and_none_in_flight() {
        let (_kept, database) = TestDatabase::synced();
        let number = || Arc::new(AtomicUsize::new(0));
        let (committed, sent, may_end) = (number(), number(), number());
        let shared = {
            let (committed, sent, may_end) = (committed.clone(), sent.clone(), may_end.clone());
            let asked = Shared::start(&database, 2, move |_: &mut DbConnection, uuids: &[&str]| {
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
