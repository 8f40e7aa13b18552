//! Coalescing of reads (as a DataLoader): requests that wait at the same time share one read.
//!
//! As in the follower, a request is answered from a read that began after the request arrived. So the answer shows
//! everything committed before. The caller supplies the read.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::db::{Database, SetupError, thread};
use crate::error::{Error, Result};

/// At most this many requests share a read: no request waits for the rows of hundreds of requests.
const REQUESTS_PER_READ_MAX: usize = 64;

/// A request that waits for a thread.
struct Pending<K, V> {
    key: K,
    reply: oneshot::Sender<Result<V>>,
}

/// A handle of the threads. The threads end when the handle is dropped. `K` is the question, `V` the answer.
pub struct Coalescer<K, V> {
    queue: Sender<Pending<K, V>>,
}

impl<K: Send + 'static, V: Send + 'static> Coalescer<K, V> {
    /// Starts `threads` threads, which read on connections of the pool. Requests that arrive while all threads are busy
    /// share a read: `read_many` answers several requests, in the order of the requests.
    pub fn start(
        database: &Database,
        threads: usize,
        read_many: impl Fn(&Database, &[&K]) -> Result<Vec<V>> + Send + Sync + 'static,
    ) -> std::result::Result<Coalescer<K, V>, SetupError> {
        let (queue, requests) = channel();
        let shared = Arc::new((Mutex::new(requests), read_many));
        for _ in 0..threads {
            let (database, shared) = (database.clone(), Arc::clone(&shared));
            let work = move || {
                let (requests, read_many) = &*shared;
                while let Some(waiting) = next_batch(requests) {
                    answer(waiting, |keys| read_many(&database, keys));
                }
            };
            thread::spawn("placet-coalesce", work)?;
        }
        Ok(Coalescer { queue })
    }

    /// Reads the answer for one key. The caller sets the timeout: a request whose future is dropped is skipped.
    pub async fn read(&self, key: K) -> Result<V> {
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::Unavailable {
            detail: "placet is shutting down".into(),
        };
        self.queue.send(Pending { key, reply }).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

/// Answers the waiting requests.
fn answer<K, V>(waiting: Vec<Pending<K, V>>, read: impl Fn(&[&K]) -> Result<Vec<V>>) {
    let keys: Vec<&K> = waiting.iter().map(|request| &request.key).collect();
    let answers = read_each(&keys, read);
    for (request, answer) in waiting.into_iter().zip(answers) {
        if request.reply.send(answer).is_err() {
            log::debug!("The client was gone before the answer was ready");
        }
    }
}

/// An answer for each key. If a single key may have failed the whole read, each key is read alone.
fn read_each<K, V>(keys: &[&K], read: impl Fn(&[&K]) -> Result<Vec<V>>) -> Vec<Result<V>> {
    // A panic must not end the thread.
    let read = |keys: &[&K]| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(keys)));
        caught.unwrap_or_else(|_| Err(defect()))
    };
    let alone = |key: &&K| read(&[*key])?.into_iter().next().ok_or_else(defect);
    match read(keys) {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            keys.iter().map(|_| answers.next().ok_or_else(defect)).collect()
        }
        Err(Error::BadRequest { .. } | Error::Internal { .. }) if keys.len() > 1 => keys.iter().map(alone).collect(),
        Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
    }
}

fn defect() -> Error {
    Error::Internal {
        detail: "A read for several requests met a defect of placet.".into(),
    }
}

/// Waits for a request, and returns the request with all requests in the queue. Requests whose caller is gone are
/// skipped. `None` when the handle is dropped.
fn next_batch<K, V>(requests: &Mutex<Receiver<Pending<K, V>>>) -> Option<Vec<Pending<K, V>>> {
    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    let is_open = |request: &Pending<K, V>| !request.reply.is_closed();
    let first = requests.iter().find(is_open)?;
    Some(
        std::iter::once(first)
            .chain(requests.try_iter().filter(is_open))
            .take(REQUESTS_PER_READ_MAX)
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

    #[test]
    fn a_key_that_fails_a_read_fails_no_other_key() {
        let unstorable = || Error::BadRequest {
            detail: "a NUL".to_owned(),
        };
        let read = |keys: &[&i32]| {
            assert!(!keys.contains(&&2), "a defect");
            if keys.contains(&&3) {
                return Err(unstorable());
            }
            Ok(keys.iter().map(|key| **key * 10).collect())
        };
        let answers = read_each(&[&1, &2, &3, &4], read);
        assert_eq!(answers, [Ok(10), Err(defect()), Err(unstorable()), Ok(40)]);
    }

    #[actix_web::test]
    async fn waiting_requests_share_a_read_that_begins_after_they_arrive() {
        let (_kept, database) = TestDatabase::synced();
        let number = || Arc::new(AtomicUsize::new(0));
        let (committed, sent, may_end) = (number(), number(), number());
        let coalescer = {
            let (committed, sent, may_end) = (committed.clone(), sent.clone(), may_end.clone());
            let started = Coalescer::start(&database, 2, move |_: &Database, keys: &[&&str]| {
                let seen = committed.load(Ordering::SeqCst);
                sent.fetch_add(1, Ordering::SeqCst);
                while may_end.load(Ordering::SeqCst) == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(keys.iter().map(|key| format!("{key} {seen}")).collect())
            });
            Arc::new(started.unwrap())
        };
        let read = |key: &'static str| {
            let coalescer = coalescer.clone();
            rt::spawn(async move { coalescer.read(key).await.unwrap() })
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
        for (answer, expected) in late.into_iter().zip(["a 1", "b 1", "a 1", "c 1"]) {
            assert_eq!(answer.await.unwrap(), expected, "the commit before the request");
        }
        for answer in early {
            assert_eq!(answer.await.unwrap(), "a 0");
        }
        assert_eq!(sent.load(Ordering::SeqCst), 3);
    }
}
