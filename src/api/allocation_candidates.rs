//! `/allocation_candidates`

use std::sync::Arc;

use super::call::Call;
use super::pieces::{About, Source};
use super::reply::Reply;
use crate::error::Result;
use crate::model::Shown;
use crate::search;
use crate::wire::allocation_candidates as wire;

/// Where the request or the deployment has a limit, all candidates are found before the first byte goes, up to this length:
/// those are many thousands of which schedulers ask. So whatever goes wrong with them is a refusal, and not a broken
/// connection. Bytes bound the memory, where a number of candidates does not: one of many groups is some kilobytes, and a
/// limit may be any number.
const WHOLE: usize = 4 * 1024 * 1024;

/// To look at a block of 64 roots is a round, to look at a tree some rounds, and so is a choice within one. Together so many
/// take as long as to wake another thread, or some times that.
const ROUNDS: u64 = 2048;

pub async fn list(call: Call) -> Result<Reply> {
    let request = wire::read_list(call.version, &call.query)?;
    let settings = call.settings().search();
    let Shown { snapshot, stale } = call.model().shown(&request, call.settings().stale_reads).await?;
    let (version, query) = (call.version, call.query.clone());
    let bounded = request.limit.is_some() || settings.max.is_some();
    let make = move |interrupt| {
        let settings = search::Settings {
            interrupt,
            ..settings.clone()
        };
        let found = search::candidates(Arc::clone(&snapshot), &request, &settings, ())?.select();
        let source: Box<dyn Source> = Box::new(Found {
            answer: wire::Answer::new(version, Arc::clone(&snapshot), &request, found),
            query: query.clone(),
            ceiling: settings.ceiling,
        });
        Ok(source)
    };
    let about = About {
        what: format!("/allocation_candidates?{}", call.query),
        advice: " Ask with a limit, so that it is found before it is sent.",
    };
    let reply = call.stream(about, ROUNDS, bounded.then_some(WHOLE), make).await?;
    Ok(reply.modified(None).stale(stale))
}

/// An answer, and what the log says of it.
struct Found {
    answer: wire::Answer,
    query: String,
    ceiling: usize,
}

impl Source for Found {
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        let more = self.answer.write(out, length)?;
        if !more && self.answer.is_cut() {
            log::warn!(
                "More than {} candidates for {:?}: the answer ends there; ask with a limit, or raise [placet] \
                 max_candidates",
                self.ceiling,
                self.query
            );
        }
        Ok(more)
    }

    fn is_found(&self) -> bool {
        self.answer.is_found()
    }

    fn left(&self) -> Option<usize> {
        self.answer.left()
    }
}
