//! A streaming body: an answer is sent in chunks while the rest is still being made.
//!
//! A short search runs on the worker of the request (`src/pools.rs`). A longer search makes each chunk as a job of a
//! thread pool, while the chunk before is sent. So a client that reads slowly, or not at all, holds two chunks and no
//! thread. After the search, the worker itself writes each chunk when the connection has room. An answer has a
//! `Content-Length` if the answer is short, or its search is done before the first byte is sent.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::{ConnectionType, Version, header};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};

use super::access::shortened;
use super::chunks::{Chunk, ChunkBuffer, ChunkSource, FirstChunks, next_chunk};
use super::disconnect::DisconnectWatch;
use crate::caller::CallerKey;
use crate::error::{Error, Result};
use crate::interrupt::InterruptOnDrop;
use crate::log_context;
use crate::pools::{PoolJob, Pools};

/// The threads that make the chunks of an answer.
pub struct ChunkThreads {
    pub pools: Arc<Pools>,
    /// The caller whose share of the threads the answer uses.
    pub caller: CallerKey,
}

/// The context of the log line about a broken answer.
pub struct BrokenAnswerContext {
    /// The request.
    pub what: String,
    /// The advice, as a sentence with a space before it; or empty.
    pub advice: &'static str,
}

/// The body of a response whose first chunks are ready.
pub struct StreamingBody {
    /// The request, for log lines during the sending of the answer.
    request: Option<Arc<log_context::LogContext>>,
    log_context: BrokenAnswerContext,
    client: Option<DisconnectWatch>,
    ready: VecDeque<Vec<u8>>,
    length: Option<usize>,
    next: NextChunk,
    threads: ChunkThreads,
    spare: ChunkBuffer,
    sent: usize,
    _interrupt: InterruptOnDrop,
}

/// The chunk after the ready ones.
enum NextChunk {
    /// The job has not started. After the search there is no job: the poll writes the chunk.
    Idle(Box<dyn ChunkSource>),
    /// A thread pool makes the chunk; the future, if any, completes when the client has disconnected.
    InProgress(PoolJob<Chunk>, Option<Pin<Box<dyn Future<Output = ()> + Send>>>),
    /// The answer has no more chunks.
    End,
}

impl StreamingBody {
    pub fn new(
        log_context: BrokenAnswerContext,
        client: Option<DisconnectWatch>,
        threads: ChunkThreads,
        interrupt: InterruptOnDrop,
        first: FirstChunks,
    ) -> StreamingBody {
        StreamingBody {
            request: log_context::current(),
            log_context,
            client,
            ready: first.chunks,
            length: first.length,
            next: first.rest.map_or(NextChunk::End, NextChunk::Idle),
            threads,
            spare: ChunkBuffer::default(),
            sent: 0,
            _interrupt: interrupt,
        }
    }

    /// Starts the job of the next chunk, so that the search goes on while this chunk is sent. After the search there is
    /// no job, because writing takes less time than waking a thread.
    fn start_next(&mut self) {
        self.next = match std::mem::replace(&mut self.next, NextChunk::End) {
            NextChunk::Idle(source) if !source.is_search_done() => {
                let spare = self.spare.take();
                let job = self
                    .threads
                    .pools
                    .answers
                    .start(&self.threads.caller, move || next_chunk(source, spare));
                NextChunk::InProgress(job, None)
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
        let NextChunk::InProgress(job, disconnected) = &mut self.next else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(chunk) = Pin::new(job).poll(task) {
            return Poll::Ready(Some(chunk));
        }
        if disconnected.is_none() {
            *disconnected = self.client.clone().map(|client| Box::pin(client.disconnected()) as _);
        }
        match disconnected
            .as_mut()
            .map(|disconnected| disconnected.as_mut().poll(task))
        {
            Some(Poll::Ready(())) => Poll::Ready(Some(Err(client_disconnected()))),
            _ => Poll::Pending,
        }
    }

    fn poll_bytes(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let bytes = match self.ready.pop_front() {
            Some(ready) => ready,
            None => match std::task::ready!(self.poll_chunk(task)) {
                Some(Ok(chunk)) => {
                    self.next = chunk.rest.map_or(NextChunk::End, NextChunk::Idle);
                    chunk.bytes
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

    /// Logs an incomplete answer. The connection ends before the body does, so the client notices.
    fn log_broken_off(&self, reason: &dyn fmt::Display) {
        log_context::within(self.request.clone(), || {
            log::warn!(
                "The answer to {:?} was broken off after {} bytes: {reason}{}",
                shortened(&self.log_context.what),
                self.sent,
                self.log_context.advice,
            );
        });
    }
}

/// HTTP/1.0 has no chunked encoding: the end of the connection ends a body of unknown length. `Upgrade` is ignored, but
/// after a request with `Upgrade: websocket` actix reads no further request.
pub fn set_framing(request: &HttpRequest, response: &mut HttpResponse) {
    let protocol = request.headers().get(header::UPGRADE);
    let is_websocket =
        protocol.is_some_and(|protocol| protocol.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket"));
    if is_websocket || request.head().connection_type() == ConnectionType::Close {
        response.head_mut().set_connection_type(ConnectionType::Close);
    } else if protocol.is_some() {
        response.head_mut().set_connection_type(ConnectionType::KeepAlive);
    }
    if request.version() < Version::HTTP_11 && response.body().size() == BodySize::Stream {
        response.head_mut().no_chunking(true);
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
}

/// The error of a request whose client has disconnected. The error is logged and reaches no client.
pub fn client_disconnected() -> Error {
    Error::BadRequest {
        detail: "The client closed its side of the connection before there was an answer.".into(),
    }
}

impl MessageBody for StreamingBody {
    type Error = Error;

    fn size(&self) -> BodySize {
        self.length
            .map_or(BodySize::Stream, |length| BodySize::Sized(length as u64))
    }

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        log_context::within(self.request.clone(), || self.poll_bytes(task))
    }
}

impl Drop for StreamingBody {
    fn drop(&mut self) {
        if !matches!(self.next, NextChunk::End) || !self.ready.is_empty() {
            self.log_broken_off(&"The client disconnected, or the service stops.");
        }
    }
}
