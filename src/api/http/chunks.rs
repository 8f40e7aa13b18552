//! The chunks of an answer: they are made part by part, and their memory is used again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::web::Bytes;

use crate::error::Result;
use crate::mutants::{self, Mutant};

/// The length at which a chunk ends; it may be a little longer. Two of them fit into the buffer of an actix connection.
pub const CHUNK_BYTES: usize = 60 * 1024;
/// An answer of at most this length is sent whole, with its length.
pub const WHOLE_ANSWER_BYTES: usize = 64 * 1024;
/// The length that is written inline before the rest goes to another thread.
const INLINE_BYTES: usize = 4 * 1024;
/// Reserved beyond `CHUNK_BYTES`, because the last item of a chunk usually exceeds it.
const CHUNK_MARGIN_BYTES: usize = 3 * 1024;

/// Makes an answer, part by part.
pub trait ChunkSource: Send {
    /// Appends to `out` until it has `length` bytes or the answer ends. Returns false at the end of the answer.
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool>;

    /// Whether the search is done. Writing the rest is then fast, and cannot fail.
    fn is_search_done(&self) -> bool;

    /// The length of the rest in bytes, if it is known.
    fn remaining_bytes(&self) -> Option<usize>;
}

/// The first chunks of an answer, and the source of the rest if there is more.
pub struct FirstChunks {
    pub chunks: VecDeque<Vec<u8>>,
    pub rest: Option<Box<dyn ChunkSource>>,
    /// The length of the whole answer in bytes, if it is known.
    pub length: Option<usize>,
}

/// An answer whose first chunks are being made.
pub struct PartialAnswer {
    source: Box<dyn ChunkSource>,
    chunks: VecDeque<Vec<u8>>,
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

    /// Makes the first bytes; on the worker that read the request there is no time for more.
    pub fn begin(mut self, bound: Option<usize>) -> Result<InlineResult> {
        self.write(INLINE_BYTES)?;
        Ok(if self.is_search_done() {
            InlineResult::SearchDone(self.finish(bound)?)
        } else {
            InlineResult::Unfinished(self)
        })
    }

    /// Makes the first chunks, until the search is done or `bound` bytes are written. An error until then is still a
    /// refusal, because no byte has been sent.
    pub fn finish(mut self, bound: Option<usize>) -> Result<FirstChunks> {
        let mut written = 0;
        self.write(WHOLE_ANSWER_BYTES)?;
        loop {
            written += self.last.len();
            self.chunks.push_back(std::mem::take(&mut self.last));
            if self.is_search_done() || written >= bound.unwrap_or_default() {
                break;
            }
            self.last.reserve(CHUNK_BYTES + CHUNK_MARGIN_BYTES);
            self.write(CHUNK_BYTES)?;
        }
        let remaining = if self.more {
            bound.and_then(|_| self.source.remaining_bytes())
        } else {
            Some(0)
        };
        Ok(FirstChunks {
            chunks: self.chunks,
            length: remaining.map(|remaining| written + remaining),
            rest: self.more.then_some(self.source),
        })
    }
}

/// The result of work that ran on the worker that read the request.
pub enum InlineResult {
    /// The search is done.
    SearchDone(FirstChunks),
    /// The search goes on. The rest belongs on another thread.
    Unfinished(PartialAnswer),
}

/// A chunk, and the source of the next one if there is more.
pub struct Chunk {
    pub bytes: Vec<u8>,
    pub rest: Option<Box<dyn ChunkSource>>,
    /// How long it took to make.
    pub time: Duration,
}

/// Makes the next chunk in the memory of `bytes`.
pub fn next_chunk(mut source: Box<dyn ChunkSource>, mut bytes: Vec<u8>) -> Result<Chunk> {
    mutants::panic_as(Mutant::PanicInChunk);
    let started = Instant::now();
    bytes.clear();
    bytes.reserve(CHUNK_BYTES + CHUNK_MARGIN_BYTES);
    let more = source.write(&mut bytes, CHUNK_BYTES)?;
    Ok(Chunk {
        bytes,
        rest: more.then_some(source),
        time: started.elapsed(),
    })
}

/// Memory for one chunk, reused: a chunk that was sent gives its memory back here.
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
