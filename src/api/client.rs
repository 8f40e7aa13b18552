//! Whether the client of a connection is still there.
//!
//! HTTP lets a client end its side of the connection and read on, and a client that left looks the same until something
//! is written to it. So the end alone ends nothing: an answer that is soon there is sent, and one that is written is
//! written until the connection breaks. Only what would compute on and on is given up.

use std::future::pending;
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;

/// How long work goes on without anything to send, once the client ended its side.
const GRACE: Duration = Duration::from_secs(1);

/// A connection's own knowledge of its client.
pub struct Side(Sender<bool>);

impl Side {
    pub fn open() -> Side {
        Side(channel(false).0)
    }

    /// Nothing more will come from the client.
    pub fn end(&self) {
        self.0.send_replace(true);
    }

    pub fn client(&self) -> Client {
        Client(self.0.subscribe())
    }
}

/// The client that waits for an answer.
#[derive(Clone)]
pub struct Client(Receiver<bool>);

impl Client {
    /// Returns when work for the client is to be given up.
    pub async fn left(mut self) {
        if self.0.wait_for(|ended| *ended).await.is_err() {
            // The connection is gone, and with it whoever waits here.
            pending::<()>().await;
        }
        sleep(GRACE).await;
    }
}
