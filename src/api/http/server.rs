//! The HTTP server: listeners, workers, timeouts, and shutdown on a signal.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::thread::available_parallelism;
use std::time::Duration;

use actix_http::{HttpService, Protocol};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::App;
use actix_web::dev::AppConfig;
use actix_web::rt::System;
use actix_web::rt::net::TcpStream;
use actix_web::web::{Data, to};
use tokio::signal::unix::{SignalKind, signal};
use tokio_io_timeout::TimeoutStream;

use super::dispatch;
use super::stream::Stream;
use crate::api::service::{Listen, Service};

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may be idle between requests.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a client may take to read more of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may take to close a connection that the server closed.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The blocking threads for searches and long answers. The threads that wait for the database come on top of these, so that
/// no search waits behind one. Threads start when they are needed.
const SEARCH_THREADS: usize = 512;

/// Serves on these listeners until SIGTERM or SIGINT, and then finishes the requests in flight.
///
/// `ready` is called after the handlers of these signals are installed. Earlier, a signal would kill the process.
pub fn serve(service: Service, listeners: Vec<TcpListener>, listen: &Listen, ready: impl FnOnce()) -> io::Result<()> {
    System::new().block_on(async {
        let service = Data::new(service);
        let workers = match listen.workers {
            0 => available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let mut server = Server::build()
            .workers(workers)
            .worker_max_blocking_threads(SEARCH_THREADS.div_ceil(workers) + service.model.waiting_threads())
            .max_concurrent_connections(listen.max_connections.div_ceil(workers))
            .shutdown_timeout(listen.shutdown_timeout.as_secs())
            .shutdown_signal(stop_signal()?);
        let draining = server.graceful_shutdown_signal();
        for listener in listeners {
            let (service, draining) = (service.clone(), draining.clone());
            server = server.listen("placet", listener, move || http(service.clone(), draining.clone()))?;
        }
        drop(service);
        ready();
        server.run().await
    })
}

type Connection = Stream<Pin<Box<TimeoutStream<TcpStream>>>>;

/// The service of one worker.
fn http(
    service: Data<Service>,
    draining: GracefulShutdownSignal,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), InitError = (), Error = impl std::fmt::Debug> {
    let app = App::new().app_data(service).default_service(to(dispatch::answer));
    let app = app
        .into_factory()
        .map_err(|error: actix_web::Error| error.error_response());
    let requests = HttpService::build()
        .graceful_shutdown_signal(move || {
            let draining = draining.clone();
            async move { draining.notified().await }
        })
        .keep_alive(KEEP_ALIVE)
        .client_request_timeout(HEAD_TIMEOUT)
        .client_disconnect_timeout(DISCONNECT_TIMEOUT)
        .on_connect_ext(|stream: &Connection, data| {
            data.insert(stream.disconnect_watch());
        })
        .finish(map_config(app, |()| AppConfig::default()));
    fn_service(|connection: TcpStream| async {
        let peer = connection.peer_addr().ok();
        // Without TCP_NODELAY the last chunk of an answer waits until the client has acknowledged the one before.
        if let Err(error) = connection.set_nodelay(true) {
            log::debug!("Cannot set TCP_NODELAY on a connection, so its answers may be delayed: {error}");
        }
        let mut timed = TimeoutStream::new(connection);
        timed.set_write_timeout(Some(WRITE_TIMEOUT));
        Ok((Stream::new(Box::pin(timed)), Protocol::Http1, peer))
    })
    .and_then(requests)
}

/// Completes at SIGTERM or SIGINT.
fn stop_signal() -> io::Result<impl Future<Output = ()> + Send> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => log::info!("SIGTERM: finishing requests in flight, then exiting"),
            _ = interrupt.recv() => log::info!("SIGINT: finishing requests in flight, then exiting"),
        }
    })
}
