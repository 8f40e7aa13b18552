//! Watches whether a connection's client has closed the sending side.
//!
//! HTTP lets a client close its sending side and still read the answer (a half-closed connection). A disconnected
//! client looks the same until the server writes. So a closed sending side does not stop an answer that is ready within
//! a grace period, or that is being sent. Only work with nothing to send after the grace period is cancelled.
//!
//! Naively, the grace period is a time. With a long time the search of a departed client occupies a processor. A short
//! time takes the answer from a half-closed client of a busy machine: the search hardly gets a processor. So the grace
//! period is processor time of the process. The search gets a share of this time.

use std::future::pending;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch::Receiver;
use tokio::time::sleep;

/// How much processor time the process may use, and the least duration of work with nothing to send, after the client
/// has closed its side.
const GRACE_PERIOD: Duration = Duration::from_millis(50);
/// The longest duration of such work, for example work that waits for a database.
const LONGEST_GRACE_PERIOD: Duration = Duration::from_secs(1);
/// The interval at which the processor time is read.
const READ_INTERVAL: Duration = Duration::from_millis(10);

/// Watches the client for a request. The connection sends true when the client has closed its side.
#[derive(Clone)]
pub struct DisconnectWatch(pub Receiver<bool>);

impl DisconnectWatch {
    /// Whether the client has closed its side.
    pub fn has_closed(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes one grace period after the client has closed its side: the client's work should be cancelled.
    pub async fn disconnected(mut self) {
        if self.0.wait_for(|ended| *ended).await.is_err() {
            // The connection was dropped, and this waiting task is dropped too.
            pending::<()>().await;
        }
        let (closed, time_at_close) = (Instant::now(), process_time());
        sleep(GRACE_PERIOD).await;
        while process_time() - time_at_close < GRACE_PERIOD && closed.elapsed() < LONGEST_GRACE_PERIOD {
            sleep(READ_INTERVAL).await;
        }
    }
}

/// The processor time of the process so far.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
