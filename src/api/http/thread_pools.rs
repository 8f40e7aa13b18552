//! Threads for what would delay the other requests of an HTTP worker: long searches, chunks of answers, large bodies.
//!
//! Each kind of work has a pool of its own, with a fixed number of threads and a first-in-first-out queue. The threads
//! have a lower priority than the HTTP workers, so a machine whose cores all search still answers other requests at
//! once.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinHandle};

use crate::error::{Error, Result};
use crate::log_context;
use crate::mutants::{self, Mutant};

/// How much nicer the threads are than the HTTP workers: on a busy core they get about a tenth of the time.
const NICENESS: i32 = 10;

/// The pools of one process.
pub struct ThreadPools {
    /// Searches that compute without sending: as many threads as cores, so that they do not slow each other down.
    pub searches: ThreadPool,
    /// First attempts at a search, with a budget of steps, while all threads of the pool above search.
    pub attempts: ThreadPool,
    /// Work that soon has something to send: chunks of answers, and lists of providers.
    pub answers: ThreadPool,
    /// Reading large bodies. A few threads, because a body takes many times its length in memory while it is read.
    pub bodies: ThreadPool,
}

impl ThreadPools {
    /// Threads start when they are needed. Searches beyond `search_queue` waiting ones are refused.
    ///
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn start(search_queue: usize) -> std::io::Result<ThreadPools> {
        let cores = available_parallelism().map_or(1, usize::from);
        Ok(ThreadPools {
            searches: ThreadPool::new(cores, search_queue)?,
            attempts: ThreadPool::new(cores, search_queue)?,
            answers: ThreadPool::new(cores, usize::MAX)?,
            bodies: ThreadPool::new(cores.div_ceil(4), usize::MAX)?,
        })
    }
}

/// On Linux a thread has a niceness of its own.
fn lower_priority() {
    if let Err(error) = rustix::process::nice(NICENESS) {
        log::debug!("Cannot lower the priority of a thread: {error}");
    }
}

/// A fixed number of threads with a queue. Work whose future is dropped leaves the queue.
pub struct ThreadPool {
    /// Only its blocking threads are used, which share a queue. `None` only while the pool is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    threads: usize,
    /// How much work has a thread or waits for one.
    unfinished: Arc<AtomicUsize>,
    max_waiting: usize,
}

impl ThreadPool {
    fn new(threads: usize, max_waiting: usize) -> std::io::Result<ThreadPool> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads)
            .thread_name("placet-compute")
            .on_thread_start(lower_priority)
            .build()?;
        Ok(ThreadPool {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            threads,
            unfinished: Arc::default(),
            max_waiting,
        })
    }

    /// How much work waits for a thread.
    pub fn waiting(&self) -> usize {
        self.unfinished.load(Ordering::Relaxed).saturating_sub(self.threads)
    }

    /// Whether all threads have work.
    pub fn is_saturated(&self) -> bool {
        self.unfinished.load(Ordering::Relaxed) >= self.threads
    }

    /// # Errors
    /// [`Error::Busy`] if the queue is full.
    pub fn check_queue(&self) -> Result<()> {
        let waiting = self.waiting();
        if waiting < self.max_waiting {
            return Ok(());
        }
        Err(Error::Busy {
            detail: format!(
                "{waiting} searches wait for a processor, the most that [placet] search_queue_size allows."
            ),
        })
    }

    /// Begins the work when a thread is free and all earlier work has begun.
    pub fn start<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Job<T> {
        let unfinished = Unfinished::enter(&self.unfinished);
        let work: Work<T> = Box::new(log_context::carried(move || {
            let _unfinished = unfinished;
            mutants::panic_as(Mutant::PanicOnPool);
            work()
        }));
        let waiting = Arc::new(Mutex::new(Some(work)));
        let begin = {
            let waiting = Arc::clone(&waiting);
            move || take(&waiting).map(|work| work())
        };
        Job {
            waiting,
            running: self.handle.spawn_blocking(begin),
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        // Does not wait for work in progress: no client waits for it any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Counts one piece of work, until it is dropped.
struct Unfinished(Arc<AtomicUsize>);

impl Unfinished {
    fn enter(count: &Arc<AtomicUsize>) -> Unfinished {
        count.fetch_add(1, Ordering::Relaxed);
        Unfinished(Arc::clone(count))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// The work, unless it has begun or was dropped.
fn take<T>(waiting: &Mutex<Option<Work<T>>>) -> Option<Work<T>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Work of a pool, whose result it becomes.
pub struct Job<T> {
    waiting: Arc<Mutex<Option<Work<T>>>>,
    running: JoinHandle<Option<Result<T>>>,
}

impl<T> Future for Job<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.running).poll(task).map(job_result)
    }
}

/// Work that has not begun is dropped and counts no longer. The runtime keeps an empty entry until a thread reaches it.
impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        drop(take(&self.waiting));
    }
}

