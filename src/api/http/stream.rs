//! A connection that answers unparsable requests in the API's error form, and ends if its client is too slow.
//!
//! A request that cannot be parsed as HTTP never reaches dispatch: actix refuses such a request with a status and an
//! empty body. This stream recognises the refusal by its missing request id, and writes an error document instead.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use super::connections::{Connection, OpenConnection};
use super::disconnect::DisconnectWatch;
use super::expectation::{Expectation, Forwarding};
use super::headers::new_request_id;
use super::refusal::HttpRefusal;
use crate::log_context::{self, LogContext};

/// The number of kept bytes of the last read, for explaining a faulty request.
const MAX_KEPT_BYTES: usize = 4096;
/// The maximum length of a refusal by actix.
const MAX_BARE_REFUSAL_BYTES: usize = 256;
/// How long a client may take to send the head of a request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest target of a request that actix can parse.
const MAX_TARGET_BYTES: usize = 65_534;
/// The time between two looks at the socket before a client is too slow.
const RECHECK_INTERVAL: Duration = Duration::from_millis(10);

/// A connection to a client.
pub struct Stream<S> {
    inner: S,
    last_read: Vec<u8>,
    /// The replacement that is being written, and the number of written bytes.
    replacement: Option<(Vec<u8>, usize)>,
    /// Whether the client has closed its side.
    has_closed: watch::Sender<bool>,
    open: OpenConnection,
    head: Option<HeadDeadline>,
    /// Wakes the task no later than at the deadline of a head. Kept for many requests, because most heads are complete
    /// at once.
    timer: Option<Pin<Box<Sleep>>>,
}

/// The time until which the head of a request must have arrived.
struct HeadDeadline {
    at: Instant,
    /// The number of earlier requests.
    begun: u64,
    is_checked_again: bool,
    request_line: RequestLine,
}

/// The first line of a request, as far as the line has arrived.
#[derive(Default)]
struct RequestLine {
    bytes: usize,
    /// The length of the method, known after the first blank.
    method: Option<usize>,
    is_complete: bool,
}

impl RequestLine {
    fn extend(&mut self, read: &[u8]) {
        if self.is_complete {
            return;
        }
        if self.method.is_none() {
            self.method = read.iter().position(|byte| *byte == b' ').map(|at| self.bytes + at);
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        self.bytes += end.unwrap_or(read.len());
        self.is_complete = end.is_some();
    }

    /// Whether the target is too long to be parsed.
    fn is_too_long(&self) -> bool {
        let others = self.method.unwrap_or_default() + "  HTTP/1.1\r".len();
        self.bytes > MAX_TARGET_BYTES + others
    }
}

impl<S> Stream<S> {
    pub fn new(inner: S, open: OpenConnection) -> Stream<S> {
        Stream {
            inner,
            last_read: Vec::new(),
            replacement: None,
            has_closed: watch::channel(false).0,
            head: None,
            timer: None,
            open,
        }
    }

    /// Watches the client at the other end.
    pub fn disconnect_watch(&self) -> DisconnectWatch {
        DisconnectWatch(self.has_closed.subscribe())
    }

    pub fn connection(&self) -> Rc<Connection> {
        Rc::clone(self.open.connection())
    }

    /// `read` has arrived. Unless the bytes belong to a request with a known head, the rest of a head must follow.
    fn expect_head(&mut self, read: &[u8]) {
        let connection = self.open.connection();
        let is_expected = self
            .head
            .as_ref()
            .is_some_and(|head| head.begun == connection.begun.get());
        if connection.awaits_request() && !is_expected && !is_blank(read) {
            connection.has_head.set(true);
            self.head = Some(HeadDeadline {
                at: Instant::now() + HEAD_TIMEOUT,
                begun: connection.begun.get(),
                is_checked_again: false,
                request_line: RequestLine::default(),
            });
        }
        if let Some(head) = self
            .head
            .as_mut()
            .filter(|head| head.begun == self.open.connection().begun.get())
        {
            head.request_line.extend(read);
        }
    }

    /// Whether a head is late. If not, the task is woken at the deadline.
    ///
    /// Called when nothing can be read. actix looks at its own timer first: after a delay of the worker actix would
    /// refuse an arrived request.
    fn is_head_late(&mut self, task: &mut Context<'_>) -> bool {
        let begun = self.open.connection().begun.get();
        let Some(head) = self.head.as_mut().filter(|head| head.begun == begun) else {
            return false;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(head.at)));
        while timer.as_mut().poll(task).is_ready() {
            let now = Instant::now();
            if now >= head.at && head.is_checked_again {
                return true;
            }
            if now >= head.at {
                // The event loop may not have looked at the socket since the process was suspended.
                (head.at, head.is_checked_again) = (now + RECHECK_INTERVAL, true);
            }
            timer.as_mut().reset(head.at);
        }
        false
    }
}

