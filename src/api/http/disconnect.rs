//! Watches whether the client of a connection has ended its side of it.
//!
//! HTTP lets a client close its sending side and still read the answer (a half-closed connection). A client that is gone
//! looks the same until something is written to it. So a closed sending side alone cancels nothing: an answer that is
//! nearly ready is sent, and one that is being sent is sent until the connection breaks. Only work that computes without
//! anything to send is cancelled, after a grace period.

use std::future::pending;
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;

/// How long work goes on without anything to send after the client has closed its side.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// The connection's end of the watch: reports that the client has closed its side.
pub struct DisconnectSignal(Sender<bool>);

impl DisconnectSignal {
    pub fn open() -> DisconnectSignal {
        DisconnectSignal(channel(false).0)
    }

    /// The client will send nothing more.
    pub fn end(&self) {
        self.0.send_replace(true);
    }

    pub fn watch(&self) -> DisconnectWatch {
        DisconnectWatch(self.0.subscribe())
    }
}

/// The request's end of the watch.
#[derive(Clone)]
pub struct DisconnectWatch(Receiver<bool>);

impl DisconnectWatch {
    /// Returns when work for the client should be cancelled: after the grace period.
    pub async fn gone(mut self) {
        if self.0.wait_for(|ended| *ended).await.is_err() {
            // The connection was dropped, and the task that waits here is dropped with it.
            pending::<()>().await;
        }
        sleep(GRACE_PERIOD).await;
    }
}
