//! Reads request bodies, within a bound of time, a bound for each body, and a bound for all bodies in memory together.

use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::body::{BodyStream, MessageBody};
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use tokio::time::timeout;

use super::connections::Connection;
use super::disconnect::DisconnectWatch;
use super::headers::text;
use super::refusal::HttpRefusal;
use crate::error::Error;
use crate::pools::{LargeValue, SMALL_BODY_BYTES};

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The memory of the bodies of all unanswered requests.
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

/// The body of a request; empty if the route takes no body.
#[derive(Default)]
pub struct RequestBody {
    /// Taken and freed by the reader of the body.
    bytes: Vec<u8>,
    /// Counts the body until the request is answered, because the values from the body take memory, too.
    share: Option<Arc<MemoryShare>>,
}

/// The bytes of a body for a reader. Reading may outlast the request, and the bytes are counted until they are dropped.
pub struct CountedBytes {
    bytes: Vec<u8>,
    _share: Option<Arc<MemoryShare>>,
}

impl Deref for CountedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl RequestBody {
    /// Takes the bytes out of the body.
    pub fn take(&mut self) -> CountedBytes {
        CountedBytes {
            bytes: std::mem::take(&mut self.bytes),
            _share: self.share.clone(),
        }
    }

    /// Whether the body was large on arrival, also after the body was read.
    pub fn is_large(&self) -> bool {
        self.share.as_ref().is_some_and(|share| share.bytes > SMALL_BODY_BYTES)
    }
}

/// A body that was refused before reading is freed here.
impl Drop for RequestBody {
    fn drop(&mut self) {
        let is_large = self.bytes.len() > SMALL_BODY_BYTES;
        drop(LargeValue::new(std::mem::take(&mut self.bytes), is_large));
    }
}

/// A part of the memory of all bodies. Dropping frees the part.
struct MemoryShare {
    bytes: usize,
    memory: Arc<BodyMemory>,
}

impl MemoryShare {
    /// # Errors
    /// [`Error::Busy`] if fewer than `more` bytes are free. Small bodies are only counted.
    fn grow(&mut self, more: usize) -> Result<(), Error> {
        let used = self.memory.used.fetch_add(more, Ordering::Relaxed) + more;
        self.bytes += more;
        if self.bytes > SMALL_BODY_BYTES && used > self.memory.limit {
            return Err(self.memory_is_full());
        }
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

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Reads the whole body, up to `limit` bytes.
pub async fn read(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
    memory: &Arc<BodyMemory>,
) -> Result<RequestBody, HttpRefusal> {
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
        Err(HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, detail))
    })
}

async fn collect(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
    announced: usize,
    memory: &Arc<BodyMemory>,
) -> Result<RequestBody, HttpRefusal> {
    let mut bytes: Vec<u8> = Vec::with_capacity(announced.min(SMALL_BODY_BYTES));
    let mut share = MemoryShare {
        bytes: 0,
        memory: Arc::clone(memory),
    };
    let end = end_despite_upgrade(request, announced);
    let mut stream = pin!(BodyStream::new(payload));
    while end.is_none_or(|end| bytes.len() < end) {
        let Some(part) = poll_fn(|task| stream.as_mut().poll_next(task)).await else {
            break;
        };
        let mut part =
            part.map_err(|error| HttpRefusal::new(StatusCode::BAD_REQUEST, unreadable(request, &error)).closing())?;
        if let Some(end) = end {
            part.truncate(end - bytes.len());
        }
        if bytes.len() + part.len() > limit {
            return Err(too_large(limit));
        }
        share.grow(part.len())?;
        if share.bytes > SMALL_BODY_BYTES {
            // Unwritten pages take no memory, while doubling would copy the body and waste half.
            bytes.reserve_exact(announced.saturating_sub(bytes.len()));
        }
        bytes.extend_from_slice(&part);
    }
    if end.is_some_and(|end| bytes.len() < end) {
        let detail = unreadable(request, &PayloadError::Incomplete(None));
        return Err(HttpRefusal::new(StatusCode::BAD_REQUEST, detail).closing());
    }
    Ok(RequestBody {
        bytes,
        share: Some(Arc::new(share)),
    })
}

/// The length of the body of a request with `Upgrade`. placet ignores `Upgrade`, but actix takes all further bytes for
/// WebSocket, as the body, until the connection ends. After the answer actix closes the connection.
fn end_despite_upgrade(request: &HttpRequest, announced: usize) -> Option<usize> {
    let has = |name| text(request, name).is_some();
    (has("upgrade") && !has("transfer-encoding")).then_some(announced)
}

fn too_large(limit: usize) -> HttpRefusal {
    let detail = format!("Request is too large. Larger than {limit}.");
    HttpRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

/// The reason why a body cannot be read.
fn unreadable(request: &HttpRequest, error: &PayloadError) -> String {
    let has_ended = request
        .conn_data::<DisconnectWatch>()
        .is_none_or(DisconnectWatch::has_closed);
    let reason = match error {
        PayloadError::Incomplete(_) if has_ended => "the connection ended before the body did".to_owned(),
        // actix reports an undecodable chunk like an ended connection.
        PayloadError::Incomplete(_) | PayloadError::EncodingCorrupted => "a chunk of it has no valid size".to_owned(),
        other => other.to_string(),
    };
    format!("The body could not be read: {reason}.")
}
