//! Reads request bodies, within a bound of time, a bound for each body, and one for all bodies in memory together.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::body::{BodyStream, MessageBody};
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Payload};
use tokio::time::timeout;

use super::connections::Connection;
use super::disconnect::DisconnectWatch;
use super::refusal::Refusal;
use super::request_head::text;
use crate::error::Error;
use crate::pools::SMALL_BODY_BYTES;

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The memory of all bodies that are being read or parsed.
pub struct BodyMemory {
    used: AtomicUsize,
    limit: usize,
}

impl BodyMemory {
    pub fn new(limit: usize) -> BodyMemory {
        BodyMemory {
            used: AtomicUsize::new(0),
            limit,
        }
    }
}

/// A body, and its part of the memory of all bodies until it is dropped.
struct CountedBody {
    bytes: Vec<u8>,
    memory: Arc<BodyMemory>,
}

impl CountedBody {
    /// Appends `more`. `announced` is the expected length of the whole body.
    fn extend(&mut self, more: &[u8], announced: usize) -> Result<(), Error> {
        let length = self.bytes.len() + more.len();
        let used = self.memory.used.fetch_add(more.len(), Ordering::Relaxed) + more.len();
        if length > SMALL_BODY_BYTES {
            if used > self.memory.limit {
                self.memory.used.fetch_sub(more.len(), Ordering::Relaxed);
                return Err(self.memory_is_full());
            }
            // Pages that are not written yet take no memory, while doubling would copy the body and waste half.
            self.bytes.reserve_exact(announced.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    fn memory_is_full(&self) -> Error {
        Error::Busy {
            detail: format!(
                "The request bodies in memory have together the {} bytes that [placet] max_body_memory allows.",
                self.memory.limit
            ),
        }
    }
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// Reads the whole body, up to `limit` bytes.
pub async fn read(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
    memory: &Arc<BodyMemory>,
) -> Result<Bytes, Refusal> {
    let announced = text(request, "content-length").and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    if let Some(connection) = request.conn_data::<Rc<Connection>>() {
        connection.read_body();
    }
    let read = collect(request, payload, limit, announced.unwrap_or_default(), memory);
    timeout(BODY_TIMEOUT, read).await.unwrap_or_else(|_| {
        let detail = "Its body did not arrive in time.";
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, detail))
    })
}

async fn collect(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
    announced: usize,
    memory: &Arc<BodyMemory>,
) -> Result<Bytes, Refusal> {
    let mut body = CountedBody {
        bytes: Vec::with_capacity(announced.min(SMALL_BODY_BYTES)),
        memory: Arc::clone(memory),
    };
    let end = end_despite_upgrade(request, announced);
    let mut stream = pin!(BodyStream::new(payload));
    while end.is_none_or(|end| body.bytes.len() < end) {
        let Some(part) = poll_fn(|task| stream.as_mut().poll_next(task)).await else {
            break;
        };
        let mut part =
            part.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, unreadable(request, &error)).closing())?;
        if let Some(end) = end {
            part.truncate(end - body.bytes.len());
        }
        if body.bytes.len() + part.len() > limit {
            return Err(too_large(limit));
        }
        body.extend(&part, announced)?;
    }
    if end.is_some_and(|end| body.bytes.len() < end) {
        let detail = unreadable(request, &PayloadError::Incomplete(None));
        return Err(Refusal::new(StatusCode::BAD_REQUEST, detail).closing());
    }
    Ok(Bytes::from_owner(body))
}

/// The length of the body of a request with `Upgrade`. placet ignores that header, but actix takes all that follows a
/// request to WebSocket as its body, until the connection ends; after the answer it closes the connection.
fn end_despite_upgrade(request: &HttpRequest, announced: usize) -> Option<usize> {
    let has = |name| text(request, name).is_some();
    (has("upgrade") && !has("transfer-encoding")).then_some(announced)
}

fn too_large(limit: usize) -> Refusal {
    let detail = format!("Request is too large. Larger than {limit}.");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

/// Says why a body cannot be read.
fn unreadable(request: &HttpRequest, error: &PayloadError) -> String {
    let has_ended = request
        .conn_data::<DisconnectWatch>()
        .is_none_or(DisconnectWatch::has_closed);
    let reason = match error {
        PayloadError::Incomplete(_) if has_ended => "the connection ended before the body did".to_owned(),
        // actix reports a chunk that it cannot decode as if the connection had ended.
        PayloadError::Incomplete(_) | PayloadError::EncodingCorrupted => "a chunk of it has no valid size".to_owned(),
        other => other.to_string(),
    };
    format!("The body could not be read: {reason}.")
}
