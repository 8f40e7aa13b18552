//! `placet serve`: from the configuration to a listening service.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::{Failure, db, policy};
use crate::api::{self, Listen, Service};
use crate::auth::Strategy;
use crate::config::{self, Configuration, GenerationStrategy, Options, masked_url};
use crate::db::writer::{Bounds, WriterSettings};
use crate::db::{Database, SetupError};
use crate::model::allocations::Owner;
use crate::model::{Model, Rules, Serving};
use crate::search;
use crate::tasks::Comparison;

/// Serves until SIGTERM or SIGINT, and returns when what was in flight has finished.
pub fn run(configuration: &Configuration) -> Result<(), Failure> {
    let options = &configuration.options;
    let warnings = options.check_serving()?;
    for warning in warnings.iter().chain(&configuration.warnings()) {
        log::warn!("{warning}");
    }
    log_options(configuration)?;
    let policy = policy::live(&options.oslo_policy)?;
    let slave_routes = api::slave_routes(&options.placet.slave_routes).map_err(Failure::SlaveRoutes)?;
    // Taken first, so that an address in use is said before the database is touched.
    let bind = options.placet.bind;
    let listener = listen(bind).map_err(|reason| Failure::Listen { bind, reason })?;
    let address = listener
        .local_addr()
        .map_err(|reason| Failure::Listen { bind, reason })?;
    let (database, replica) = (db::open(options)?, db::open_replica(options)?);
    // Held to the end, and taken before a schema is touched that another process may be serving.
    let serving = Serving::from(database.lock_for_serving()?);
    database.reach()?;
    prepare(&database, options)?;
    let (model, writer) = Model::start(database, &writer_settings(options), rules(options), serving)?;
    let model = model.with_replica(replica);
    let interval = Duration::from_secs(options.placet.comparison_interval);
    let comparison = Comparison::start(model.clone(), interval).map_err(|reason| SetupError::Thread {
        detail: reason.to_string(),
    })?;
    let service = Service {
        model,
        policy,
        auth: Strategy::NoAuth2,
        settings: settings(options, slave_routes),
    };
    let ready = || {
        greet(options, address);
        log::info!("serving on {address}");
    };
    api::serve(service, vec![listener], &how_to_listen(options), ready).map_err(Failure::Serve)?;
    comparison.stop();
    writer.finish();
    log::info!("stopped");
    Ok(())
}

/// Makes or upgrades the schema where that is allowed, and checks it everywhere else.
fn prepare(database: &Database, options: &Options) -> Result<(), Failure> {
    if options.placement_database.may_sync() {
        // Not inside the macro: what is not logged is not evaluated.
        let synced = database.sync()?;
        log::info!("{}", db::told(synced));
        return Ok(());
    }
    database.check().map_err(|error| match error {
        SetupError::Missing { .. } | SetupError::NotSynced | SetupError::NotCurrent => Failure::Unprepared(error),
        _ => error.into(),
    })
}

/// The standard library lets no more than 128 connections wait to be accepted; a cloud's agents come all at once.
const BACKLOG: i32 = 1024;

fn listen(bind: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(bind), Type::STREAM, None)?;
    // A new process takes over the address while connections of the old one linger.
    socket.set_reuse_address(true)?;
    socket.bind(&bind.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn writer_settings(options: &Options) -> WriterSettings {
    WriterSettings {
        queue_size: options.placet.queue_size,
        commit_timeout: Duration::from_secs(options.placet.commit_timeout),
        log: Bounds::default(),
    }
}

fn rules(options: &Options) -> Rules {
    Rules {
        strict_step_size: options.placet.strict_step_size,
        incomplete_owner: Owner {
            project: options.placement.incomplete_consumer_project_id.clone(),
            user: options.placement.incomplete_consumer_user_id.clone(),
        },
    }
}

fn settings(options: &Options, slave_routes: Vec<&'static str>) -> api::Settings {
    api::Settings {
        url_prefix: options.placet.url_prefix.clone(),
        max_body_size: options.placet.max_body_size,
        parse_proxy_headers: options.oslo_middleware.enable_proxy_headers_parsing,
        cors: cors(&options.cors),
        search: search::Settings {
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
            // -1 is no limit.
            max: usize::try_from(options.placement.max_allocation_candidates).ok(),
            ceiling: options.placet.max_candidates,
            strategy: match options.placement.allocation_candidates_generation_strategy {
                GenerationStrategy::DepthFirst => search::Strategy::DepthFirst,
                GenerationStrategy::BreadthFirst => search::Strategy::BreadthFirst,
            },
            strict_step: options.placet.strict_step_size,
            interrupt: search::Interrupt::default(),
        },
        stale_reads: Duration::from_secs(options.placet.stale_reads_seconds),
        slave_routes,
        randomize: options.placement.randomize_allocation_candidates,
    }
}

/// As upstream, without an allowed origin there is none of it.
fn cors(options: &config::Cors) -> Option<api::Cors> {
    (!options.allowed_origin.is_empty()).then(|| api::Cors {
        allowed_origin: options.allowed_origin.clone(),
        allow_credentials: options.allow_credentials,
        expose_headers: options.expose_headers.clone(),
        max_age: options.max_age,
        allow_methods: options.allow_methods.clone(),
        allow_headers: options.allow_headers.clone(),
    })
}

fn how_to_listen(options: &Options) -> Listen {
    Listen {
        workers: options.placet.workers,
        max_connections: options.placet.max_connections,
        shutdown_timeout: Duration::from_secs(options.placet.shutdown_timeout),
    }
}

/// `[DEFAULT] log_options`: the whole configuration at debug level.
fn log_options(configuration: &Configuration) -> Result<(), Failure> {
    if configuration.options.default.log_options && log::log_enabled!(log::Level::Debug) {
        for line in configuration.ini()?.lines().filter(|line| !line.is_empty()) {
            log::debug!("{line}");
        }
    }
    Ok(())
}

/// Says on stdout where the service is and how to try it.
fn greet(options: &Options, address: SocketAddr) {
    // Where every address is listened on, one must be named to be tried.
    let reachable = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => (Ipv6Addr::LOCALHOST, v6.port()).into(),
        _ => address,
    };
    let base = format!("http://{reachable}{}", options.placet.url_prefix);
    let data = match &options.placement_database.connection {
        Some(connection) => place(connection.reveal()),
        None => String::new(),
    };
    let made = if options.placement_database.may_sync() {
        " (made and upgraded at start)"
    } else {
        ""
    };
    let greeting = format!(
        "placet {} listens on http://{address}{}\n  data: {data}{made}\n  auth: {} (every token is believed: for tests and first steps)\n  try:  curl -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement latest' {base}/resource_providers\n",
        env!("CARGO_PKG_VERSION"),
        options.placet.url_prefix,
        options.api.auth_strategy,
    );
    // Nobody may be reading; the service serves all the same.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(greeting.as_bytes()).and_then(|()| out.flush());
}

/// Where the data is: the file's whole path, or the URL without its password.
fn place(url: &str) -> String {
    match crate::db::url::parse(url) {
        Ok(crate::db::url::Target::Sqlite(path)) => std::path::absolute(Path::new(&path))
            .unwrap_or(path)
            .display()
            .to_string(),
        _ => masked_url(url),
    }
}
