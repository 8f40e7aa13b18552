//! Servers that vanish without a word, as when their power is cut: MariaDB's client library waits for ever.
//!
//! Neither it nor diesel has a way to say how long. The kernel has: it asks a silent peer whether it lives, and ends the
//! connection of one that does not answer; but by default it begins after two hours. PostgreSQL's library is told the
//! same by options of the URL.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use socket2::{Socket, TcpKeepalive};

/// When the first question is asked of a silent peer, and how long each question waits.
const SILENT_FOR: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_secs(5);
const QUESTIONS: u32 = 3;
/// How long what was sent may stay unconfirmed.
const UNCONFIRMED: Duration = Duration::from_secs(25);

/// Has the kernel look after this process's connections to servers at `ports`. Where it refuses, a server that vanishes is
/// noticed late, and nothing else is lost.
pub fn watch(ports: &[u16]) {
    if let Err(error) = try_to_watch(ports) {
        log::debug!("The kernel is not told to look after connections to the database: {error}");
    }
}

fn try_to_watch(ports: &[u16]) -> std::io::Result<()> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let is_socket = std::fs::read_link(entry.path()).is_ok_and(|it| it.to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|_| is_socket) else {
            continue;
        };
        // Another thread may have closed it since.
        if let Ok(socket) = pidfd_getfd(own.as_fd(), number, PidfdGetfdFlags::empty()) {
            look_after(&Socket::from(socket), ports)?;
        }
    }
    Ok(())
}

fn look_after(socket: &Socket, ports: &[u16]) -> std::io::Result<()> {
    let peer = socket.peer_addr().ok().and_then(|peer| peer.as_socket());
    if !peer.is_some_and(|peer: SocketAddr| ports.contains(&peer.port())) {
        return Ok(());
    }
    let patience = TcpKeepalive::new()
        .with_time(SILENT_FOR)
        .with_interval(ASK_EVERY)
        .with_retries(QUESTIONS);
    socket.set_tcp_keepalive(&patience)?;
    socket.set_tcp_user_timeout(Some(UNCONFIRMED))
}
