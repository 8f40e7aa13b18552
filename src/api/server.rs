//! The HTTP server.

use std::io;
use std::time::Duration;

use actix_web::web::{Data, to};
use actix_web::{App, HttpServer};

use super::gate;
use super::service::{Listen, Service};

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may be idle between requests.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a client may take to end a connection that the server ended.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until the process is told to stop; then what is in flight may finish.
pub async fn serve(service: Service, listen: &Listen) -> io::Result<()> {
    let service = Data::new(service);
    let app = move || App::new().app_data(service.clone()).default_service(to(gate::answer));
    HttpServer::new(app)
        .workers(listen.workers.max(1))
        .keep_alive(KEEP_ALIVE)
        .client_request_timeout(HEAD_TIMEOUT)
        .client_disconnect_timeout(DISCONNECT_TIMEOUT)
        .shutdown_timeout(listen.shutdown_timeout.as_secs())
        .bind(&listen.addresses[..])?
        .run()
        .await
}
