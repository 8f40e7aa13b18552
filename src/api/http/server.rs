//! The HTTP server: listeners, workers, timeouts, and shutdown on a signal.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, available_parallelism};
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, Protocol};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, apply_fn_factory, fn_service, map_config,
};
use actix_web::dev::AppConfig;
use actix_web::rt::System;
use actix_web::rt::net::TcpStream;
use actix_web::web::{Data, to};
use actix_web::{App, Route};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use super::connections::{Connection, Connections, spare_connections};
use super::front::{self, Front};
use super::health::Phase;
use super::heartbeat::Heartbeat;
use super::stopping::{self, Settling, Stop};
use super::stream::{HEAD_TIMEOUT, Stream};
use super::tls::LiveTls;
use super::transport::Transport;
use crate::api::service::{self, Listen, METRICS_CONNECTIONS};
use crate::systemd;

/// How long a client may take to read more of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may take to close a connection that the server closed.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The listening sockets.
pub struct Listeners {
    pub api: TcpListener,
    /// For the metrics, if the metrics have a port.
    pub metrics: Option<TcpListener>,
}

/// How the service ended, if the network did not fail.
pub enum Served<L, E> {
    /// The service stopped by a signal. With the result of `load`.
    Stopped(L),
    /// A signal arrived before the service had loaded.
    StoppedEarly,
    /// The service could not load.
    Failed(E),
}

/// Serves on this listener until a signal to stop, and then finishes the requests in flight.
///
/// `load` makes the service, on a thread of its own. Health is answered at once, and all further requests wait until
/// the service has loaded. `ready` is called at this moment.
pub fn serve<L: Send + 'static, E: Send + 'static>(
    front: Front,
    listeners: Listeners,
    listen: &Listen,
    load: impl FnOnce() -> Result<(service::Service, L), E> + Send + 'static,
    ready: impl FnOnce(),
) -> io::Result<Served<L, E>> {
    System::new().block_on(async {
        let (front, heartbeat) = (Data::new(front), Heartbeat::new());
        let address = listeners.api.local_addr()?;
        // Each worker has a service for each listener.
        let services = workers(listen) * (1 + usize::from(listeners.metrics.is_some()));
        let server = start(&front, listeners, listen, &heartbeat)?;
        let (for_hangup, on_hangup, tls) = (front.clone(), Arc::clone(&listen.on_hangup), listen.tls.clone());
        stopping::handle_other_signals(move || {
            // First the log, because the next steps report in the log.
            on_hangup();
            if let Phase::Serving(service) = for_hangup.phase() {
                service.policy.reload();
                service.auth.reload();
            }
            if let Some(tls) = &tls {
                tls.reload();
            }
        })?;
        let (loaded, loads) = oneshot::channel();
        thread::Builder::new()
            .name("placet-load".to_owned())
            .spawn(move || drop(loaded.send(load())))?;
        let handle = server.handle();
        let mut running = pin!(server);
        let loaded = tokio::select! {
            ended = &mut running => return ended.map(|()| Served::StoppedEarly),
            loaded = loads => loaded.map_err(|_| io::Error::other("loading met a defect of placet"))?,
        };
        let (service, rest) = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                // The server stops while it is polled.
                let (_, ended) = tokio::join!(handle.stop(false), running);
                return ended.map(|()| Served::Failed(error));
            }
        };
        front.begin_serving(service);
        systemd::ready(&format!("serving on {}://{address}", front.scheme()));
        heartbeat.start_watchdog(services);
        ready();
        running.await.map(|()| Served::Stopped(rest))
    })
}

fn workers(listen: &Listen) -> usize {
    match listen.workers {
        0 => available_parallelism().map_or(1, usize::from),
        workers => workers,
    }
}

