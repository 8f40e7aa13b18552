//! What a run was like: how many were served, how long each took, what was answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::wire::Answer;

#[derive(Default)]
pub struct Tally {
    micros: Vec<f32>,
    bytes: usize,
    /// By status, and where it is a refusal by its code.
    answers: BTreeMap<String, usize>,
    pub connects: usize,
}

impl Tally {
    /// One thing that was done, whole: what throughput and latencies are of.
    pub fn done(&mut self, since: Instant) {
        self.micros.push(since.elapsed().as_secs_f32() * 1e6);
    }

    pub fn answer(&mut self, answer: &Answer) {
        self.bytes += answer.bytes;
        match answer.is_good() {
            true => self.note(&answer.status.to_string()),
            false => self.note(&format!("{} {}", answer.status, code(&answer.body))),
        }
    }

    pub fn note(&mut self, what: &str) {
        match self.answers.get_mut(what) {
            Some(count) => *count += 1,
            None => drop(self.answers.insert(what.to_owned(), 1)),
        }
    }

    pub fn add(&mut self, mut other: Tally) {
        self.micros.append(&mut other.micros);
        self.bytes += other.bytes;
        self.connects += other.connects;
        for (what, count) in other.answers {
            *self.answers.entry(what).or_default() += count;
        }
    }

    pub fn print(mut self, elapsed: Duration) {
        self.micros.sort_unstable_by(f32::total_cmp);
        let last = self.micros.len().saturating_sub(1) as f64;
        let at = |share: f64| self.micros.get((last * share).round() as usize).copied();
        let seconds = elapsed.as_secs_f64();
        let line = json!({
            "done": self.micros.len(),
            "seconds": seconds,
            "rate": self.micros.len() as f64 / seconds,
            "bytes": self.bytes,
            "p50_us": at(0.5),
            "p99_us": at(0.99),
            "max_us": at(1.0),
            "answers": self.answers,
            "connects": self.connects,
        });
        println!("{line}");
    }
}

/// The code of a refusal, or nothing.
fn code(body: &[u8]) -> String {
    let refusal: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    refusal["errors"][0]["code"].as_str().unwrap_or_default().to_owned()
}
