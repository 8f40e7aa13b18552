//! `placet serve`: starts the service from the configuration, and stops the service on a signal.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use super::command_line::CommandLine;
use super::{CommandError, db, keystone, logging, metrics, open_files, panics, parts, sockets};
use crate::api::{self, BodyMemory, Front, HttpSettings, HttpStatistics, Listen, Listeners, Served, Service};
use crate::auth::Authenticator;
use crate::config::{self, AuthStrategy, Configuration, DefaultRank, GenerationStrategy, Options, masked_url};
use crate::db::writer::{WalLimits, WriterSettings};
use crate::db::{Database, ReadReplica, SetupError};
use crate::model::allocations::Owner;
use crate::model::hosts::LeaseWatch;
use crate::model::{DatabaseState, Model, Rules, Running};
use crate::policy::live::LivePolicy;
use crate::pools::Pools;
use crate::search;
use crate::statistics::Counter;
use crate::tasks::{self, Background};

/// Serves until a signal to stop, and until the requests in flight have finished. `line` is for commands in messages.
pub fn run(
    configuration: &Configuration,
    on_hangup: Arc<dyn Fn() + Send + Sync>,
    dropped_log_lines: Arc<Counter>,
    line: &CommandLine,
) -> Result<(), CommandError> {
    api::ignore_other_signals().map_err(CommandError::Serve)?;
    let mut options = configuration.options.clone();
    let inherited = sockets::inherited()?;
    if let Some(listener) = &inherited {
        let bind = options.placet.bind;
        options.placet.bind = listener
            .local_addr()
            .map_err(|reason| CommandError::Listen { bind, reason })?;
        log::info!(
            "systemd has handed over {}; [placet] bind is not used",
            options.placet.bind
        );
    }
    let options = &options;
    let panics = panics::count_and_log();
    let warnings = [
        keystone::login_problems(options).into_warnings()?,
        options.serving_problems().into_warnings()?,
        db::url_warnings(options),
        configuration.warnings_by_section(),
    ];
    for warning in warnings.iter().flatten() {
        log::warn!("{}", line.in_message(warning));
    }
    logging::log_options(configuration)?;
    let max_connections = open_files::client_connections(options);
    let parts = parts::make(options).map_err(|errors| {
        // `placet config check` shows all.
        errors.into_iter().next().expect("a part is missing for a reason")
    })?;
    let auth = keystone::authenticator(options)?;
    let statistics = auth.keystone().map(|keystone| Arc::clone(keystone.statistics()));
    // Bind first, so that an address in use is reported before the database is changed.
    let bind = options.placet.bind;
    let is_inherited = inherited.is_some();
    let (listener, address) = match inherited {
        Some(listener) => (listener, bind),
        None => listen(bind)?,
    };
    let metrics_port = options.placet.metrics_bind.filter(|_| options.placet.metrics);
    let metrics_port = metrics_port.map(listen).transpose()?;
    let replica_readers = parts.replica.as_ref().map_or(0, ReadReplica::readers);
    let listen = Listen {
        workers: options.placet.workers,
        max_connections,
        waiting_threads: parts.database.readers().saturating_add(replica_readers),
        drain_time: Duration::from_secs(options.placet.drain_time),
        shutdown_timeout: Duration::from_secs(options.placet.shutdown_timeout),
        keep_alive_timeout: Duration::from_secs(options.placet.keep_alive_timeout),
        is_inherited,
        tls: parts.tls,
        on_hangup,
    };
    let settings = settings(options, parts.slave_routes);
    let http = Arc::new(HttpStatistics::new(options.placet.metrics, api::statistics_paths()));
    let metrics = metrics::metrics(
        options,
        parts.metrics,
        Arc::clone(&http),
        Arc::clone(&panics),
        dropped_log_lines,
    );
    let front = Front::new(settings.clone(), api::ROUTES, metrics);
    let load = {
        let (options, http) = (options.clone(), Arc::clone(&http));
        let database = (parts.database, parts.replica);
        move || load(&options, database, parts.policy, auth, settings, http)
    };
    let metrics_address = metrics_port.as_ref().map(|(_, address)| *address);
    let ready = || {
        print_greeting(options, address);
        log::info!("serving on {address}");
        if let Some(address) = metrics_address {
            log::info!("serving the metrics on {address}");
        }
    };
    let listeners = Listeners {
        api: listener,
        metrics: metrics_port.map(|(listener, _)| listener),
    };
    match api::serve(front, listeners, &listen, load, ready).map_err(CommandError::Serve)? {
        Served::Stopped(running) => {
            let finished = running.finish();
            let panics = panics.value();
            if panics > 0 {
                log::warn!("{panics} panics since the start: see the lines at level ERROR");
            }
            finished?;
        }
        Served::StoppedEarly => {}
        Served::Failed(error) => return Err(error),
    }
    if let Some(statistics) = statistics {
        log::info!("Keystone: {statistics}");
    }
    log::info!("stopped");
    Ok(())
}

