//! Watches whether the client of a connection has closed its sending side.
//!
//! HTTP lets a client close its sending side and still read the answer (a half-closed connection). A client that has
//! disconnected looks the same until something is written to it. So a closed sending side does not stop an answer that
//! is ready within a grace period, or that is being sent. It cancels only work that has nothing to send after that
//! period.

use std::future::pending;
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;

/// How long work may have nothing to send after the client has closed its side.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

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
        sleep(GRACE_PERIOD).await;
    }
}
