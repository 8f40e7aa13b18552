//! The first chunks of an answer: on the worker of the request, or in a pool.

use std::sync::Arc;

use super::chunks::{ChunkSource, FirstChunks, InlineResult, PartialAnswer};
use crate::caller::CallerKey;
use crate::error::Result;
use crate::interrupt::{Interrupt, InterruptOnDrop};
use crate::pools::{Pool, Pools};

/// The work of making the chunks of an answer that does not end on the worker at once. Each work has a pool.
#[derive(Clone, Copy)]
pub enum ChunkWork {
    /// A list, which soon has something to send.
    Listing,
    /// A search, whose cost has no useful bound.
    Search,
}

impl ChunkWork {
    fn pool(self, pools: &Pools) -> &Pool {
        match self {
            ChunkWork::Listing => &pools.answers,
            ChunkWork::Search => &pools.searches,
        }
    }
}

/// Makes the first chunks of an answer, on the worker of the request or on a further thread.
pub async fn first_chunks(
    pools: &Pools,
    caller: &CallerKey,
    effort: ChunkWork,
    bound: Option<usize>,
    make_source: Arc<impl Fn(Interrupt) -> Result<Box<dyn ChunkSource>> + Send + Sync + 'static>,
) -> Result<(InterruptOnDrop, FirstChunks)> {
    let begin = {
        let make_source = Arc::clone(&make_source);
        move |interrupt| PartialAnswer::new(make_source(interrupt)?).begin(bound)
    };
    let begun = pools.attempt(caller, &Arc::new(begin)).await?;
    let (interrupt, partial) = match begun {
        Some((interrupt, result)) => match result? {
            InlineResult::SearchDone(first) => return Ok((interrupt, first)),
            InlineResult::Unfinished(partial) => (interrupt, Some(partial)),
        },
        None => (InterruptOnDrop(Interrupt::default()), None),
    };
    let search_interrupt = interrupt.0.clone();
    let job = effort.pool(pools).start(caller, move || match partial {
        Some(partial) => partial.finish(bound),
        None => PartialAnswer::new(make_source(search_interrupt)?).finish(bound),
    });
    Ok((interrupt, job.await?))
}