/// The tasks beside the server, which end after the server.
struct RunningTasks {
    background: [Background; 5],
    writer: Running,
}

impl RunningTasks {
    fn finish(self) -> Result<(), CommandError> {
        self.background.into_iter().for_each(Background::stop);
        self.writer.finish().map_err(|_| CommandError::WriterPanicked)
    }
}

/// Makes the service: waits for the database, prepares it, and reads its tables.
fn load(
    options: &Options,
    (database, replica): (Database, Option<ReadReplica>),
    policy: LivePolicy,
    auth: Authenticator,
    settings: HttpSettings,
    statistics: Arc<HttpStatistics>,
) -> Result<(Service, RunningTasks), CommandError> {
    // Refused before the lock of the database is made beside the file.
    if let Err(missing) = database.check_exists()
        && !options.placement_database.may_sync()
    {
        return Err(CommandError::Unprepared(missing));
    }
    // Held until the process ends. Taken before the schema is changed, because a second process may use the database.
    let lock = database.lock_for_serving()?;
    database.wait_until_reachable()?;
    for warning in database.check_server()? {
        log::warn!("{warning}");
    }
    prepare(&database, options)?;
    let pools = Pools::start(options.placet.search_queue_size).map_err(CommandError::Serve)?;
    let (model, writer) = Model::start(
        (database, replica),
        &writer_settings(options),
        rules(options),
        lock,
        pools.into(),
    )?;
    let background = background_tasks(options, &settings, &model).map_err(|reason| SetupError::Thread {
        detail: reason.to_string(),
    })?;
    let tasks = RunningTasks { background, writer };
    let service = Service {
        model,
        policy,
        auth,
        bodies: BodyMemory::new(options.placet.max_body_memory).into(),
        settings,
        statistics,
        known_pages: Default::default(),
    };
    Ok((service, tasks))
}

fn background_tasks(options: &Options, settings: &HttpSettings, model: &Model) -> std::io::Result<[Background; 5]> {
    let options = &options.placet;
    let workloads = settings.pending_workloads(model.clone())?;
    let census = settings.census(model.clone())?;
    Ok([
        tasks::comparison::start(model.clone(), Duration::from_secs(options.comparison_interval))?,
        tasks::leader::start(
            model.leadership(),
            LeaseWatch::new(model.clone())?,
            workloads,
            Duration::from_secs(options.pending_interval),
        )?,
        tasks::census::start(census, Duration::from_secs(options.census_interval))?,
        tasks::refusals::start(settings.refusal_explainer(model))?,
        tasks::database_watch::start(DatabaseState::of(model), settings.ready_timeout)?,
    ])
}

/// Creates or upgrades the schema if the configuration allows an upgrade; otherwise checks the schema.
fn prepare(database: &Database, options: &Options) -> Result<(), CommandError> {
    if options.placement_database.may_sync() {
        // Outside of the macro, which evaluates its arguments only for a logged line.
        let synced = database.sync()?;
        log::info!("{}: {}", database.place(), db::sync_message(synced));
        return Ok(());
    }
    database.check().map_err(|error| match error {
        SetupError::Missing { .. } | SetupError::NotSynced | SetupError::NotCurrent => CommandError::Unprepared(error),
        _ => error.into(),
    })
}

/// Listens on the address. Returns also the address that the kernel has given.
fn listen(bind: SocketAddr) -> Result<(TcpListener, SocketAddr), CommandError> {
    let with_address = |listener: TcpListener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let listening = sockets::listen(bind).and_then(with_address);
    listening.map_err(|reason| CommandError::Listen { bind, reason })
}

fn writer_settings(options: &Options) -> WriterSettings {
    WriterSettings {
        queue_size: options.placet.queue_size,
        commit_timeout: Duration::from_secs(options.placet.commit_timeout),
        wal: WalLimits::default(),
        claim_memory: Duration::from_secs(options.placet.claim_memory),
        election_interval: crate::db::ELECTION_INTERVAL,
    }
}

fn rules(options: &Options) -> Rules {
    Rules {
        strict_step_size: options.placet.strict_step_size,
        incomplete_owner: Owner {
            project: options.placement.incomplete_consumer_project_id.clone(),
            user: options.placement.incomplete_consumer_user_id.clone(),
        },
        write_answer: api::write_claim_answer,
        read_spec: api::read_workload_spec,
    }
}

