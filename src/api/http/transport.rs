//! The bytes of a connection: plain, or by TLS, whose handshake takes place when the connection is first read.
//!
//! So the handshake needs no task of its own. The handshake has the time of a head, and is bounded by the number of
//! connections, of which the idlest is closed first.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Timeout;
use tokio_rustls::Accept;
use tokio_rustls::server::TlsStream;

/// The stream of a connection to a client.
pub enum Transport<S> {
    Plain(S),
    Handshake {
        accept: Pin<Box<Timeout<Accept<S>>>>,
        peer: Option<SocketAddr>,
    },
    Tls(Box<TlsStream<S>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Transport<S> {
    /// Continues the handshake, if there is one.
    fn poll_ready(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Transport::Handshake { accept, peer } = self else {
            return Poll::Ready(Ok(()));
        };
        let accepted = ready!(accept.as_mut().poll(task));
        match accepted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => *self = Transport::Tls(Box::new(stream)),
            Err(error) => {
                let peer = peer.map_or_else(|| "a client".to_owned(), |peer| peer.to_string());
                log::info!(target: "placet::access", "TLS handshake with {peer} failed: {error}");
                return Poll::Ready(Err(error));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Transport<S> {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_ready(task))?;
        match &mut *self {
            Transport::Plain(stream) => Pin::new(stream).poll_read(task, buffer),
            Transport::Handshake { .. } => Poll::Pending,
            Transport::Tls(stream) => match ready!(Pin::new(stream).poll_read(task, buffer)) {
                // The client closed the connection without saying so. Lengths and chunks tell whether a body is whole.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
                other => Poll::Ready(other),
            },
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_ready(task))?;
        match &mut *self {
            Transport::Plain(stream) => Pin::new(stream).poll_write(task, bytes),
            Transport::Handshake { .. } => Poll::Pending,
            Transport::Tls(stream) => Pin::new(stream).poll_write(task, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(task),
            // Nothing was written.
            Transport::Handshake { .. } => Poll::Ready(Ok(())),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(task),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(task),
            // It is closed when it is dropped.
            Transport::Handshake { .. } => Poll::Ready(Ok(())),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(task),
        }
    }
}