/// The result of work on a thread; a panic there is an internal error.
fn job_result<T>(joined: std::result::Result<Option<Result<T>>, JoinError>) -> Result<T> {
    joined.ok().flatten().unwrap_or_else(|| {
        Err(Error::Internal {
            detail: "Work on another thread met a defect of placet; the log has more.".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::time::Duration;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// A pool of one thread, work that holds it until the sender is dropped, and that this work has begun.
    fn held_pool() -> (ThreadPool, Job<()>, Sender<()>) {
        let pool = ThreadPool::new(1, 2).expect("a runtime");
        let ((begun, has_begun), (release, released)) = (channel(), channel());
        let job = pool.start(move || {
            let _ = begun.send(());
            let _ = released.recv();
            Ok(())
        });
        has_begun.recv_timeout(TIMEOUT).expect("a thread");
        (pool, job, release)
    }

    /// Work that says its number when it is done.
    fn numbered(pool: &ThreadPool, number: u32, done: &Sender<u32>) -> Job<u32> {
        let done = done.clone();
        pool.start(move || {
            let _ = done.send(number);
            Ok(number)
        })
    }

    fn received(from: &Receiver<u32>) -> u32 {
        from.recv_timeout(TIMEOUT).expect("work that is done")
    }

    #[tokio::test]
    async fn work_begins_in_order_when_a_thread_is_free() {
        let (pool, held, release) = held_pool();
        assert!(pool.is_saturated() && pool.waiting() == 0);
        let (done, all) = channel();
        let jobs: Vec<Job<u32>> = (0..2).map(|number| numbered(&pool, number, &done)).collect();
        assert_eq!(pool.waiting(), 2);
        assert!(matches!(pool.check_queue(), Err(Error::Busy { .. })));
        drop(release);
        assert_eq!((received(&all), received(&all)), (0, 1));
        assert_eq!(held.await, Ok(()));
        for (number, job) in (0..).zip(jobs) {
            assert_eq!(job.await, Ok(number));
        }
        assert!(!pool.is_saturated());
    }

    #[test]
    fn work_whose_future_is_dropped_leaves_the_queue_at_once() {
        let (pool, held, release) = held_pool();
        let (done, all) = channel();
        let first = numbered(&pool, 1, &done);
        let second = numbered(&pool, 2, &done);
        drop(first);
        assert_eq!((pool.waiting(), pool.check_queue()), (1, Ok(())));
        drop(held);
        assert_eq!(pool.waiting(), 1, "work that has begun keeps its thread");
        drop(release);
        assert_eq!(received(&all), 2);
        drop((second, done));
        let end = all.recv_timeout(TIMEOUT);
        assert_eq!(
            end,
            Err(RecvTimeoutError::Disconnected),
            "dropped work is kept, or was done"
        );
    }

    #[tokio::test]
    async fn a_panic_of_work_is_an_internal_error_and_frees_its_thread() {
        let pool = ThreadPool::new(1, 0).expect("a runtime");
        let panicked: Result<()> = pool.start(|| panic!("on purpose")).await;
        assert!(matches!(panicked, Err(Error::Internal { .. })));
        assert_eq!(pool.start(|| Ok(1)).await, Ok(1));
        assert!(!pool.is_saturated());
    }
}
