//! The answer: allocation requests and summaries of their providers. A claim of any of the requests would be granted.
//! The answer is written in chunks while the search is running.

mod requests;
mod scores;
mod summaries;

use std::sync::Arc;
use std::vec::IntoIter;

use crate::error::Result;
use crate::search::{BlockSlots, Candidate, Interrupt, Ranked, Request, Scored, Selection, Snapshot, check_interrupt};
use crate::version::Version;
use crate::wire::output::{Out, append};
use crate::wire::quoted::QuotedNames;
use requests::Requests;
use summaries::Summaries;

/// The part of the answer to write next.
enum AnswerSection {
    Requests(Box<Selection<Arc<Snapshot>>>),
    /// The candidates, found and ranked before the answer begins, and the providers of their summaries.
    Scored(IntoIter<Scored>, Vec<BlockSlots>),
    /// The texts of summaries are cached and measured, so writing the summaries takes no longer than copying. The
    /// remaining blocks, and all blocks.
    Texts(IntoIter<BlockSlots>, Vec<BlockSlots>),
    /// The current block of providers, and the blocks after the current block.
    Summaries(BlockSlots, IntoIter<BlockSlots>),
    Done,
}

/// An answer in chunks, written while the search for its candidates is running. Written candidates are not kept.
pub struct CandidatesAnswer {
    snapshot: Arc<Snapshot>,
    requests: Requests,
    summaries: Summaries,
    phase: AnswerSection,
    /// The text before the next item.
    lead: &'static [u8],
    cut: bool,
    /// The number of written candidates.
    found: u64,
    /// Of ranked candidates: [`Ranked::is_exact`].
    exact: Option<bool>,
    has_summaries: bool,
    /// The bytes of the summaries that are not yet written, each with a comma. `None`: the summaries are not measured.
    unwritten: Option<usize>,
    /// Whether a summary is too long for an HTTP worker.
    is_long: bool,
    interrupt: Interrupt,
}

const LEAD: &[u8] = br#"{"allocation_requests":["#;

impl CandidatesAnswer {
    /// The answer to `request`, with the candidates `found` in `snapshot`.
    pub fn new(
        version: Version,
        snapshot: Arc<Snapshot>,
        request: &Request,
        found: Selection<Arc<Snapshot>>,
    ) -> CandidatesAnswer {
        CandidatesAnswer::begin(version, snapshot, request, AnswerSection::Requests(Box::new(found)))
    }

    /// The answer to `request` with ranked candidates, each with a score.
    pub fn ranked(version: Version, snapshot: Arc<Snapshot>, request: &Request, ranked: Ranked) -> CandidatesAnswer {
        let shown = ranked.summaries(&snapshot, request);
        let phase = AnswerSection::Scored(ranked.best.into_iter(), shown);
        CandidatesAnswer {
            exact: Some(ranked.is_exact),
            ..CandidatesAnswer::begin(version, snapshot, request, phase)
        }
    }

    fn begin(version: Version, snapshot: Arc<Snapshot>, request: &Request, phase: AnswerSection) -> CandidatesAnswer {
        CandidatesAnswer {
            requests: Requests::of(version),
            summaries: Summaries::of(version, &snapshot, request),
            snapshot,
            phase,
            lead: LEAD,
            cut: false,
            found: 0,
            exact: None,
            has_summaries: true,
            unwritten: None,
            is_long: false,
            interrupt: Interrupt::default(),
        }
    }

    /// The same answer, with the interrupt of the search. Caches the names of classes and traits.
    ///
    /// # Errors
    /// If the search must end.
    pub fn interrupted_by(self, interrupt: Interrupt) -> Result<CandidatesAnswer> {
        QuotedNames::cache(self.snapshot.catalog(), &interrupt)?;
        Ok(CandidatesAnswer { interrupt, ..self })
    }

    /// The same answer, with these parts: `provider_summaries`, and the names of providers in the summaries.
    pub fn with_parts(mut self, has_summaries: bool, has_names: bool) -> CandidatesAnswer {
        self.has_summaries = has_summaries;
        self.summaries.names = has_names;
        self
    }

    /// The same answer, whose length is known before the first summary is written.
    ///
    /// Measuring 1,000 summaries takes 60 µs.
    pub fn measured(self) -> CandidatesAnswer {
        CandidatesAnswer {
            unwritten: Some(0),
            ..self
        }
    }

