//! The chunks of an answer: made part by part, in reused memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_web::web::Bytes;

use crate::error::Result;
use crate::mutants::{self, Mutant};

/// The length at which a chunk ends, or a little later. Two chunks fit into the buffer of an actix connection.
pub const CHUNK_BYTES: usize = 60 * 1024;
/// An answer of at most this length is sent whole, with its length.
pub const WHOLE_ANSWER_BYTES: usize = 64 * 1024;
/// The length of the inline part. A further thread writes the rest.
const INLINE_BYTES: usize = 4 * 1024;
/// The same for a search with a limit: more than 1,000 candidates, found and written in half a millisecond. A thread on
/// a second core would take longer, because the data is in the caches of the first core.
const LIMITED_INLINE_BYTES: usize = 256 * 1024;
/// Reserved beyond `CHUNK_BYTES`, because the last item of a chunk usually exceeds the length.
const CHUNK_MARGIN_BYTES: usize = 3 * 1024;

/// Makes an answer, part by part.
pub trait ChunkSource: Send {
    /// Appends to `out` until `out` has `length` bytes or the answer ends. Returns false at the end of the answer.
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool>;

    /// Whether the search is done. The rest is quickly written, and cannot fail.
    fn is_search_done(&self) -> bool;

    /// The length of the rest in bytes, if known.
    fn remaining_bytes(&self) -> Option<usize>;
}

/// The first chunks of an answer, and the source of the rest, if any.
pub struct FirstChunks {
    pub chunks: VecDeque<Vec<u8>>,
    pub rest: Option<Box<dyn ChunkSource>>,
    /// The length of the whole answer in bytes, if known.
    pub length: Option<usize>,
}

/// An answer whose first chunks are being made.
pub struct PartialAnswer {
    source: Box<dyn ChunkSource>,
    chunks: VecDeque<Vec<u8>>,
    /// The length of `chunks` together.
    written: usize,
    /// The chunk that is being written.
    last: Vec<u8>,
    /// Whether the source has more.
    more: bool,
}

impl PartialAnswer {
    pub fn new(source: Box<dyn ChunkSource>) -> PartialAnswer {
        PartialAnswer {
            source,
            chunks: VecDeque::new(),
            written: 0,
            last: Vec::new(),
            more: true,
        }
    }

    /// Continues the last chunk until it has `length` bytes.
    fn write(&mut self, length: usize) -> Result<()> {
        if self.more {
            self.more = self.source.write(&mut self.last, length)?;
        }
        Ok(())
    }

    fn is_search_done(&self) -> bool {
        !self.more || self.source.is_search_done()
    }

    /// Makes the first bytes. The worker of the request has no time for more.
    pub fn begin(mut self, bound: Option<usize>) -> Result<InlineResult> {
        match bound {
            Some(bound) => self.fill(bound.min(LIMITED_INLINE_BYTES))?,
            None => self.write(INLINE_BYTES)?,
        }
        Ok(if self.is_search_done() {
            InlineResult::SearchDone(self.finish(bound)?)
        } else {
            InlineResult::Unfinished(self)
        })
    }

    /// Makes the first chunk, and further chunks until the search is done or `bytes` are written.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        while self.chunks.is_empty() || !self.is_search_done() && self.written < bytes {
            if self.chunks.is_empty() {
                self.write(WHOLE_ANSWER_BYTES)?;
            } else {
                self.last.reserve(CHUNK_BYTES + CHUNK_MARGIN_BYTES);
                self.write(CHUNK_BYTES)?;
            }
            self.written += self.last.len();
            self.chunks.push_back(std::mem::take(&mut self.last));
        }
        Ok(())
    }

    /// Makes the first chunks, until the search is done or `bound` bytes are written. An early error is still a
    /// refusal, because no byte has been sent.
    pub fn finish(mut self, bound: Option<usize>) -> Result<FirstChunks> {
        self.fill(bound.unwrap_or_default())?;
        let remaining = if self.more {
            bound.and_then(|_| self.source.remaining_bytes())
        } else {
            Some(0)
        };
        Ok(FirstChunks {
            chunks: self.chunks,
            length: remaining.map(|remaining| self.written + remaining),
            rest: self.more.then_some(self.source),
        })
    }
}

/// The result of the work on the worker of the request.
pub enum InlineResult {
    /// The search is done.
    SearchDone(FirstChunks),
    /// The search goes on. The rest belongs on a further thread.
    Unfinished(PartialAnswer),
}

