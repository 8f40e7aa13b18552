//! A streaming body: an answer is sent in chunks while it is still being made.
//!
//! Starting a thread takes longer than most searches. So a short search runs on the worker that read the request
//! (`try_inline`). A longer one makes each chunk as one job on a blocking thread, while the chunk before it is sent: a
//! client that reads slowly, or not at all, holds two chunks and no thread. When everything is found, a chunk is written
//! only when the connection has room for it, by the worker itself. An answer that is short, or that is found before it is
//! sent, has a `Content-Length`.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::{ConnectionType, Version};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::disconnect::DisconnectWatch;
use crate::error::{Error, Result};
use crate::search::Interrupt;

/// The length of a chunk, which may be a little longer. Two of them fit into the buffer that actix keeps of a connection.
pub const CHUNK_BYTES: usize = 60 * 1024;
/// An answer of at most this length is sent whole, with its length.
pub const WHOLE_ANSWER_BYTES: usize = 64 * 1024;
/// What is written inline before the rest goes to a blocking thread.
const INLINE_BYTES: usize = 4 * 1024;
/// How much longer than `CHUNK_BYTES` chunks are as a rule: memory is reserved for it.
const CHUNK_MARGIN_BYTES: usize = 3 * 1024;

/// Makes an answer, part by part.
pub trait ChunkSource: Send {
    /// Appends to `out` until it has `length` bytes or the answer ends. Returns false at the end of the answer.
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool>;

    /// Whether nothing is left to search for. The rest is then written quickly, and cannot fail.
    fn is_found(&self) -> bool;

    /// The length of the rest in bytes, if it is known.
    fn remaining_bytes(&self) -> Option<usize>;
}

/// The first chunks of an answer, and the source of the rest if there is more.
pub struct FirstChunks {
    pub chunks: VecDeque<Vec<u8>>,
    pub rest: Option<Box<dyn ChunkSource>>,
    /// Of the whole answer in bytes, if it is known.
    pub length: Option<usize>,
}

/// An answer whose first chunks are being made.
pub struct Started {
    source: Box<dyn ChunkSource>,
    chunks: VecDeque<Vec<u8>>,
    /// The chunk that is being written.
    last: Vec<u8>,
    /// Whether the source has more than was written.
    more: bool,
}

