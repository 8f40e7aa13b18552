//! Threads for what would delay the other requests of an HTTP worker: long searches, chunks of answers, large bodies.
//!
//! Each kind of work has a pool of its own, with a fixed number of threads and a first-in-first-out queue. The threads
//! have a lower priority than the HTTP workers, so a machine whose cores all search still answers other requests at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
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
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl ThreadPools {
    /// Threads start when they are needed. Searches beyond `search_queue` waiting ones are refused.
    pub fn start(search_queue: usize) -> std::io::Result<ThreadPools> {
        let cores = available_parallelism().map_or(1, usize::from);
        let (searches, attempts, answers, bodies) = (cores, cores, cores, cores.div_ceil(4));
        // Only the runtime's blocking threads are used.
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(searches + attempts + answers + bodies)
            .thread_name("placet-compute")
            .on_thread_start(lower_priority)
            .build()?;
        let pool = |threads, max_waiting| ThreadPool {
            threads: runtime.handle().clone(),
            permits: Arc::new(Semaphore::new(threads)),
            waiting: Arc::default(),
            max_waiting,
        };
        Ok(ThreadPools {
            searches: pool(searches, search_queue),
            attempts: pool(attempts, search_queue),
            answers: pool(answers, usize::MAX),
            bodies: pool(bodies, usize::MAX),
            runtime: Some(runtime),
        })
    }
}

impl Drop for ThreadPools {
    fn drop(&mut self) {
        // Does not wait for work in progress: no client waits for it any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// On Linux a thread has a niceness of its own.
fn lower_priority() {
    if let Err(error) = rustix::process::nice(NICENESS) {
        log::debug!("Cannot lower the priority of a thread: {error}");
    }
}

/// A fixed number of threads with a queue. Work whose future is dropped leaves the queue.
#[derive(Clone)]
pub struct ThreadPool {
    threads: Handle,
    /// As many as threads. Tokio's semaphore is fair.
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    max_waiting: usize,
}

impl ThreadPool {
    /// How much work waits for a thread.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether all threads have work.
    pub fn is_saturated(&self) -> bool {
        self.permits.available_permits() == 0
    }

    /// # Errors
    /// [`Error::Busy`] if the queue is full.
    pub fn check_queue(&self) -> Result<()> {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if waiting < self.max_waiting {
            return Ok(());
        }
        Err(Error::Busy {
            detail: format!(
                "{waiting} searches wait for a processor, the most that [placet] search_queue_size allows."
            ),
        })
    }

    /// Begins the work if a thread is free, else when its turn comes. It waits in the queue from the first poll on.
    pub fn start<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Job<T> {
        let pool = self.clone();
        let work = log_context::carried(work);
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Job::Started(pool.threads.spawn_blocking(move || {
                let _permit = permit;
                mutants::panic_as(Mutant::PanicOnPool);
                work()
            }));
        }
        Job::Waiting(Box::pin(async move {
            let waiting = Waiting::enter(&pool.waiting);
            let permit = Arc::clone(&pool.permits).acquire_owned().await;
            drop(waiting);
            let job = pool.threads.spawn_blocking(move || {
                let _permit = permit;
                work()
            });
            job_result(job.await)
        }))
    }
}

/// Counts one that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    fn enter(count: &AtomicUsize) -> Waiting<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Work of a pool, whose result it becomes.
pub enum Job<T> {
    Started(JoinHandle<Result<T>>),
    Waiting(Pin<Box<dyn Future<Output = Result<T>>>>),
}

impl<T> Future for Job<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<T>> {
        match &mut *self {
            Job::Started(job) => Pin::new(job).poll(task).map(job_result),
            Job::Waiting(job) => job.as_mut().poll(task),
        }
    }
}

/// The result of work on a thread; a panic there is an internal error.
fn job_result<T>(joined: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    joined.unwrap_or_else(|_| {
        Err(Error::Internal {
            detail: "Work on another thread met a defect of placet; the log has more.".to_owned(),
        })
    })
}
