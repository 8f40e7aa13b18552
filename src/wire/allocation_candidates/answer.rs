//! The answer: requests that would be granted, and summaries of the providers that they concern.

mod requests;
mod summaries;

use std::sync::Arc;
use std::vec::IntoIter;

use crate::error::Result;
use crate::search::{Bunch, Request, Selection, Snapshot};
use crate::version::Version;
use crate::wire::output::{Length, Out};
use requests::Requests;
use summaries::Summaries;

/// What comes next.
enum Part {
    Requests(Box<Selection<Arc<Snapshot>, ()>>),
    /// Those that were begun, and those that come after them.
    Summaries(Bunch, IntoIter<Bunch>),
    Nothing,
}

/// An answer, written piece by piece while its candidates are searched for: what was written is forgotten.
pub struct Answer {
    snapshot: Arc<Snapshot>,
    requests: Requests,
    summaries: Summaries,
    part: Part,
    /// What stands before the next item of the part.
    lead: &'static [u8],
    cut: bool,
}

const LEAD: &[u8] = br#"{"allocation_requests":["#;

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
            part: Part::Requests(Box::new(found)),
            lead: LEAD,
            cut: false,
        }
    }

    /// Writes on until `out` has that `length`, or a little more. False where that was all.
    ///
    /// # Errors
    /// Those of the search. What is written by then is no answer.
    pub fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        while out.len() < length {
            match &mut self.part {
                Part::Requests(found) => match found.next().transpose()? {
                    Some(candidate) => {
                        out.put(self.lead);
                        self.requests.write(out, &self.snapshot, &candidate);
                        self.lead = b",";
                    }
                    None => self.turn(out),
                },
                Part::Summaries(bunch, left) => {
                    if bunch.first().is_some() {
                        self.summaries.write(out, &self.snapshot, bunch, self.lead, length);
                        self.lead = b",";
                    } else if let Some(next) = left.next() {
                        *bunch = next;
                    } else {
                        out.put(END);
                        self.part = Part::Nothing;
                    }
                }
                Part::Nothing => return Ok(false),
            }
        }
        Ok(!matches!(self.part, Part::Nothing))
    }

    /// From the candidates to the providers that they concern.
    fn turn(&mut self, out: &mut Vec<u8>) {
        if let Part::Requests(found) = std::mem::replace(&mut self.part, Part::Nothing) {
            // A list of nothing has its beginning too.
            out.put(if self.lead == LEAD { LEAD } else { b"" });
            out.put(br#"],"provider_summaries":{"#);
            self.lead = b"";
            self.cut = found.is_cut();
            self.part = Part::Summaries(Bunch::default(), found.into_summaries().into_iter());
        }
    }

    /// How much there is still to be written, once all candidates were found: from then on nothing is searched for, and
    /// nothing can go wrong.
    pub fn left(&self) -> Option<usize> {
        let mut length = Length::default();
        match &self.part {
            Part::Requests(_) => return None,
            Part::Summaries(bunch, left) => {
                let mut lead = self.lead;
                let bunches = std::iter::once(bunch).chain(left.as_slice()).copied();
                for mut bunch in bunches.filter(|bunch| bunch.first().is_some()) {
                    self.summaries
                        .write(&mut length, &self.snapshot, &mut bunch, lead, usize::MAX);
                    lead = b",";
                }
                length.put(END);
            }
            Part::Nothing => {}
        }
        Some(length.0)
    }

    /// Were all candidates found?
    pub fn is_found(&self) -> bool {
        !matches!(self.part, Part::Requests(_))
    }

    /// After that: were there more candidates than the deployment's ceiling lets through?
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

/// What ends the answer.
const END: &[u8] = b"}}";

/// A comma before every item but the first.
fn set_apart(out: &mut Vec<u8>, begun: &mut bool) {
    if std::mem::replace(begun, true) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
