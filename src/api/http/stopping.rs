//! Signals: SIGTERM, SIGINT and SIGQUIT stop the service after all requests so far are answered. SIGHUP makes the
//! service read its files again. Only SIGKILL and the signals for a defect of the process also end it.
//!
//! actix drops accepted connections that no worker serves yet, and closes a connection whose next request is still
//! unread. So the service goes on for a moment: until the kernel's queue of new connections is empty, the workers serve
//! all accepted connections, and each connection was read once more.

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_server::{GracefulShutdownSignal, ServerHandle};
use actix_web::rt::spawn;
use actix_web::web::Data;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use super::connections::Connections;
use super::front::Front;
use super::health::Phase;
use crate::systemd;

/// How long new connections may delay the stop.
const MAX_SETTLING: Duration = Duration::from_secs(2);
/// The time in which the acceptor's thread stops accepting. The thread is woken at once.
const PAUSING: Duration = Duration::from_millis(20);
/// Turns of a worker's event loop without a new connection, after which the worker serves all accepted connections.
const QUIET_TURNS: u32 = 3;

/// Lets the workers serve all accepted connections before the service stops.
#[derive(Clone)]
pub struct Settling {
    begun: watch::Sender<bool>,
    /// A permit for each worker that serves all its connections.
    settled: Arc<Semaphore>,
}

impl Settling {
    pub fn new() -> Settling {
        Settling {
            begun: watch::channel(false).0,
            settled: Arc::new(Semaphore::new(0)),
        }
    }

    /// Called on each worker, with its connections.
    pub fn watch(&self, connections: Rc<Connections>) {
        let (mut begun, settled) = (self.begun.subscribe(), Arc::clone(&self.settled));
        spawn(async move {
            let _ = begun.wait_for(|begun| *begun).await;
            let (mut opened, mut quiet) = (connections.opened(), 0);
            while quiet < QUIET_TURNS {
                yield_now().await;
                quiet = if connections.opened() == opened { quiet + 1 } else { 0 };
                opened = connections.opened();
            }
            settled.add_permits(1);
        });
    }

    /// Returns when the queues of the listeners were empty once, no more connections are accepted, and all services
    /// serve the accepted connections. Closes these handles of the listeners: the kernel refuses a connection when all
    /// handles are closed.
    async fn settle(&self, listeners: Vec<TcpListener>, server: &ServerHandle, services: usize) {
        while listeners.iter().any(has_waiting_connection) {
            sleep(Duration::from_millis(1)).await;
        }
        server.pause().await;
        // The acceptor pauses on its own thread, after handing over all accepted connections.
        sleep(PAUSING).await;
        self.begun.send_replace(true);
        let services = u32::try_from(services).unwrap_or(u32::MAX);
        let _ = self.settled.acquire_many(services).await;
    }
}

/// How the service stops.
pub struct Stop {
    pub drain_time: Duration,
    pub settling: Settling,
    /// The listeners in whose queues nothing may wait at the end.
    pub listeners: Vec<TcpListener>,
    /// The number of services of all workers: one for each listener.
    pub services: usize,
    /// The server to stop.
    pub server: ServerHandle,
}

fn has_waiting_connection(listener: &TcpListener) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Stops the server at SIGTERM, SIGINT or SIGQUIT, after `drain_time`, when all connections so far are being served.
/// Must be called on a runtime.
///
/// The signal handlers of actix are not used: the handlers keep the process for 0.3 s after its last request.
pub fn stop_at_signal(front: Data<Front>, stop: Stop) -> io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut quit = signal(SignalKind::quit())?;
    spawn(async move {
        tokio::select! {
            _ = terminate.recv() => log::info!("SIGTERM: finishing requests in flight, then exiting"),
            _ = interrupt.recv() => log::info!("SIGINT: finishing requests in flight, then exiting"),
            _ = quit.recv() => log::info!("SIGQUIT: finishing requests in flight, then exiting"),
        }
        let is_loading = matches!(front.phase(), Phase::Loading);
        front.begin_stop();
        systemd::stopping("finishing requests in flight");
        let drain_time = stop.drain_time;
        if !drain_time.is_zero() && !is_loading {
            log::info!("Not ready for {drain_time:?} ([placet] drain_time) before new connections are refused");
            tokio::select! {
                () = sleep(drain_time) => {}
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = quit.recv() => {}
            }
        }
        let settled = stop.settling.settle(stop.listeners, &stop.server, stop.services);
        let _ = timeout(MAX_SETTLING, settled).await;
        stop.server.stop(true).await;
    });
    Ok(())
}

/// Completes for a connection when the connection should be closed after the current request.
pub async fn drained(draining: GracefulShutdownSignal) {
    draining.notified().await;
    // Until the second poll after the signal the connection is served as usual. In between, the event loop has looked
    // at the socket, so an arrived request is read.
    for _ in 0..2 {
        yield_now().await;
    }
}

/// Keeps signals from killing a process that does not serve yet. The signals have no effect.
pub fn ignore_other_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // After a first listener for a signal, the default action stays replaced until the process ends.
    runtime.block_on(async {
        for (_, kind) in ignored().chain([("SIGHUP".to_owned(), SignalKind::hangup())]) {
            drop(signal(kind)?);
        }
        Ok(())
    })
}

/// Calls `on_hangup` at each SIGHUP, and logs all further signals that would kill the process by default. Must be
/// called on a runtime.
pub fn handle_other_signals(on_hangup: impl Fn() + 'static) -> io::Result<()> {
    for (name, kind) in ignored() {
        spawn(log_signals(name, signal(kind)?));
    }
    let mut hangup = signal(SignalKind::hangup())?;
    spawn(async move {
        while hangup.recv().await.is_some() {
            on_hangup();
        }
    });
    Ok(())
}

/// The signals that would kill the process by default, and have no meaning here.
fn ignored() -> impl Iterator<Item = (String, SignalKind)> {
    // The standard signals, and the real-time signals with the kernel's numbers for programs.
    let standard = [
        ("SIGUSR1", Signal::USR1),
        ("SIGUSR2", Signal::USR2),
        ("SIGALRM", Signal::ALARM),
        ("SIGVTALRM", Signal::VTALARM),
        ("SIGPROF", Signal::PROF),
        ("SIGIO", Signal::IO),
        ("SIGPWR", Signal::POWER),
        ("SIGSTKFLT", Signal::STKFLT),
        ("SIGXCPU", Signal::XCPU),
        ("SIGXFSZ", Signal::XFSZ),
    ];
    let standard = standard.map(|(name, signal)| (name.to_owned(), SignalKind::from_raw(signal.as_raw())));
    let real_time = (34..=64).map(|number| (format!("signal {number}"), SignalKind::from_raw(number)));
    standard.into_iter().chain(real_time)
}

async fn log_signals(name: String, mut signals: unix::Signal) {
    while signals.recv().await.is_some() {
        log::info!(
            "{name}: ignored. SIGHUP reopens the log, and reads its level, policies, tokens and certificates again; SIGTERM stops placet"
        );
    }
}
