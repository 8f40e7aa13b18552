//! An answer that is sent while it is made, piece by piece.
//!
//! A short search is done where it was asked for. Beyond that, while there is something to be searched for, a piece is one
//! piece of work for a thread of its own. The next one is begun when the one before it was asked for, so a client that reads
//! slowly, or not at all, holds two pieces and no thread. Once everything is found a piece is written when the connection has
//! room for it. An answer that is short, or found before it is sent, is sent with its length.

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

use super::client::Client;
use crate::error::{Error, Result};
use crate::search::Interrupt;

/// How long a piece is, or a little longer. Two of them fit into what actix keeps of a connection's buffer.
pub const PIECE: usize = 60 * 1024;
/// Up to this length an answer is sent as a whole, with its length.
pub const SHORT: usize = 64 * 1024;
/// What is found within so many bytes was found in no time.
const BRIEF: usize = 4 * 1024;
/// By how much pieces are longer, as a rule.
const MORE: usize = 3 * 1024;

/// What makes an answer.
pub trait Source: Send {
    /// Writes on until there is as much as wanted. False where that was all.
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool>;

    /// Is there nothing left to search for, so that the rest is written in no time, and without an error?
    fn is_found(&self) -> bool;

    /// How long the rest is, where that is known and worth to be told.
    fn left(&self) -> Option<usize>;
}

/// The beginning of an answer, and what makes the rest, if there is more.
pub struct Beginning {
    pub pieces: VecDeque<Vec<u8>>,
    pub rest: Option<Box<dyn Source>>,
    /// Of all of it.
    pub length: Option<usize>,
}

/// An answer whose beginning is being found.
pub struct Begun {
    source: Box<dyn Source>,
    pieces: VecDeque<Vec<u8>>,
    /// The piece that is being written.
    last: Vec<u8>,
    /// Whether there is more than was written.
    more: bool,
}

impl Begun {
    pub fn new(source: Box<dyn Source>) -> Begun {
        Begun {
            source,
            pieces: VecDeque::new(),
            last: Vec::new(),
            more: true,
        }
    }

    /// Writes the piece on until it is so long.
    fn write(&mut self, length: usize) -> Result<()> {
        if self.more {
            self.more = self.source.write(&mut self.last, length)?;
        }
        Ok(())
    }

    fn is_found(&self) -> bool {
        !self.more || self.source.is_found()
    }

    /// Writes until everything is found, or as long as the beginning may be. Answers that are bounded are found before they
    /// are sent: `bound` is how far that goes.
    pub fn finish(mut self, bound: Option<usize>) -> Result<Beginning> {
        let mut written = 0;
        self.write(SHORT)?;
        loop {
            written += self.last.len();
            self.pieces.push_back(std::mem::take(&mut self.last));
            if self.is_found() || written >= bound.unwrap_or_default() {
                break;
            }
            self.last.reserve(PIECE + MORE);
            self.write(PIECE)?;
        }
        let left = match self.more {
            true => bound.and_then(|_| self.source.left()),
            false => Some(0),
        };
        Ok(Beginning {
            pieces: self.pieces,
            length: left.map(|left| written + left),
            rest: self.more.then_some(self.source),
        })
    }
}

/// What came of a beginning that was made where it was asked for.
pub enum Brief {
    /// All was found.
    Found(Beginning),
    /// There is more to search for than is done in no time.
    Begun(Begun),
}

/// A piece, and what makes the next one, if there is more.
type Piece = (Vec<u8>, Option<Box<dyn Source>>);

fn cut(mut source: Box<dyn Source>, mut bytes: Vec<u8>) -> Result<Piece> {
    bytes.clear();
    bytes.reserve(PIECE + MORE);
    let more = source.write(&mut bytes, PIECE)?;
    Ok((bytes, more.then_some(source)))
}

/// Where a piece comes back to when it was sent, so that the next one needs no memory of its own.
#[derive(Clone, Default)]
struct Spare(Arc<Mutex<Vec<u8>>>);

