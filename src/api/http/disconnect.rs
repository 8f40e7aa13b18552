//! Watches whether the client of a connection has closed its sending side.
//!
//! HTTP lets a client close its sending side and still read the answer (a half-closed connection). A client that has
//! disconnected looks the same until something is written to it. So a closed sending side does not stop an answer that
//! is ready within a grace period, or that is being sent. It cancels only work that has nothing to send after that
//! period.
//!
//! Naively, the grace period is a time. A long one lets the search of a departed client occupy a processor for as long.
//! A short one takes the answer from a half-closed client of a busy machine: the search hardly gets a processor.
//! So the grace period is processor time of the process. The search gets a share of this time.

use std::future::pending;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;

/// How much processor time the process may use, and how long work may take at least, while the work has nothing to
/// send after its client has closed its side.
const GRACE_PERIOD: Duration = Duration::from_millis(50);
/// How long such work may take at most, as work that waits for a database.
const LONGEST_GRACE_PERIOD: Duration = Duration::from_secs(1);
/// The interval at which the processor time is read.
const READ_INTERVAL: Duration = Duration::from_millis(10);

/// The sender of the watch, for the connection.
pub struct DisconnectSignal(Sender<bool>);

impl DisconnectSignal {
    pub fn open() -> DisconnectSignal {
        DisconnectSignal(channel(false).0)
    }

    /// Reports that the client has closed its side.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    pub fn watch(&self) -> DisconnectWatch {
        DisconnectWatch(self.0.subscribe())
    }
}

/// The receiver of the watch, for a request.
#[derive(Clone)]
pub struct DisconnectWatch(Receiver<bool>);

impl DisconnectWatch {
    /// Whether the client has closed its side.
    pub fn has_closed(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes one grace period after the client has closed its side: work for it should then be cancelled.
    pub async fn disconnected(mut self) {
        if self.0.wait_for(|ended| *ended).await.is_err() {
            // The connection was dropped, and the task that waits here is dropped with it.
            pending::<()>().await;
        }
        let (closed, time_at_close) = (Instant::now(), process_time());
        sleep(GRACE_PERIOD).await;
        while process_time() - time_at_close < GRACE_PERIOD && closed.elapsed() < LONGEST_GRACE_PERIOD {
            sleep(READ_INTERVAL).await;
        }
    }
}

/// The processor time that the process has used.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
