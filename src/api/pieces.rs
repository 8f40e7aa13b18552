//! An answer that is sent while it is made, piece by piece.
//!
//! A piece is one piece of work for a thread of its own. The next one is begun when the one before it was asked for, so
//! a client that reads slowly, or not at all, holds two pieces and no thread. An answer that fits into the first piece
//! is sent with its length, as any other.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::{ConnectionType, Version};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::client::Client;
use crate::error::{Error, Result};
use crate::search::Interrupt;

/// How long a piece is, or a little longer.
pub const PIECE: usize = 64 * 1024;

/// What makes an answer: writes on until there is as much as wanted. False where that was all.
pub type Source = Box<dyn FnMut(&mut Vec<u8>, usize) -> Result<bool> + Send>;

/// One piece, and what makes the next one, if there is more.
pub struct Piece {
    pub bytes: Vec<u8>,
    pub rest: Option<Source>,
}

/// Writes a piece.
pub fn cut(mut source: Source, length: usize) -> Result<Piece> {
    let mut bytes = Vec::new();
    let more = source(&mut bytes, length)?;
    Ok(Piece {
        bytes,
        rest: more.then_some(source),
    })
}

/// What came of work on another thread.
pub fn outcome<T>(done: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    done.unwrap_or_else(|error| {
        Err(Error::Internal {
            detail: format!("a search ended in a panic: {error}"),
        })
    })
}

/// Interrupts a search when it is dropped: whoever waits for the answer keeps it.
pub struct Waiting(pub Interrupt);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// What the log says of an answer that is broken off.
pub struct About {
    /// What is asked for.
    pub what: String,
    /// What to do, as one more sentence with a blank before it; or nothing.
    pub advice: &'static str,
}

/// The body of a response, of which the first piece is there.
pub struct Pieces {
    about: About,
    client: Option<Client>,
    first: Option<Bytes>,
    next: Next,
    sent: usize,
    _waiting: Waiting,
}

/// The piece after those that were handed out.
enum Next {
    /// Nobody asked for the one before it yet.
    Later(Source),
    /// Being made, and what ends that early.
    Made(
        JoinHandle<Result<Piece>>,
        Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ),
    /// There is none.
    Nothing,
}

impl Pieces {
    pub fn new(about: About, client: Option<Client>, waiting: Waiting, first: Vec<u8>, rest: Source) -> Pieces {
        Pieces {
            about,
            client,
            first: Some(first.into()),
            next: Next::Later(rest),
            sent: 0,
            _waiting: waiting,
        }
    }

    fn begin(&mut self, source: Source) {
        self.next = Next::Made(spawn_blocking(move || cut(source, PIECE)), None);
    }

    fn made(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Piece>>> {
        let Next::Made(job, left) = &mut self.next else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(done) = Pin::new(job).poll(task) {
            return Poll::Ready(Some(outcome(done)));
        }
        if left.is_none() {
            *left = self.client.clone().map(|client| Box::pin(client.left()) as _);
        }
        match left.as_mut().map(|left| left.as_mut().poll(task)) {
            Some(Poll::Ready(())) => Poll::Ready(Some(Err(client_left()))),
            _ => Poll::Pending,
        }
    }
}

/// HTTP/1.0 knows no chunks: there the end of the connection is the end of a body whose length nobody knew.
pub fn dress(request: &HttpRequest, response: &mut HttpResponse) {
    if request.version() < Version::HTTP_11 && response.body().size() == BodySize::Stream {
        response.head_mut().no_chunking(true);
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
}

/// Of a client that nobody will tell.
pub fn client_left() -> Error {
    Error::BadRequest {
        detail: "The client ended its side of the connection before there was an answer.".into(),
    }
}

impl MessageBody for Pieces {
    type Error = Error;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let bytes = match self.first.take() {
            Some(first) => {
                if let Next::Later(source) = std::mem::replace(&mut self.next, Next::Nothing) {
                    self.begin(source);
                }
                first
            }
            None => match std::task::ready!(self.made(task)) {
                Some(Ok(piece)) => {
                    self.next = Next::Nothing;
                    if let Some(rest) = piece.rest {
                        self.begin(rest);
                    }
                    piece.bytes.into()
                }
                Some(Err(error)) => {
                    self.tell(&error);
                    self.next = Next::Nothing;
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            },
        };
        self.sent += bytes.len();
        Poll::Ready(Some(Ok(bytes)))
    }
}

impl Pieces {
    /// No client takes what was sent for the whole: the connection ends without the end of the answer.
    fn tell(&self, why: &dyn fmt::Display) {
        log::warn!(
            "The answer to {:?} was broken off after {} bytes: {why}{}",
            self.about.what,
            self.sent,
            self.about.advice,
        );
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if !matches!(self.next, Next::Nothing) {
            self.tell(&"Its client left, or the service stops.");
        }
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces")
            .field("what", &self.about.what)
            .finish_non_exhaustive()
    }
}
