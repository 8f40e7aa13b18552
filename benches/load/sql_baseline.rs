//! `load sql-baseline`: many clients that execute the minimal SQL of a claim, or of a compute node's report.
//!
//! Each client has a thread and a connection of its own, with the session settings of placet's connections. It executes
//! one statement at a time, each prepared once. Only a service that shares statements or transactions among requests
//! can exceed that.

mod claim;
mod report;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use placet::benchmarked::schema::resource_providers;
use placet::benchmarked::{Database, DatabaseSettings, DbConnection};

use crate::client_options::ClientOptions;
use crate::cloud::Cloud;
use crate::random::Random;
use crate::statistics::Statistics;

const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Args)]
pub struct Arguments {
    /// The URL of the database, as in placement.conf
    #[arg(long)]
    url: String,
    #[arg(long)]
    scenario: Scenario,
    #[command(flatten)]
    options: ClientOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scenario {
    Claims,
    Report,
}

/// The newest known generation by provider, shared by all clients, so that claims rarely meet another generation.
type Generations = HashMap<i32, AtomicI32>;

struct Client<'a> {
    conn: DbConnection,
    cloud: &'a Cloud,
    generations: &'a Generations,
    random: Random,
    /// Its number among `clients`. Two clients never report for the same host.
    number: usize,
    clients: usize,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let cloud = Cloud::read(&arguments.options.cloud)?;
    let database = Database::open(&DatabaseSettings {
        lock_timeout: LOCK_TIMEOUT,
        ..DatabaseSettings::new(&arguments.url)
    })?;
    let generations = read_generations(&mut database.connect()?)?;
    let client = |number| -> Result<Client, placet::benchmarked::SetupError> {
        Ok(Client {
            conn: database.connect()?,
            cloud: &cloud,
            generations: &generations,
            random: Random::new(number),
            number,
            clients: arguments.options.clients,
        })
    };
    let clients = (0..arguments.options.clients)
        .map(client)
        .collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    let until = start + Duration::from_secs_f64(arguments.options.seconds);
    let statistics = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|client| scope.spawn(move || client.run(arguments.scenario, until)))
            .collect();
        let mut sum = Statistics::default();
        for thread in threads {
            sum.merge(thread.join().map_err(|_| "a client's thread panicked")?);
        }
        Ok::<Statistics, &str>(sum)
    })?;
    statistics.print_json(start.elapsed());
    Ok(())
}

fn read_generations(conn: &mut DbConnection) -> QueryResult<Generations> {
    use resource_providers as t;
    let rows: Vec<(i32, Option<i32>)> = t::table.select((t::id, t::generation)).load(conn)?;
    let entry = |(id, generation): (i32, Option<i32>)| (id, AtomicI32::new(generation.unwrap_or_default()));
    Ok(rows.into_iter().map(entry).collect())
}

impl Client<'_> {
    fn run(mut self, scenario: Scenario, until: Instant) -> Statistics {
        let mut statistics = Statistics::default();
        while Instant::now() < until {
            let result = match scenario {
                Scenario::Claims => self.claim(&mut statistics),
                Scenario::Report => self.report(&mut statistics),
            };
            if let Err(error) = result {
                statistics.count_outcome(&format!("{error}"));
                // Fails if the database has already rolled the transaction back.
                drop(self.conn.batch_execute("ROLLBACK"));
            }
        }
        statistics
    }

    fn begin(&mut self) -> QueryResult<()> {
        let is_sqlite = matches!(self.conn, DbConnection::Sqlite(_));
        self.conn
            .batch_execute(if is_sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" })
    }

    /// Increments a provider's generation, if it still is the expected one; otherwise returns `NotFound`.
    fn advance(&mut self, provider: i32, generation: i32) -> QueryResult<()> {
        use resource_providers as t;
        let same = t::table.filter(t::id.eq(provider)).filter(t::generation.eq(generation));
        let updated = diesel::update(same)
            .set(t::generation.eq(generation + 1))
            .execute(&mut self.conn)?;
        if updated == 1 {
            Ok(())
        } else {
            Err(diesel::result::Error::NotFound)
        }
    }

    fn generation(&self, provider: i32) -> i32 {
        self.generations
            .get(&provider)
            .map_or(0, |known| known.load(Ordering::Relaxed))
    }

    /// Notes that the increment of this generation was committed.
    fn note_advanced(&self, provider: i32, generation: i32) {
        if let Some(known) = self.generations.get(&provider) {
            known.store(generation + 1, Ordering::Relaxed);
        }
    }
}