    /// The number of candidates written until now.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// Writes the next items until `out` has at least `length` bytes. Returns false at the end of the answer.
    ///
    /// # Errors
    /// An error of the search. The bytes written so far are not a valid answer.
    pub fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        while out.len() < length {
            match &mut self.phase {
                AnswerSection::Requests(found) => match found.next().transpose()? {
                    Some(candidate) => self.write_request(out, &candidate),
                    None => self.end_requests(out),
                },
                AnswerSection::Scored(best, _) => match best.next() {
                    Some(scored) => {
                        self.write_request(out, &scored.candidate);
                        scores::add(out, &self.snapshot, &scored);
                    }
                    None => self.end_requests(out),
                },
                AnswerSection::Texts(remaining, all) => match remaining.next() {
                    Some(block) => {
                        check_interrupt(&self.interrupt)?;
                        let measured = self.unwritten.as_mut();
                        self.is_long |= self.summaries.cache(&self.snapshot, block, &self.interrupt, measured)?;
                    }
                    None => {
                        let all = std::mem::take(all);
                        self.phase = AnswerSection::Summaries(BlockSlots::default(), all.into_iter());
                    }
                },
                AnswerSection::Summaries(block, remaining) => {
                    if block.first().is_some() {
                        let begin = out.len() + self.lead.len();
                        self.summaries.write(out, &self.snapshot, block, self.lead, length);
                        self.lead = b",";
                        let written = out.len() + self.lead.len() - begin;
                        self.unwritten = self.unwritten.map(|unwritten| unwritten - written);
                    } else if let Some(next) = remaining.next() {
                        *block = next;
                    } else {
                        out.put(END);
                        self.phase = AnswerSection::Done;
                    }
                }
                AnswerSection::Done => return Ok(false),
            }
        }
        Ok(!matches!(self.phase, AnswerSection::Done))
    }

    fn write_request(&mut self, out: &mut Vec<u8>, candidate: &Candidate) {
        out.put(self.lead);
        self.requests.write(out, &self.snapshot, candidate);
        self.found += 1;
        self.lead = b",";
    }

    /// Ends the list of candidates, and begins the summaries of their providers.
    fn end_requests(&mut self, out: &mut Vec<u8>) {
        // An empty list also needs the opening text.
        out.put(if self.lead == LEAD { LEAD } else { b"" });
        out.put(b"]");
        if let Some(exact) = self.exact {
            append(out, r#","exact":"#, &exact);
        }
        let shown = match std::mem::replace(&mut self.phase, AnswerSection::Done) {
            AnswerSection::Requests(found) => {
                self.cut = found.is_cut();
                found.into_summaries()
            }
            AnswerSection::Scored(_, shown) => shown,
            AnswerSection::Texts(..) | AnswerSection::Summaries(..) | AnswerSection::Done => Vec::new(),
        };
        if self.has_summaries {
            out.put(br#","provider_summaries":{"#);
            self.lead = b"";
            self.phase = AnswerSection::Texts(shown.clone().into_iter(), shown);
        } else {
            out.put(b"}");
        }
    }

    /// The number of bytes still to be written; `None` while the search is running, or for an answer that is not
    /// measured.
    pub fn remaining_bytes(&self) -> Option<usize> {
        match &self.phase {
            AnswerSection::Requests(_) | AnswerSection::Scored(..) | AnswerSection::Texts(..) => None,
            AnswerSection::Summaries(..) => {
                let unwritten = self.unwritten?;
                // The first summary follows no comma.
                let without_comma = usize::from(self.lead.is_empty() && unwritten > 0);
                Some(unwritten - without_comma + END.len())
            }
            AnswerSection::Done => Some(0),
        }
    }

    /// Whether the search is done and an HTTP worker may write the rest: texts are cached, and writing cannot fail.
    pub fn is_search_done(&self) -> bool {
        match self.phase {
            AnswerSection::Requests(_) | AnswerSection::Scored(..) | AnswerSection::Texts(..) => false,
            AnswerSection::Summaries(..) => !self.is_long,
            AnswerSection::Done => true,
        }
    }

    /// After the search: whether `[placet] max_candidates` cut off the candidates.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

/// The end of the answer.
const END: &[u8] = b"}}";

#[cfg(test)]
mod tests;
