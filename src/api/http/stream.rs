//! A connection that answers unparsable requests in the API's error form.
//!
//! A request that cannot be parsed as HTTP never reaches dispatch: actix refuses it with a status and an empty body. This
//! stream recognises such a refusal when it is written (it alone has no request id), and replaces it by an error document.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use uuid::Uuid;

use super::disconnect::{DisconnectSignal, DisconnectWatch};
use super::refusal::Refusal;

/// The number of bytes of the last read that are kept, to explain what is wrong with the request.
const MAX_KEPT_BYTES: usize = 4096;
/// The maximum length of a refusal by actix.
const MAX_BARE_REFUSAL_BYTES: usize = 256;

/// A connection to a client.
pub struct Stream<S> {
    inner: S,
    last_read: Vec<u8>,
    /// The replacement that is being written, and how many bytes of it are written.
    replacement: Option<(Vec<u8>, usize)>,
    disconnect: DisconnectSignal,
}

impl<S> Stream<S> {
    pub fn new(inner: S) -> Stream<S> {
        Stream {
            inner,
            last_read: Vec::new(),
            replacement: None,
            disconnect: DisconnectSignal::open(),
        }
    }

    /// Watches the client at the other end.
    pub fn disconnect_watch(&self) -> DisconnectWatch {
        self.disconnect.watch()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(task, buffer))?;
        let new = &buffer.filled()[before..];
        if new.is_empty() && buffer.remaining() > 0 {
            self.disconnect.set();
        }
        self.last_read.clear();
        self.last_read.extend_from_slice(&new[..new.len().min(MAX_KEPT_BYTES)]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.replacement.is_none() {
            match bare_refusal(bytes) {
                Some((0, status)) => this.replacement = Some((error_response(status, &this.last_read), 0)),
                // Answers to earlier requests go first.
                Some((start, _)) => return Pin::new(&mut this.inner).poll_write(task, &bytes[..start]),
                None => {}
            }
        }
        let Some((replacement, written)) = &mut this.replacement else {
            return Pin::new(&mut this.inner).poll_write(task, bytes);
        };
        while *written < replacement.len() {
            match ready!(Pin::new(&mut this.inner).poll_write(task, &replacement[*written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *written += more,
            }
        }
        this.replacement = None;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(task)
    }
}

/// Finds a refusal by actix at the end of `bytes`: an error without a body that did not come from dispatch. Returns its
/// start and its status.
fn bare_refusal(bytes: &[u8]) -> Option<(usize, StatusCode)> {
    const START: &[u8] = b"HTTP/1.1 4";
    let tail = bytes.len().saturating_sub(MAX_BARE_REFUSAL_BYTES);
    let start = tail + bytes[tail..].windows(START.len()).rposition(|window| window == START)?;
    let head = std::str::from_utf8(bytes[start..].strip_suffix(b"\r\n\r\n")?).ok()?;
    let bare = head.contains("\r\ncontent-length: 0") && !head.contains("x-openstack-request-id");
    let status = StatusCode::from_bytes(head.as_bytes().get(9..12)?).ok()?;
    bare.then_some((start, status))
}

/// The response to an unparsable request. The connection ends with it.
fn error_response(status: StatusCode, request: &[u8]) -> Vec<u8> {
    let detail = match status {
        StatusCode::REQUEST_TIMEOUT => "Its head did not arrive in time.",
        StatusCode::BAD_REQUEST if has_bad_length(request) => "content-length header must be an integer",
        _ => "The request could not be read as HTTP.",
    };
    let request_id = format!("req-{}", Uuid::new_v4());
    log::info!(target: "placet::access", "{request_id} unreadable request, status: {}: {detail}", status.as_u16());
    let body = Refusal::new(status, detail).json_for_unparsable(&request_id);
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
