//! The threads on which a request computes: the HTTP worker for at most [`INLINE_TIME`], and after this time a pool.
//!
//! An HTTP worker answers many requests in turn, so work on the worker delays all requests. Starting a thread takes
//! longer than most searches. So a search begins on the worker, and a longer search begins again in a pool. A pool
//! shares its threads fairly between callers (`fair_queue.rs`). A computation has an [`Interrupt`], which is set when
//! the future of the request is dropped: the client left, or the time is up.
//!
//! The threads have a lower priority than the HTTP workers, so a machine whose cores all search still answers short
//! requests at once.

mod large_value;
mod page_reads;
mod pool;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

pub use large_value::LargeValue;
pub use page_reads::PageReadThreads;
pub use pool::{Pool, PoolJob, lower_priority};
use rustix::time::{ClockId, clock_gettime};

use crate::caller::CallerKey;
use crate::error::{Error, Result};
use crate::fair_queue::QueueLimits;
use crate::interrupt::{Interrupt, InterruptOnDrop};

/// How much processor time a search may take on an HTTP worker.
///
/// A longer search begins again in a pool. An answer of 1,000 candidates takes 0.6 ms on the worker. With a bound of
/// 0.3 ms such an answer was begun twice, and took 10 to 25% more processor time.
pub const INLINE_TIME: Duration = Duration::from_millis(1);
/// A text of at most this length is read on an HTTP worker, which takes some hundred microseconds.
pub const SMALL_BODY_BYTES: usize = 64 * 1024;
/// After this many steps, which take a few microseconds, a search on a worker looks at the clock.
const STEPS_A_LOOK: u64 = 32;
/// After this many steps a search is not short. The steps take as long as a few searches of a small cloud.
const SHORT_STEPS: u64 = 2048;
/// Callers that each use all cores get this many times the threads of one caller.
const CALLERS_AT_ONCE: usize = 2;

/// The pools of one process.
///
/// A pool has twice the threads of one caller. So while one caller uses all its threads, a second caller's work begins
/// at once, and takes at most twice as long.
pub struct Pools {
    /// Searches and plans that compute without sending. A caller has as many threads as cores.
    pub searches: Pool,
    /// First attempts at the searches of a caller that uses all its threads of `searches`. So the short searches of
    /// this caller do not wait behind long searches. And many searches delay no HTTP worker.
    pub attempts: Pool,
    /// Work that soon has something to send: chunks of answers, and lists of providers.
    pub answers: Pool,
    /// Reading large bodies, on a few threads, because reading takes many times the length of a body in memory.
    pub bodies: Pool,
    /// Reads of pages of a whole cloud.
    pub page_reads: PageReadThreads,
}

impl Pools {
    /// If `search_queue` searches wait, a further search is refused.
    ///
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn start(search_queue: usize) -> std::io::Result<Pools> {
        let cores = available_parallelism().map_or(1, usize::from);
        let pool = |running_per_caller, waiting| {
            Pool::new(QueueLimits {
                running: CALLERS_AT_ONCE * running_per_caller,
                running_per_caller,
                waiting,
            })
        };
        Ok(Pools {
            searches: pool(cores, search_queue)?,
            attempts: pool(cores, search_queue)?,
            answers: pool(cores, usize::MAX)?,
            bodies: pool(cores.div_ceil(4), usize::MAX)?,
            page_reads: PageReadThreads::start()?,
        })
    }

    /// Computes on the calling thread, or after [`INLINE_TIME`] on a thread of `searches`. The interrupt is set when
    /// the future is dropped.
    ///
    /// # Errors
    /// [`Error::Busy`] if the queue is full, and this caller has filled it. Errors of `search`.
    pub async fn search<T: Send + 'static>(
        &self,
        caller: &CallerKey,
        search: impl Fn(&Interrupt) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let search = Arc::new(move |interrupt: Interrupt| search(&interrupt));
        if let Some((_, found)) = self.attempt(caller, &search).await? {
            return found;
        }
        self.long_search(caller, move |interrupt| search(interrupt.clone()))
            .await
    }

    /// As [`Self::search`], for work known to be longer than [`INLINE_TIME`]: begins on a thread of `searches`.
    ///
    /// # Errors
    /// As of [`Self::search`].
    pub async fn long_search<T: Send + 'static>(
        &self,
        caller: &CallerKey,
        search: impl FnOnce(&Interrupt) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let interrupt = InterruptOnDrop(Interrupt::default());
        let its_interrupt = interrupt.0.clone();
        self.searches.start(caller, move || search(&its_interrupt)).await
    }

    /// Reads a text of this length: on the calling thread if the text is short, else on a thread of `bodies`.
    ///
    /// # Errors
    /// Of `read`.
    pub async fn read<T: Send + 'static>(
        &self,
        caller: &CallerKey,
        length: usize,
        read: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if length <= SMALL_BODY_BYTES {
            return read();
        }
        self.bodies.start(caller, read).await
    }

    /// Tries a possibly short computation: on the calling thread, or on a thread of `attempts`. The interrupt of the
    /// result goes on without a limit.
    ///
    /// `None` for a long computation, which should start again in a pool.
    ///
    /// # Errors
    /// [`Error::Busy`] if the queue is full, and this caller has filled it.
    pub async fn attempt<T: Send + 'static>(
        &self,
        caller: &CallerKey,
        compute: &Arc<impl Fn(Interrupt) -> Result<T> + Send + Sync + 'static>,
    ) -> Result<Option<(InterruptOnDrop, Result<T>)>> {
        if !self.searches.is_saturated_by(caller) {
            return Ok(attempt_within(inline_interrupt(), &**compute));
        }
        let compute = Arc::clone(compute);
        let attempt = move || Ok(attempt_within(Interrupt::after(SHORT_STEPS), &*compute));
        self.attempts.start(caller, attempt).await
    }
}