/// A chunk, and the source of the next chunk, if any.
pub struct Chunk {
    pub bytes: Vec<u8>,
    pub rest: Option<Box<dyn ChunkSource>>,
}

/// Makes the next chunk in the memory of `bytes`.
pub fn next_chunk(mut source: Box<dyn ChunkSource>, mut bytes: Vec<u8>) -> Result<Chunk> {
    mutants::panic_as(Mutant::PanicInChunk);
    bytes.clear();
    bytes.reserve(CHUNK_BYTES + CHUNK_MARGIN_BYTES);
    let more = source.write(&mut bytes, CHUNK_BYTES)?;
    Ok(Chunk {
        bytes,
        rest: more.then_some(source),
    })
}

/// Memory for one chunk, reused: a sent chunk gives its memory back.
#[derive(Clone, Default)]
pub struct ChunkBuffer(Arc<Mutex<Vec<u8>>>);

impl ChunkBuffer {
    pub fn take(&self) -> Vec<u8> {
        self.0
            .lock()
            .map(|mut spare| std::mem::take(&mut *spare))
            .unwrap_or_default()
    }

    /// A chunk to send.
    pub fn lend(&self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(PooledChunk(bytes, self.clone()))
    }
}

struct PooledChunk(Vec<u8>, ChunkBuffer);

impl AsRef<[u8]> for PooledChunk {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for PooledChunk {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.1.0.lock() {
            *spare = std::mem::take(&mut self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of `left` bytes. The search ends with the first `searched` bytes.
    struct Bytes {
        left: usize,
        searched: usize,
    }

    impl ChunkSource for Bytes {
        fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
            let more = length.saturating_sub(out.len()).min(self.left);
            out.resize(out.len() + more, b'.');
            self.left -= more;
            self.searched = self.searched.saturating_sub(more);
            Ok(self.left > 0)
        }

        fn is_search_done(&self) -> bool {
            self.searched == 0
        }

        fn remaining_bytes(&self) -> Option<usize> {
            Some(self.left)
        }
    }

    /// The number of inline bytes of an answer that goes to a further thread; `None` for an answer that stays.
    fn written_inline(bytes: usize, searched: usize, bound: Option<usize>) -> Option<usize> {
        let source = Bytes { left: bytes, searched };
        match PartialAnswer::new(Box::new(source)).begin(bound).expect("no error") {
            InlineResult::SearchDone(first) => {
                assert_eq!(first.length, (bound.is_some() || first.rest.is_none()).then_some(bytes));
                None
            }
            InlineResult::Unfinished(partial) => Some(partial.written + partial.last.len()),
        }
    }

    #[test]
    fn a_search_with_a_limit_leaves_its_worker_only_if_its_answer_is_long() {
        let bound = Some(4 * 1024 * 1024);
        assert_eq!(written_inline(300_000, 200_000, bound), None);
        assert_eq!(written_inline(200_000, 200_000, bound), None);
        let inline = written_inline(600_000, 600_000, bound).expect("an unfinished answer");
        assert!(
            (LIMITED_INLINE_BYTES..LIMITED_INLINE_BYTES + CHUNK_BYTES).contains(&inline),
            "{inline}"
        );
        assert_eq!(written_inline(600_000, 600_000, Some(10_000)), Some(WHOLE_ANSWER_BYTES));
        assert_eq!(written_inline(600_000, 200_000, None), Some(INLINE_BYTES));
        assert_eq!(written_inline(100_000, 1000, None), None);
    }

    #[test]
    fn an_answer_has_the_same_chunks_wherever_it_is_made() {
        for bytes in [1000, 70_000, 200_000, 600_000] {
            let source = || {
                Box::new(Bytes {
                    left: bytes,
                    searched: bytes,
                })
            };
            let lengths = |first: FirstChunks| first.chunks.iter().map(Vec::len).collect::<Vec<_>>();
            let bound = Some(500_000);
            let begun = match PartialAnswer::new(source()).begin(bound).expect("no error") {
                InlineResult::SearchDone(first) => first,
                InlineResult::Unfinished(partial) => partial.finish(bound).expect("no error"),
            };
            let at_once = PartialAnswer::new(source()).finish(bound).expect("no error");
            assert_eq!(lengths(begun), lengths(at_once), "{bytes}");
        }
    }
}