impl Spare {
    fn take(&self) -> Vec<u8> {
        self.0
            .lock()
            .map(|mut spare| std::mem::take(&mut *spare))
            .unwrap_or_default()
    }

    fn lend(&self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent(bytes, self.clone()))
    }
}

struct Lent(Vec<u8>, Spare);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.1.0.lock() {
            *spare = std::mem::take(&mut self.0);
        }
    }
}

/// What came of work on another thread.
pub fn outcome<T>(done: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    done.unwrap_or_else(|error| Err(panicked(&error.to_string())))
}

fn panicked(how: &str) -> Error {
    Error::Internal {
        detail: format!("a search ended in a panic: {how}"),
    }
}

/// The beginning of an answer, made where it was asked for; or `None` where that is not to be tried, or took so many rounds of
/// searching that it is better begun anew on another thread. `make` begins it.
pub fn briefly(
    make: impl FnOnce(Interrupt) -> Result<Box<dyn Source>>,
    rounds: u64,
    bound: Option<usize>,
) -> Option<(Interrupt, Result<Brief>)> {
    if rounds == 0 {
        return None;
    }
    let interrupt = Interrupt::after(rounds);
    let first = || {
        let mut begun = Begun::new(make(interrupt.clone())?);
        begun.write(BRIEF)?;
        Ok(match begun.is_found() {
            true => Brief::Found(begun.finish(bound)?),
            false => Brief::Begun(begun),
        })
    };
    let brief =
        std::panic::catch_unwind(AssertUnwindSafe(first)).unwrap_or_else(|_| Err(panicked("where it was asked for")));
    if interrupt.ran_out() {
        return None;
    }
    interrupt.lift();
    Some((interrupt, brief))
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

/// The body of a response, of which the beginning is there.
pub struct Pieces {
    about: About,
    client: Option<Client>,
    ready: VecDeque<Vec<u8>>,
    length: Option<usize>,
    next: Next,
    spare: Spare,
    sent: usize,
    _waiting: Waiting,
}

/// The piece after those that are ready.
enum Next {
    /// Nobody asked for the one before it yet, or it is made when it is asked for.
    Later(Box<dyn Source>),
    /// Being made, and what ends that early.
    Made(
        JoinHandle<Result<Piece>>,
        Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ),
    /// There is none.
    Nothing,
}

impl Pieces {
    pub fn new(about: About, client: Option<Client>, waiting: Waiting, beginning: Beginning) -> Pieces {
        Pieces {
            about,
            client,
            ready: beginning.pieces,
            length: beginning.length,
            next: beginning.rest.map_or(Next::Nothing, Next::Later),
            spare: Spare::default(),
            sent: 0,
            _waiting: waiting,
        }
    }

    /// A search goes on while the piece before is sent. What is found already is written faster than a thread is woken.
    fn go_on(&mut self) {
        self.next = match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Later(source) if !source.is_found() => {
                let spare = self.spare.take();
                Next::Made(spawn_blocking(move || cut(source, spare)), None)
            }
            other => other,
        };
    }

    fn made(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Piece>>> {
        self.go_on();
        self.next = match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Later(source) => return Poll::Ready(Some(cut(source, self.spare.take()))),
            other => other,
        };
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
        self.length
            .map_or(BodySize::Stream, |length| BodySize::Sized(length as u64))
    }

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let bytes = match self.ready.pop_front() {
            Some(ready) => ready,
            None => match std::task::ready!(self.made(task)) {
                Some(Ok((bytes, rest))) => {
                    self.next = rest.map_or(Next::Nothing, Next::Later);
                    bytes
                }
                Some(Err(error)) => {
                    self.tell(&error);
                    self.next = Next::Nothing;
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            },
        };
        self.go_on();
        self.sent += bytes.len();
        Poll::Ready(Some(Ok(self.spare.lend(bytes))))
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
        if !matches!(self.next, Next::Nothing) || !self.ready.is_empty() {
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
