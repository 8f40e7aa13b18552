//! The answer: requests that would be granted, and summaries of the providers that they concern.

mod requests;
mod summaries;

use std::sync::Arc;

use crate::error::Result;
use crate::search::{Request, Selection, Snapshot};
use crate::version::Version;
use crate::wire::quoted::Quoted;
use requests::Requests;
use summaries::Summaries;

/// What comes next.
enum Part {
    Start,
    Requests,
    Summaries,
    Nothing,
}

/// An answer, written piece by piece while its candidates are searched for: what was written is forgotten.
pub struct Answer {
    snapshot: Arc<Snapshot>,
    requests: Requests,
    summaries: Summaries,
    found: Selection<Arc<Snapshot>, ()>,
    part: Part,
    /// Whether a part has an item already, from which the next one is set apart.
    begun: bool,
}

impl Answer {
    /// The answer to `request`, of what was `found` for it in `snapshot`.
    pub fn new(
        version: Version,
        snapshot: Arc<Snapshot>,
        request: &Request,
        found: Selection<Arc<Snapshot>, ()>,
    ) -> Answer {
        Answer {
            requests: Requests::of(version),
            summaries: Summaries::of(version, &snapshot, request),
            snapshot,
            found,
            part: Part::Start,
            begun: false,
        }
    }

    /// Writes on until `out` has that `length`, or a little more. False where that was all.
    ///
    /// # Errors
    /// Those of the search. What is written by then is no answer.
    pub fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        let snapshot = &*self.snapshot;
        let names = Quoted::of(snapshot.catalog());
        while out.len() < length {
            match self.part {
                Part::Start => {
                    out.extend_from_slice(br#"{"allocation_requests":["#);
                    self.part = Part::Requests;
                }
                Part::Requests => match self.found.next().transpose()? {
                    Some(candidate) => {
                        set_apart(out, &mut self.begun);
                        self.requests.write(out, snapshot, names, &candidate);
                    }
                    None => {
                        out.extend_from_slice(br#"],"provider_summaries":{"#);
                        (self.part, self.begun) = (Part::Summaries, false);
                    }
                },
                Part::Summaries => match self.found.next_summary() {
                    Some(slot) => {
                        set_apart(out, &mut self.begun);
                        self.summaries.write(out, snapshot, names, slot);
                    }
                    None => {
                        out.extend_from_slice(b"}}");
                        self.part = Part::Nothing;
                    }
                },
                Part::Nothing => return Ok(false),
            }
        }
        Ok(!matches!(self.part, Part::Nothing))
    }

    /// After all was written: were there more candidates than the deployment's ceiling lets through?
    pub fn is_cut(&self) -> bool {
        self.found.is_cut()
    }
}

/// A comma before every item but the first.
fn set_apart(out: &mut Vec<u8>, begun: &mut bool) {
    if std::mem::replace(begun, true) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
