//! The statistics of a run: latencies of completed operations, and counts of outcomes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::Response;

#[derive(Default)]
pub struct Statistics {
    /// One for each completed operation.
    latencies_us: Vec<f32>,
    /// Of all response bodies.
    bytes: usize,
    /// By HTTP status, with the error code if there is one, or by the text of another failure.
    outcomes: BTreeMap<String, usize>,
    /// TCP connections that were opened.
    pub connects: usize,
}

impl Statistics {
    /// Counts an operation that completed now. The rate and the latencies are of these.
    pub fn record_completed(&mut self, start: Instant) {
        self.latencies_us.push(start.elapsed().as_secs_f32() * 1e6);
    }

    pub fn record_response(&mut self, response: &Response) {
        self.bytes += response.bytes;
        if response.is_success() {
            self.count_outcome(&response.status.to_string());
        } else {
            self.count_outcome(&format!("{} {}", response.status, error_code(&response.body)));
        }
    }

    pub fn count_outcome(&mut self, outcome: &str) {
        match self.outcomes.get_mut(outcome) {
            Some(count) => *count += 1,
            None => drop(self.outcomes.insert(outcome.to_owned(), 1)),
        }
    }

    pub fn merge(&mut self, mut other: Statistics) {
        self.latencies_us.append(&mut other.latencies_us);
        self.bytes += other.bytes;
        self.connects += other.connects;
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
    }

    /// Prints the statistics of a run that took `elapsed` as one line of JSON.
    pub fn print_json(mut self, elapsed: Duration) {
        self.latencies_us.sort_unstable_by(f32::total_cmp);
        let last = self.latencies_us.len().saturating_sub(1) as f64;
        let percentile = |share: f64| self.latencies_us.get((last * share).round() as usize).copied();
        let seconds = elapsed.as_secs_f64();
        let line = json!({
            "completed": self.latencies_us.len(),
            "seconds": seconds,
            "rate": self.latencies_us.len() as f64 / seconds,
            "bytes": self.bytes,
            "p50_us": percentile(0.5),
            "p99_us": percentile(0.99),
            "max_us": percentile(1.0),
            "outcomes": self.outcomes,
            "connects": self.connects,
        });
        println!("{line}");
    }
}

/// The code in the body of an error response, or an empty text.
fn error_code(body: &[u8]) -> String {
    let error: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    error["errors"][0]["code"].as_str().unwrap_or_default().to_owned()
}
