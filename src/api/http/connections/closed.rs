//! Counts and reports closed connections, where there were too many connections.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::statistics::Counter;

/// The time between two lines of the log.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The cause of the wait of a closed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitCause {
    /// A request, or the rest of its head.
    Request,
    /// The rest of a body, the check of a token, or an answer without an accepted token.
    Answer,
    /// Its client, which did not read.
    Client,
}

impl WaitCause {
    pub const ALL: [(WaitCause, &'static str); 3] = [
        (WaitCause::Request, "request"),
        (WaitCause::Answer, "answer"),
        (WaitCause::Client, "client"),
    ];

    fn sentence(self) -> &'static str {
        match self {
            WaitCause::Request => "waited for a request",
            WaitCause::Answer => "had an unfinished request",
            WaitCause::Client => "had an answer that its client did not read",
        }
    }
}

/// The connections closed since the start of the process.
#[derive(Debug, Default)]
pub struct ClosedConnections {
    counters: [Counter; WaitCause::ALL.len()],
    report: Mutex<LogThrottle>,
}

#[derive(Debug, Default)]
struct LogThrottle {
    last: Option<Instant>,
    /// Closed since the last line.
    unreported: u64,
}

impl LogThrottle {
    /// The number of closed connections since the last line, with this connection, if a line is due.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.unreported += 1;
        let is_due = self.last.is_none_or(|last| now.duration_since(last) >= LOG_INTERVAL);
        is_due.then(|| {
            self.last = Some(now);
            std::mem::take(&mut self.unreported)
        })
    }
}

impl ClosedConnections {
    /// The connections with this cause.
    pub fn count(&self, wait: WaitCause) -> u64 {
        self.counters[wait as usize].value()
    }

    /// Counts a connection, and writes a line after a minute without a line.
    pub(super) fn record(&self, client: IpAddr, wait: WaitCause) {
        self.counters[wait as usize].increment();
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = report.count(Instant::now()) {
            log::warn!(
                "Too many connections are open, of all clients or of one address, so {number} were closed. The last \
                 was that of {client}, which {}. If the clients are honest, raise [placet] max_connections: one \
                 address, such as a proxy, has at most half. Else find out which client holds the connections",
                wait.sentence()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_listed_at_its_place() {
        for (place, (wait, _)) in WaitCause::ALL.into_iter().enumerate() {
            assert_eq!(wait as usize, place);
        }
    }

    #[test]
    fn a_line_a_minute_has_the_number_of_connections() {
        let (mut report, began) = (LogThrottle::default(), Instant::now());
        let lines = [0, 1, 59, 60, 61, 121].map(|second| report.count(began + Duration::from_secs(second)));
        assert_eq!(lines, [Some(1), None, None, Some(3), None, Some(2)]);
    }
}