fn settings(options: &Options, slave_routes: Vec<&'static str>) -> HttpSettings {
    HttpSettings {
        url_prefix: options.placet.url_prefix.0.clone(),
        scheme: scheme(options),
        max_body_size: options.placet.max_body_size,
        parse_proxy_headers: options.oslo_middleware.enable_proxy_headers_parsing,
        cors: cors(&options.cors),
        search: search::SearchSettings {
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
            order: None,
            // -1 means no limit.
            max: usize::try_from(options.placement.max_allocation_candidates).ok(),
            ceiling: options.placet.max_candidates,
            tree_order: match options.placement.allocation_candidates_generation_strategy {
                GenerationStrategy::DepthFirst => search::TreeOrder::DepthFirst,
                GenerationStrategy::BreadthFirst => search::TreeOrder::BreadthFirst,
            },
            max_combinations: options.placet.max_combinations,
            strict_step: options.placet.strict_step_size,
            limits: search::SearchLimits::default(),
            interrupt: search::Interrupt::default(),
        },
        rank: match options.placet.rank {
            DefaultRank::Any => None,
            DefaultRank::Fullest => Some(search::Rank::Fullest),
            DefaultRank::Emptiest => Some(search::Rank::Emptiest),
            DefaultRank::Tightest => Some(search::Rank::Tightest),
            DefaultRank::Random => Some(search::Rank::Random),
        },
        stale_reads: Duration::from_secs(options.placet.stale_reads_seconds),
        ready_timeout: Duration::from_secs(options.placet.ready_timeout),
        slow_request: Duration::from_secs(options.placet.slow_request_seconds),
        slave_routes,
        randomize: options.placement.randomize_allocation_candidates,
    }
}

fn scheme(options: &Options) -> &'static str {
    let has_tls = options.placet.tls_certificate.is_some();
    if has_tls { "https" } else { "http" }
}

/// CORS is off without an allowed origin, as in OpenStack Placement.
fn cors(options: &config::Cors) -> Option<api::Cors> {
    let options = options.clone();
    (!options.allowed_origin.is_empty()).then(|| api::Cors {
        allowed_origin: options.allowed_origin,
        allow_credentials: options.allow_credentials,
        expose_headers: options.expose_headers,
        max_age: options.max_age.unwrap_or_default(),
        allow_methods: options.allow_methods,
        allow_headers: options.allow_headers,
    })
}

const UNCHECKED: &str = "nothing is checked: the token admin may do everything, any other token has no role";

/// Prints the address of the service and how to try it.
fn print_greeting(options: &Options, address: SocketAddr) {
    // Clients cannot connect to a wildcard address, so print a loopback address instead.
    let reachable = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => (Ipv6Addr::LOCALHOST, v6.port()).into(),
        _ => address,
    };
    let scheme = scheme(options);
    let base = format!("{scheme}://{reachable}{}", options.placet.url_prefix.0);
    let data = match &options.placement_database.connection {
        Some(connection) => data_location(connection.reveal()),
        None => String::new(),
    };
    let sync_note = if options.placement_database.may_sync() {
        " (created and upgraded at start)"
    } else {
        ""
    };
    let (auth_note, token) = match (options.api.auth_strategy, &options.placet.token_file) {
        (AuthStrategy::Noauth2, None) => (UNCHECKED.to_owned(), "'X-Auth-Token: admin'"),
        (AuthStrategy::Noauth2, Some(path)) => {
            (format!("the tokens of {}", path.display()), "\"X-Auth-Token: $TOKEN\"")
        }
        (AuthStrategy::Keystone, _) => (
            "tokens are validated as [keystone_authtoken] says".to_owned(),
            "\"X-Auth-Token: $(openstack token issue -f value -c id)\"",
        ),
    };
    let greeting = format!(
        "placet {} listens on {scheme}://{address}{}\n  data: {data}{sync_note}\n  auth: {} ({auth_note})\n  try:  curl -H {token} -H 'OpenStack-API-Version: placement latest' {base}/resource_providers\n",
        env!("CARGO_PKG_VERSION"),
        options.placet.url_prefix.0,
        options.api.auth_strategy,
    );
    // The service also runs with a closed stdout.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(greeting.as_bytes()).and_then(|()| out.flush());
}

/// The location of the data: the absolute path of the file, or the URL without its password.
pub(super) fn data_location(url: &str) -> String {
    let target = crate::db::connect::url::parse(url).ok();
    match target.as_ref().and_then(|target| target.file()) {
        Some(path) => std::path::absolute(path)
            .unwrap_or_else(|_| path.to_owned())
            .display()
            .to_string(),
        None => masked_url(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packaged_files_say_what_the_greeting_says_about_tokens() {
        for text in [
            include_str!("../../contrib/container/placement.conf"),
            include_str!("../../contrib/debian/placement.conf"),
        ] {
            assert!(text.contains(UNCHECKED), "{text}");
        }
    }
}