/// Starts the workers and installs the handlers of the signals that stop the server.
fn start(front: &Data<Front>, listeners: Listeners, listen: &Listen, heartbeat: &Heartbeat) -> io::Result<Server> {
    let workers = workers(listen);
    let Listeners { api, metrics } = listeners;
    // The next process serves the connections that wait in an inherited socket.
    let own = (!listen.is_inherited).then_some(&api);
    let own: io::Result<Vec<TcpListener>> = own.into_iter().chain(&metrics).map(TcpListener::try_clone).collect();
    let (own, services) = (own?, workers * (1 + usize::from(metrics.is_some())));
    let (max_connections, settling) = (listen.max_connections.div_ceil(workers), Settling::new());
    let of_metrics = metrics.as_ref().map_or(0, |_| METRICS_CONNECTIONS);
    let server = Server::build()
        .workers(workers)
        // Only reads that wait for the database run on these threads. Threads start when needed.
        .worker_max_blocking_threads(listen.waiting_threads)
        // The places beyond `max_connections` are for new connections, until the connections to close are gone.
        .max_concurrent_connections(max_connections + of_metrics + spare_connections(max_connections))
        .shutdown_timeout(listen.shutdown_timeout.as_secs())
        .disable_signals();
    let worker = WorkerSettings {
        front: front.clone(),
        settling: settling.clone(),
        draining: server.graceful_shutdown_signal(),
        tls: listen.tls.clone(),
        keep_alive: listen.keep_alive_timeout,
        heartbeat: heartbeat.clone(),
    };
    let mut server = server;
    if let Some(metrics) = metrics {
        let worker = worker.clone();
        server = server.listen("placet-metrics", metrics, move || {
            let route = to(front::answer_metrics_port);
            http(worker.clone(), METRICS_CONNECTIONS, route)
        })?;
    }
    let server = server
        .listen("placet", api, move || {
            http(worker.clone(), max_connections, to(front::answer))
        })?
        .run();
    let stop = Stop {
        drain_time: listen.drain_time,
        settling,
        listeners: own,
        services,
        server: server.handle(),
    };
    stopping::stop_at_signal(front.clone(), stop)?;
    Ok(server)
}

type ClientStream = Stream<Transport<Pin<Box<TimeoutStream<TcpStream>>>>>;
type Connected = (ClientStream, Protocol, Option<SocketAddr>);

/// The parameters of each worker.
#[derive(Clone)]
struct WorkerSettings {
    front: Data<Front>,
    settling: Settling,
    draining: GracefulShutdownSignal,
    tls: Option<Arc<LiveTls>>,
    keep_alive: Duration,
    heartbeat: Heartbeat,
}

/// The service of one worker for one listener, with at most this many connections.
fn http(
    settings: WorkerSettings,
    max_connections: usize,
    handler: Route,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), InitError = (), Error = impl std::fmt::Debug> {
    let (draining, tls, keep_alive) = (settings.draining, settings.tls, settings.keep_alive);
    let connections = Connections::new(max_connections, Arc::clone(settings.front.statistics()));
    settings.settling.watch(Rc::clone(&connections));
    settings.heartbeat.answer();
    let app = App::new().app_data(settings.front).default_service(handler);
    let app = app
        .into_factory()
        .map_err(|error: actix_web::Error| error.error_response());
    let requests = HttpService::build()
        .graceful_shutdown_signal(move || stopping::drained(draining.clone()))
        // The connection measures its idle time.
        .keep_alive(KeepAlive::Os)
        // The stream has a timeout for heads.
        .client_request_timeout(Duration::ZERO)
        .client_disconnect_timeout(DISCONNECT_TIMEOUT)
        .on_connect_ext(|stream: &ClientStream, data| {
            data.insert(stream.disconnect_watch());
            data.insert::<Rc<Connection>>(stream.connection());
        })
        .finish(map_config(app, |()| AppConfig::default()));
    fn_service(move |connection: TcpStream| {
        let peer = connection.peer_addr().ok();
        let open = connections.open(peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip()));
        let tls = tls.as_ref().map(|tls| TlsAcceptor::from(tls.current()));
        async move {
            // Without TCP_NODELAY the last chunk of an answer waits until the client has acknowledged the chunk before.
            if let Err(error) = connection.set_nodelay(true) {
                log::debug!("Cannot set TCP_NODELAY on a connection, so its answers may be delayed: {error}");
            }
            let mut timed = TimeoutStream::new(connection);
            timed.set_write_timeout(Some(WRITE_TIMEOUT));
            let timed = Box::pin(timed);
            let transport = match tls {
                Some(tls) => Transport::Handshake {
                    accept: Box::pin(timeout(HEAD_TIMEOUT, tls.accept(timed))),
                    peer,
                },
                None => Transport::Plain(timed),
            };
            Ok((Stream::new(transport, open), Protocol::Http1, peer))
        }
    })
    .and_then(apply_fn_factory(requests, move |connected: Connected, requests: &_| {
        let (connection, peer) = (connected.0.connection(), connected.2);
        let serving = Service::call(requests, connected);
        // Whatever the connection waits for, the connection ends with its task.
        async move {
            if connection.is_refused() {
                connection.closed().await;
                return Ok(());
            }
            tokio::select! {
                biased;
                ended = serving => ended,
                () = connection.closed() => Ok(()),
                () = connection.idle_for(keep_alive) => {
                    let peer = peer.map_or_else(|| "a client".to_owned(), |peer| peer.to_string());
                    log::debug!("Closing the connection of {peer}, which was idle for {keep_alive:?}");
                    Ok(())
                }
            }
        }
    }))
}
