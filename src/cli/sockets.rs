//! The listening socket of the service: placet's own, or systemd's (socket activation).

use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
use socket2::{Domain, SockRef, Socket, Type};

use super::CommandError;

/// Connections that may wait to be accepted. The standard library allows 128, but all agents of a cloud may connect at
/// the same time.
const BACKLOG: i32 = 1024;
/// Unsent bytes of answers that the kernel accepts for a connection. By default the kernel accepts up to 4 MiB for a
/// slow client, and the copy keeps a worker from the next client.
///
/// With 256 KiB, an answer of 1.6 MB waited for its client more often: 5.6 context switches an answer instead of 4.5,
/// and 2% more processor time.
const UNSENT_BYTES: u32 = 1024 * 1024;

/// systemd's socket; `None` without socket activation.
///
/// # Errors
/// systemd hands over several sockets, or no listening TCP socket.
pub fn inherited() -> Result<Option<TcpListener>, CommandError> {
    let mut handed_over = ListenFd::from_env();
    match handed_over.len() {
        0 => Ok(None),
        1 => handed_over
            .take_tcp_listener(0)
            .and_then(|taken| taken.map(listening).transpose())
            .map_err(|reason| CommandError::Inherited(format!("is not a listening TCP socket ({reason})"))),
        count => Err(CommandError::Inherited(format!("is one of {count}"))),
    }
}

/// A bound socket accepts no connection before it listens.
fn listening(socket: TcpListener) -> io::Result<TcpListener> {
    let inherited = SockRef::from(&socket);
    if !inherited.is_listener()? {
        return Err(io::Error::other("it is bound, and does not listen"));
    }
    inherited.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(socket)
}

/// Checks that this machine has the address. The port may be in use, by a running service.
pub fn check(bind: SocketAddr) -> Result<(), CommandError> {
    let listening = listen(SocketAddr::new(bind.ip(), 0));
    listening
        .map(drop)
        .map_err(|reason| CommandError::Listen { bind, reason })
}

/// A new listening socket.
pub fn listen(bind: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(bind), Type::STREAM, None)?;
    // Lets a new process bind the address while old connections are in TIME_WAIT.
    socket.set_reuse_address(true)?;
    // The accepted connections inherit the limit.
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    socket.bind(&bind.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
