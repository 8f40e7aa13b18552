//! The socket that the service listens on: its own, or one that systemd hands over (socket activation).

use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
use socket2::{Domain, SockRef, Socket, Type};

use super::CommandError;

/// Connections that may wait to be accepted. The standard library allows 128, but the agents of a cloud may all connect
/// at the same time.
const BACKLOG: i32 = 1024;
/// Bytes of answers that the kernel takes before they can be sent. By itself it takes megabytes for a client that does
/// not read, and to copy them there keeps a worker from other clients.
const UNSENT_BYTES: u32 = 256 * 1024;

/// The socket that systemd hands over, if it does.
///
/// # Errors
/// There are several, or it is none that a TCP server can listen on.
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

/// A socket that is bound accepts no connection until it listens.
fn listening(socket: TcpListener) -> io::Result<TcpListener> {
    let inherited = SockRef::from(&socket);
    if !inherited.is_listener()? {
        return Err(io::Error::other("it is bound, and does not listen"));
    }
    inherited.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(socket)
}

/// Checks that this machine has the address. Its port may be in use, by a service that runs.
pub fn check(bind: SocketAddr) -> Result<(), CommandError> {
    let listening = listen(SocketAddr::new(bind.ip(), 0));
    listening
        .map(drop)
        .map_err(|reason| CommandError::Listen { bind, reason })
}

/// A socket of its own.
pub fn listen(bind: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(bind), Type::STREAM, None)?;
    // Lets a new process bind the address while old connections are in TIME_WAIT.
    socket.set_reuse_address(true)?;
    // Its connections have the same limit.
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    socket.bind(&bind.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
