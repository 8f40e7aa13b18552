//! TCP keepalive for connections to MariaDB, so that placet notices a server whose power was cut.
//!
//! Without the keepalive the client library waits for ever: neither the library nor diesel has an option for it. The
//! kernel probes a silent peer, and ends the connection if no probe is answered, but by default only after two hours.
//! This module sets shorter times on the sockets. libpq sets the same times from options of its URL.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use socket2::{Socket, TcpKeepalive};

/// How long a peer is silent before the first probe.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// The number of unanswered probes before the connection is ended.
const KEEPALIVE_PROBES: u32 = 3;
/// How long sent data may stay unacknowledged before the connection is ended.
const USER_TIMEOUT: Duration = Duration::from_secs(25);

/// Sets the keepalive on this process's connections to servers at `ports`. If the kernel refuses, a vanished server is
/// noticed late; everything else works.
pub fn enable(ports: &[u16]) {
    if let Err(error) = try_enable(ports) {
        log::debug!("TCP keepalive could not be set on the connections to the database: {error}");
    }
}

fn try_enable(ports: &[u16]) -> std::io::Result<()> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let is_socket = std::fs::read_link(entry.path()).is_ok_and(|it| it.to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|_| is_socket) else {
            continue;
        };
        // A second thread may have closed the socket since its entry was read.
        if let Ok(socket) = pidfd_getfd(own.as_fd(), number, PidfdGetfdFlags::empty()) {
            set_keepalive(&Socket::from(socket), ports)?;
        }
    }
    Ok(())
}

/// Sets the keepalive on a socket, if its peer listens on one of `ports`.
fn set_keepalive(socket: &Socket, ports: &[u16]) -> std::io::Result<()> {
    let peer = socket.peer_addr().ok().and_then(|peer| peer.as_socket());
    if !peer.is_some_and(|peer: SocketAddr| ports.contains(&peer.port())) {
        return Ok(());
    }
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))
}
