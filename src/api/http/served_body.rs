//! The body of an unfinished answer: until the end the request counts as being served.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;

use super::connections::ServedGuard;

/// A body, and the request of the body.
pub struct ServedBody {
    body: BoxBody,
    _served: ServedGuard,
}

impl ServedBody {
    /// The body. The request is served until the body is dropped.
    pub fn new(body: BoxBody, served: ServedGuard) -> ServedBody {
        ServedBody { body, _served: served }
    }
}

impl MessageBody for ServedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(task)
    }
}
