//! Stands in for `crate::api` until that room is merged: the same names and signatures, and a server that only stops
//! well. To be deleted then, with its two `use` lines in `serve.rs`.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use actix_web::rt::System;
use actix_web::{App, HttpServer};
use tokio::signal::unix::{SignalKind, signal};

use crate::auth::Strategy;
use crate::model::Model;
use crate::policy::Policy;
use crate::search;

pub struct Service {
    pub model: Model,
    pub policy: Policy,
    pub auth: Strategy,
    pub settings: Settings,
}

pub struct Settings {
    pub url_prefix: String,
    pub max_body_size: usize,
    pub parse_proxy_headers: bool,
    pub search: search::Settings,
    pub randomize: bool,
}

pub struct Listen {
    pub workers: usize,
    pub max_connections: usize,
    pub shutdown_timeout: Duration,
}

pub fn serve(service: Service, listeners: Vec<TcpListener>, listen: &Listen) -> io::Result<()> {
    drop((service.model, service.policy, service.auth, service.settings.search, service.settings.randomize));
    log::debug!("{} {}", service.settings.url_prefix, service.settings.parse_proxy_headers);
    log::debug!("{}", service.settings.max_body_size);
    System::new().block_on(async {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let stop = async move {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        };
        let mut server = HttpServer::new(App::new)
            .workers(listen.workers)
            .max_connections(listen.max_connections)
            .shutdown_timeout(listen.shutdown_timeout.as_secs())
            .shutdown_signal(stop);
        for listener in listeners {
            server = server.listen(listener)?;
        }
        server.run().await
    })
}
