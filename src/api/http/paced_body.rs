//! A long body, sent in several turns of the worker's loop.
//!
//! Naively, a connection sends part after part as long as its socket has room. If the client reads as fast as placet
//! writes, every further connection of the worker waits for the end. So the body pauses after [`TURN_BYTES`], and the
//! connection is served again after the waiting connections. A whole answer is cut, so no turn copies the whole.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;

use super::chunks::WHOLE_ANSWER_BYTES;
use super::connections::ServedGuard;

/// The most bytes of a part.
const PART_BYTES: usize = WHOLE_ANSWER_BYTES;
/// The bytes between two pauses, which take some 300 µs to make and to send.
///
/// With a pause after each part, answers of 1.6 MB to four clients took 5 to 8% more processor time, and a scheduler
/// loop of 32 clients had 10% fewer rounds a second.
const TURN_BYTES: usize = 8 * PART_BYTES;

/// A body that pauses.
struct PacedBody {
    body: BoxBody,
    /// The unsent bytes from the body.
    rest: Bytes,
    /// The bytes sent since the last pause.
    sent: usize,
    /// The request of an unfinished answer, which counts as being served until the end.
    _served: Option<ServedGuard>,
}

/// The response, with a pausing body if the body is longer than a part. If the answer is still being made, the
/// request is `served` until the body is dropped.
pub fn paced(response: HttpResponse, served: Option<ServedGuard>) -> HttpResponse {
    let is_short = match response.body().size() {
        BodySize::None => true,
        BodySize::Sized(length) => length <= PART_BYTES as u64,
        BodySize::Stream => false,
    };
    if is_short {
        return response;
    }
    let served = served.filter(|_| response.body().size() == BodySize::Stream);
    let pausing = |body| PacedBody {
        body,
        rest: Bytes::new(),
        sent: 0,
        _served: served,
    };
    response.map_body(|_, body| pausing(body).boxed())
}

impl MessageBody for PacedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.sent >= TURN_BYTES {
            self.sent = 0;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(task)) {
                Some(Ok(bytes)) => self.rest = bytes,
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(PART_BYTES);
        self.sent += length;
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// The lengths of the parts of a body, and the number of pauses.
    async fn parts(body: Vec<u8>) -> (Vec<usize>, usize) {
        let mut body = paced(HttpResponse::Ok().body(body), None).into_body();
        let (mut lengths, mut pauses) = (Vec::new(), 0);
        let mut next = |task: &mut Context<'_>| {
            let part = Pin::new(&mut body).poll_next(task);
            pauses += usize::from(part.is_pending());
            part
        };
        while let Some(part) = poll_fn(&mut next).await {
            lengths.push(part.expect("no error").len());
        }
        (lengths, pauses)
    }

    #[actix_web::test]
    async fn a_long_body_pauses_after_the_bytes_of_a_turn() {
        assert_eq!(parts(vec![b'.'; PART_BYTES]).await, (vec![PART_BYTES], 0));
        let long = parts(vec![b'.'; 2 * PART_BYTES + 1]).await;
        assert_eq!(long, (vec![PART_BYTES, PART_BYTES, 1], 0));
        let (lengths, pauses) = parts(vec![b'.'; 2 * TURN_BYTES + 1]).await;
        assert_eq!((lengths.iter().sum(), pauses), (2 * TURN_BYTES + 1, 2));
        assert!(lengths.iter().all(|length| *length <= PART_BYTES), "{lengths:?}");
    }
}