/// An interrupt that ends a computation of the calling thread after [`INLINE_TIME`] of its processor time.
///
/// On a machine whose cores are busy the thread waits, and a waiting computation is not long.
fn inline_interrupt() -> Interrupt {
    let (began, began_at) = (Instant::now(), processor_time());
    Interrupt::in_slices(STEPS_A_LOOK, move || {
        // The processor time is never more than the time since the start. Reading it is a system call, unlike the time.
        let is_long = began.elapsed() >= INLINE_TIME && processor_time() - began_at >= INLINE_TIME;
        if is_long { 0 } else { STEPS_A_LOOK }
    })
}

/// The processor time of the calling thread.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Computes until the end, or until the interrupt has no steps left.
fn attempt_within<T>(
    interrupt: Interrupt,
    compute: impl FnOnce(Interrupt) -> Result<T>,
) -> Option<(InterruptOnDrop, Result<T>)> {
    let panicked = |_| {
        Err(Error::Internal {
            detail: "a search ended in a panic".to_owned(),
        })
    };
    let catching = || catch_unwind(AssertUnwindSafe(|| compute(interrupt.clone()))).unwrap_or_else(panicked);
    let result = interrupt.whole(catching)?;
    interrupt.lift();
    Some((InterruptOnDrop(interrupt), result))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts `steps`. The attempt has three.
    fn attempt_of(steps: u64) -> Option<(InterruptOnDrop, Result<u64>)> {
        attempt_within(Interrupt::after(3), |interrupt| {
            interrupt.spend(steps);
            Ok(steps)
        })
    }

    #[test]
    fn an_attempt_that_ran_out_of_steps_has_no_result() {
        assert!(
            attempt_of(3).is_none(),
            "the end of the steps may be the cause of the result"
        );
        let (interrupt, result) = attempt_of(2).expect("it had a step left");
        assert_eq!(result, Ok(2));
        (0..3).for_each(|_| assert!(!interrupt.0.is_set(), "later steps are not counted"));
    }

    #[test]
    fn a_panic_of_an_attempt_is_an_internal_error() {
        let panic = |_| -> Result<()> { panic!("a defect") };
        let (_, result) = attempt_within(Interrupt::after(1), panic).expect("it took no step");
        assert!(matches!(result, Err(Error::Internal { .. })));
    }

    #[tokio::test]
    async fn hostile_11_large_bodies_of_a_caller_delay_no_body_of_a_second_caller() {
        let pools = Pools::start(1).expect("runtimes");
        let [first, second] = ["first", "second"].map(|user| CallerKey::of_user(user, "project"));
        let reading = (0..6).map(|_| {
            let (release, released) = std::sync::mpsc::channel::<()>();
            let job = pools.bodies.start(&first, move || Ok(released.recv().is_ok()));
            (job, release)
        });
        let reading: Vec<_> = reading.collect();
        let read = pools.read(&second, SMALL_BODY_BYTES + 1, || Ok(7));
        assert_eq!(tokio::time::timeout(Duration::from_secs(60), read).await, Ok(Ok(7)));
        drop(reading);
    }

    #[tokio::test]
    async fn a_search_that_takes_long_goes_on_in_a_pool_until_its_future_is_dropped() {
        let pools = Pools::start(1).expect("runtimes");
        let caller = CallerKey::of_address(None);
        let (note, mut notes) = tokio::sync::mpsc::unbounded_channel();
        let search = pools.search(&caller, move |interrupt: &Interrupt| {
            let thread = std::thread::current().id();
            let _ = note.send(("began", thread));
            while !interrupt.is_set() {
                std::thread::yield_now();
            }
            let _ = note.send(("ended", thread));
            Ok(())
        });
        let worker = std::thread::current().id();
        let began_in_pool = async {
            assert_eq!(notes.recv().await, Some(("began", worker)));
            assert_eq!(notes.recv().await, Some(("ended", worker)));
            notes.recv().await
        };
        let other = tokio::select! {
            found = search => panic!("it ends only when it is interrupted: {found:?}"),
            began = began_in_pool => began.expect("it began in the pool").1,
        };
        assert_ne!(other, worker);
        assert_eq!(notes.recv().await, Some(("ended", other)));
    }
}