/// Whether these bytes begin no request: some clients end a body with an empty line (RFC 9112, 2.2).
fn is_blank(read: &[u8]) -> bool {
    read.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        if Pin::new(&mut this.inner).poll_read(task, buffer)?.is_pending() {
            let is_late = this.is_head_late(task);
            if is_late && !this.open.connection().write_is_blocked.get() {
                // The rest of an earlier answer would follow the refusal.
                let refusal = error_response(StatusCode::REQUEST_TIMEOUT, &this.last_read);
                let _ = Pin::new(&mut this.inner).poll_write(task, &refusal)?;
            }
            // A client that waits for the 100 before its body sends nothing more.
            let connection = this.open.connection();
            let is_refused = connection.expectation.get() == Expectation::Refused && connection.awaits_request();
            // For actix the client has closed its side.
            return if is_late || is_refused {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            };
        }
        let new = &buffer.filled()[before..];
        if !this.open.connection().awaits_request() {
            this.open.moved(new.len());
        }
        if new.is_empty() && buffer.remaining() > 0 {
            this.has_closed.send_replace(true);
        } else {
            this.expect_head(new);
        }
        this.last_read.clear();
        this.last_read.extend_from_slice(&new[..new.len().min(MAX_KEPT_BYTES)]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let connection = Rc::clone(self.open.connection());
        let bytes = match connection.expectation.get().step(bytes) {
            Forwarding::Write(length) => &bytes[..length],
            Forwarding::Drop(length) => return Poll::Ready(Ok(length)),
            // The task of this write serves the request, so the task writes again after the decision.
            Forwarding::Hold => return Poll::Pending,
        };
        let written = self.write_or_replace(task, bytes);
        self.open.write_is_blocked(written.is_pending());
        if let Poll::Ready(Ok(written)) = written {
            self.open.moved(written);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(task)
    }
}

impl<S: AsyncWrite + Unpin> Stream<S> {
    /// The status of a refusal by actix, which does not distinguish a too long target from a malformed target.
    fn more_precise(&self, status: StatusCode) -> StatusCode {
        let is_too_long = self.head.as_ref().is_some_and(|head| head.request_line.is_too_long());
        match status {
            StatusCode::BAD_REQUEST | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE if is_too_long => {
                StatusCode::URI_TOO_LONG
            }
            other => other,
        }
    }

    /// Writes `bytes`, or a replacement for a refusal by actix.
    fn write_or_replace(&mut self, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.replacement.is_none() {
            match bare_refusal(bytes) {
                Some((0, status)) => {
                    let status = self.more_precise(status);
                    self.replacement = Some((error_response(status, &self.last_read), 0));
                }
                // Answers to earlier requests go first.
                Some((start, _)) => return Pin::new(&mut self.inner).poll_write(task, &bytes[..start]),
                None => {}
            }
        }
        let Some((replacement, written)) = &mut self.replacement else {
            return Pin::new(&mut self.inner).poll_write(task, bytes);
        };
        while *written < replacement.len() {
            match ready!(Pin::new(&mut self.inner).poll_write(task, &replacement[*written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *written += more,
            }
        }
        self.replacement = None;
        Poll::Ready(Ok(bytes.len()))
    }
}

/// Finds a refusal by actix at the end of `bytes`: an error without a body that did not come from dispatch. Returns the
/// start and the status of the refusal.
fn bare_refusal(bytes: &[u8]) -> Option<(usize, StatusCode)> {
    const START: &[u8] = b"HTTP/1.1 4";
    let tail = bytes.len().saturating_sub(MAX_BARE_REFUSAL_BYTES);
    let start = tail + bytes[tail..].windows(START.len()).rposition(|window| window == START)?;
    let head = std::str::from_utf8(bytes[start..].strip_suffix(b"\r\n\r\n")?).ok()?;
    let bare = head.contains("\r\ncontent-length: 0") && !head.contains("x-openstack-request-id");
    let status = StatusCode::from_bytes(head.as_bytes().get(9..12)?).ok()?;
    bare.then_some((start, status))
}

/// The response to an unparsable request. The connection ends after the response.
fn error_response(status: StatusCode, request: &[u8]) -> Vec<u8> {
    let detail = match status {
        StatusCode::REQUEST_TIMEOUT => "Its head did not arrive in time.",
        StatusCode::BAD_REQUEST if has_bad_length(request) => "content-length header must be an integer",
        StatusCode::URI_TOO_LONG => "The URL of a request has at most 65534 bytes. Split the request.",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            "The head of a request has at most 96 headers, and at most 131071 bytes with its first line."
        }
        _ => "The request could not be read as HTTP.",
    };
    let request_id = new_request_id();
    let context = LogContext {
        request_id: request_id.clone(),
        ..LogContext::default()
    };
    log_context::within(Some(Arc::new(context)), || {
        log::info!(target: "placet::access", "unreadable request, status: {}: {detail}", status.as_u16());
    });
    let body = HttpRefusal::new(status, detail).json_for_unparsable(&request_id);
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-openstack-request-id: \
         {request_id}\r\nvary: openstack-api-version\r\nconnection: close\r\n\r\n{body}",
        body.len(),
    )
    .into_bytes()
}

fn has_bad_length(request: &[u8]) -> bool {
    String::from_utf8_lossy(request)
        .lines()
        .take_while(|line| !line.is_empty())
        .any(|line| {
            let length = line
                .split_once(':')
                .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            length
                .is_some_and(|(_, value)| value.trim().is_empty() || !value.trim().bytes().all(|b| b.is_ascii_digit()))
        })
}
