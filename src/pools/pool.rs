//! A pool: threads that run the jobs of a fair queue.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use crate::caller::CallerKey;
use crate::error::{Error, Result};
use crate::fair_queue::{FairQueue, JobId, QueueLimits};
use crate::log_context;
use crate::mutants::{self, Mutant};

/// How much nicer the threads are than the HTTP workers: on a busy core a pool's thread gets about a tenth of the time.
const NICENESS: i32 = 10;

/// Threads with a fair queue. A job whose future is dropped leaves the queue.
pub struct Pool {
    shared: Arc<SharedPool>,
    /// Only the runtime's blocking threads are used, which start when needed. `None` only while the pool is dropped.
    runtime: Option<Runtime>,
}

struct SharedPool {
    threads: usize,
    handle: Handle,
    state: Mutex<PoolWork>,
}

struct PoolWork {
    queue: FairQueue<Work>,
    /// The threads that run jobs.
    running: usize,
}

/// A job without its type. The job's future gets the result.
type Work = Box<dyn FnOnce(Order) + Send>;

/// The decision about a job.
enum Order {
    Run,
    Refuse(Error),
}

impl Pool {
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn new(limits: QueueLimits) -> std::io::Result<Pool> {
        let threads = limits.running;
        let runtime = low_priority_runtime(threads)?;
        let state = PoolWork {
            queue: FairQueue::new(limits),
            running: 0,
        };
        Ok(Pool {
            shared: Arc::new(SharedPool {
                threads,
                handle: runtime.handle().clone(),
                state: Mutex::new(state),
            }),
            runtime: Some(runtime),
        })
    }

    /// How many jobs wait for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.state().queue.waiting()
    }

    /// Whether a further job of this caller has to wait for earlier jobs of the caller.
    pub fn is_saturated_by(&self, caller: &CallerKey) -> bool {
        self.shared.state().queue.is_saturated_by(caller)
    }

    /// Begins the work when the queue assigns a thread. The result is [`Error::Busy`] if the queue has no place for the
    /// work.
    pub fn start<T: Send + 'static>(
        &self,
        caller: &CallerKey,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> PoolJob<T> {
        let (sender, result) = oneshot::channel();
        let work = log_context::carried(move || {
            mutants::panic_as(Mutant::PanicOnPool);
            work()
        });
        let job: Work = Box::new(move |order| {
            let result = match order {
                Order::Run => catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked())),
                Order::Refuse(error) => Err(error),
            };
            let _ = sender.send(result);
        });
        let (id, refused) = self.shared.push(caller, job);
        if let Some(refused) = refused {
            refused(Order::Refuse(queue_is_full()));
        }
        PoolJob {
            result,
            shared: Arc::clone(&self.shared),
            caller: caller.clone(),
            id,
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Does not wait for work in progress: no client waits for the work any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl SharedPool {
    fn state(&self) -> MutexGuard<'_, PoolWork> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, and wakes an idle thread, if any. Also returns the job without a place in the queue.
    fn push(self: &Arc<Self>, caller: &CallerKey, job: Work) -> (JobId, Option<Work>) {
        let mut state = self.state();
        let pushed = state.queue.push(caller, job);
        if state.running < self.threads {
            state.running += 1;
            drop(state);
            let shared = Arc::clone(self);
            self.handle.spawn_blocking(move || shared.run_jobs());
        }
        pushed
    }

    /// Runs jobs until no job may begin.
    fn run_jobs(&self) {
        let mut state = self.state();
        while let Some((caller, job)) = state.queue.next() {
            drop(state);
            job(Order::Run);
            state = self.state();
            state.queue.finish(&caller);
        }
        state.running -= 1;
    }
}

/// A runtime whose blocking threads have a low priority.
pub fn low_priority_runtime(threads: usize) -> std::io::Result<Runtime> {
    Builder::new_current_thread()
        .max_blocking_threads(threads)
        .thread_name("placet-compute")
        .on_thread_start(|| lower_priority(NICENESS))
        .build()
}

/// Makes the current thread nicer. On Linux each thread has a niceness.
pub fn lower_priority(by: i32) {
    if let Err(error) = rustix::process::nice(by) {
        log::debug!("Cannot lower the priority of a thread: {error}");
    }
}

fn queue_is_full() -> Error {
    Error::Busy {
        detail: "As many searches wait for a processor as [placet] search_queue_size allows, and this caller has most \
                 of them; ask for fewer at once."
            .to_owned(),
    }
}

fn panicked() -> Error {
    Error::Internal {
        detail: "Work on another thread met a defect of placet; the log has more.".to_owned(),
    }
}

/// The future of a pool's work, with the result of the work.
pub struct PoolJob<T> {
    result: oneshot::Receiver<Result<T>>,
    shared: Arc<SharedPool>,
    caller: CallerKey,
    id: JobId,
}

impl<T> Future for PoolJob<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<T>> {
        let result = Pin::new(&mut self.result).poll(task);
        result.map(|received| received.unwrap_or_else(|_| Err(panicked())))
    }
}

/// A job that has not begun leaves the queue.
impl<T> Drop for PoolJob<T> {
    fn drop(&mut self) {
        let removed = self.shared.state().queue.remove(&self.caller, self.id);
        // Outside of the lock, because the job may hold much memory.
        drop(removed);
    }
}

#[cfg(test)]
mod tests;