impl Started {
    pub fn new(source: Box<dyn ChunkSource>) -> Started {
        Started {
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

    fn is_found(&self) -> bool {
        !self.more || self.source.is_found()
    }

    /// Makes the first chunks: until everything is found, or `bound` bytes are written. So an answer with a bound is found
    /// before its first byte is sent, and an error is still a refusal.
    pub fn finish(mut self, bound: Option<usize>) -> Result<FirstChunks> {
        let mut written = 0;
        self.write(WHOLE_ANSWER_BYTES)?;
        loop {
            written += self.last.len();
            self.chunks.push_back(std::mem::take(&mut self.last));
            if self.is_found() || written >= bound.unwrap_or_default() {
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
    /// Everything was found.
    Found(FirstChunks),
    /// More is to be searched for; the rest belongs on a blocking thread.
    Started(Started),
}

/// A chunk, and the source of the next one if there is more.
type Chunk = (Vec<u8>, Option<Box<dyn ChunkSource>>);

fn next_chunk(mut source: Box<dyn ChunkSource>, mut bytes: Vec<u8>) -> Result<Chunk> {
    bytes.clear();
    bytes.reserve(CHUNK_BYTES + CHUNK_MARGIN_BYTES);
    let more = source.write(&mut bytes, CHUNK_BYTES)?;
    Ok((bytes, more.then_some(source)))
}

/// Memory for one chunk, reused: a chunk that was sent gives its memory back here.
#[derive(Clone, Default)]
struct ChunkBuffer(Arc<Mutex<Vec<u8>>>);

impl ChunkBuffer {
    fn take(&self) -> Vec<u8> {
        self.0
            .lock()
            .map(|mut spare| std::mem::take(&mut *spare))
            .unwrap_or_default()
    }

    fn lend(&self, bytes: Vec<u8>) -> Bytes {
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

/// The result of a job on a blocking thread; a panic there is an internal error.
pub fn outcome<T>(done: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    done.unwrap_or_else(|error| Err(panicked(&error.to_string())))
}

fn panicked(how: &str) -> Error {
    Error::Internal {
        detail: format!("a search ended in a panic: {how}"),
    }
}

/// Makes the first bytes of an answer on the worker that read the request. `make` starts it.
///
/// `None` if `rounds` is 0, or if the search needed more than that many rounds: it should then start again on a blocking
/// thread, or it would delay the other requests of this worker.
pub fn try_inline(
    make: impl FnOnce(Interrupt) -> Result<Box<dyn ChunkSource>>,
    rounds: u64,
    bound: Option<usize>,
) -> Option<(Interrupt, Result<InlineResult>)> {
    if rounds == 0 {
        return None;
    }
    let interrupt = Interrupt::after(rounds);
    let first = || {
        let mut started = Started::new(make(interrupt.clone())?);
        started.write(INLINE_BYTES)?;
        Ok(if started.is_found() {
            InlineResult::Found(started.finish(bound)?)
        } else {
            InlineResult::Started(started)
        })
    };
    let result = std::panic::catch_unwind(AssertUnwindSafe(first)).unwrap_or_else(|_| Err(panicked("on its worker")));
    if interrupt.ran_out() {
        return None;
    }
    interrupt.lift();
    Some((interrupt, result))
}

/// Interrupts a search when it is dropped, with the response that waits for it.
pub struct InterruptOnDrop(pub Interrupt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// What the log line says about an answer that was broken off.
pub struct LogContext {
    /// The request.
    pub what: String,
    /// What to do, as one more sentence with a space before it; or empty.
    pub advice: &'static str,
}

/// The body of a response whose first chunks are ready.
pub struct StreamingBody {
    log_context: LogContext,
    client: Option<DisconnectWatch>,
    ready: VecDeque<Vec<u8>>,
    length: Option<usize>,
    next: NextChunk,
    spare: ChunkBuffer,
    sent: usize,
    _interrupt: InterruptOnDrop,
}

/// The chunk after the ready ones.
enum NextChunk {
    /// Its job has not started. If everything is found there is none: the chunk is written when it is wanted.
    Idle(Box<dyn ChunkSource>),
    /// A blocking thread makes it; the future, if any, completes when the client is gone.
    InProgress(
        JoinHandle<Result<Chunk>>,
        Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ),
    /// The answer has no more chunks.
    End,
}

impl StreamingBody {
    pub fn new(
        log_context: LogContext,
        client: Option<DisconnectWatch>,
        interrupt: InterruptOnDrop,
        first: FirstChunks,
    ) -> StreamingBody {
        StreamingBody {
            log_context,
            client,
            ready: first.chunks,
            length: first.length,
            next: first.rest.map_or(NextChunk::End, NextChunk::Idle),
            spare: ChunkBuffer::default(),
            sent: 0,
            _interrupt: interrupt,
        }
    }

    /// Starts the job of the next chunk, so that the search goes on while this one is sent. If everything is found there
    /// is no job: writing takes less time than waking a thread.
    fn start_next(&mut self) {
        self.next = match std::mem::replace(&mut self.next, NextChunk::End) {
            NextChunk::Idle(source) if !source.is_found() => {
                let spare = self.spare.take();
                NextChunk::InProgress(spawn_blocking(move || next_chunk(source, spare)), None)
            }
            other => other,
        };
    }

    fn poll_chunk(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Chunk>>> {
        self.start_next();
        self.next = match std::mem::replace(&mut self.next, NextChunk::End) {
            NextChunk::Idle(source) => return Poll::Ready(Some(next_chunk(source, self.spare.take()))),
            other => other,
        };
        let NextChunk::InProgress(job, gone) = &mut self.next else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(done) = Pin::new(job).poll(task) {
            return Poll::Ready(Some(outcome(done)));
        }
        if gone.is_none() {
            *gone = self.client.clone().map(|client| Box::pin(client.gone()) as _);
        }
        match gone.as_mut().map(|gone| gone.as_mut().poll(task)) {
            Some(Poll::Ready(())) => Poll::Ready(Some(Err(client_left()))),
            _ => Poll::Pending,
        }
    }
}

/// HTTP/1.0 has no chunked encoding: the end of the connection ends a body of unknown length.
pub fn set_framing(request: &HttpRequest, response: &mut HttpResponse) {
    if request.version() < Version::HTTP_11 && response.body().size() == BodySize::Stream {
        response.head_mut().no_chunking(true);
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
}

/// The error of a request whose client is gone. It is logged and reaches no client.
pub fn client_left() -> Error {
    Error::BadRequest {
        detail: "The client ended its side of the connection before there was an answer.".into(),
    }
}

impl MessageBody for StreamingBody {
    type Error = Error;

    fn size(&self) -> BodySize {
        self.length
            .map_or(BodySize::Stream, |length| BodySize::Sized(length as u64))
    }

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let bytes = match self.ready.pop_front() {
            Some(ready) => ready,
            None => match std::task::ready!(self.poll_chunk(task)) {
                Some(Ok((bytes, rest))) => {
                    self.next = rest.map_or(NextChunk::End, NextChunk::Idle);
                    bytes
                }
                Some(Err(error)) => {
                    self.log_broken_off(&error);
                    self.next = NextChunk::End;
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            },
        };
        self.start_next();
        self.sent += bytes.len();
        Poll::Ready(Some(Ok(self.spare.lend(bytes))))
    }
}

impl StreamingBody {
    /// The connection ends without the end of the body, so no client takes the part for the whole.
    fn log_broken_off(&self, why: &dyn fmt::Display) {
        log::warn!(
            "The answer to {:?} was broken off after {} bytes: {why}{}",
            self.log_context.what,
            self.sent,
            self.log_context.advice,
        );
    }
}

impl Drop for StreamingBody {
    fn drop(&mut self) {
        if !matches!(self.next, NextChunk::End) || !self.ready.is_empty() {
            self.log_broken_off(&"Its client is gone, or the service stops.");
        }
    }
}

impl fmt::Debug for StreamingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamingBody")
            .field("what", &self.log_context.what)
            .finish_non_exhaustive()
    }
}
