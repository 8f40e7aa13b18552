//! The least that a claim, or what a compute node reports, can be in SQL: statement by statement, each prepared once a
//! connection, each client on a connection of its own, with the settings that placet's have.

mod claim;
mod report;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use placet::db::schema::resource_providers;
use placet::db::{Database, DbConnection, Settings};

use crate::clients::Clients;
use crate::cloud::{Cloud, Dice};
use crate::tally::Tally;

#[derive(Args)]
pub struct Arguments {
    /// The database, as placement.conf names it
    #[arg(long)]
    url: String,
    #[arg(long)]
    scenario: Scenario,
    #[command(flatten)]
    all: Clients,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scenario {
    Claims,
    Report,
}

/// By provider: what every client knows of it, so that hardly a claim meets another generation.
type Generations = HashMap<i32, AtomicI32>;

struct Client<'a> {
    conn: DbConnection,
    cloud: &'a Cloud,
    known: &'a Generations,
    dice: Dice,
    /// Its place among all: no two report for the same host.
    number: usize,
    of: usize,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let cloud = Cloud::read(&arguments.all.cloud)?;
    let database = Database::open(&Settings {
        lock_timeout: Duration::from_secs(30),
        ..Settings::new(&arguments.url)
    })?;
    let known = read_generations(&mut database.connect()?)?;
    let of = arguments.all.clients;
    let client = |number| -> Result<Client, placet::db::SetupError> {
        let (cloud, known, dice) = (&cloud, &known, Dice::new(number));
        let conn = database.connect()?;
        Ok(Client {
            conn,
            cloud,
            known,
            dice,
            number,
            of,
        })
    };
    let clients = (0..of).map(client).collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    let until = start + Duration::from_secs_f64(arguments.all.seconds);
    let tally = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|client| scope.spawn(move || client.run(arguments.scenario, until)))
            .collect();
        let mut all = Tally::default();
        for thread in threads {
            all.add(thread.join().map_err(|_| "a client's thread panicked")?);
        }
        Ok::<Tally, &str>(all)
    })?;
    tally.print(start.elapsed());
    Ok(())
}

fn read_generations(conn: &mut DbConnection) -> QueryResult<Generations> {
    use resource_providers as t;
    let rows: Vec<(i32, Option<i32>)> = t::table.select((t::id, t::generation)).load(conn)?;
    let known = |(id, generation): (i32, Option<i32>)| (id, AtomicI32::new(generation.unwrap_or_default()));
    Ok(rows.into_iter().map(known).collect())
}

impl Client<'_> {
    fn run(mut self, scenario: Scenario, until: Instant) -> Tally {
        let mut tally = Tally::default();
        while Instant::now() < until {
            let done = match scenario {
                Scenario::Claims => self.claim(&mut tally),
                Scenario::Report => self.report(&mut tally),
            };
            if let Err(error) = done {
                tally.note(&format!("{error}"));
                // What was begun is undone, or was already.
                drop(self.conn.batch_execute("ROLLBACK"));
            }
        }
        tally
    }

    fn begin(&mut self) -> QueryResult<()> {
        let is_sqlite = matches!(self.conn, DbConnection::Sqlite(_));
        self.conn
            .batch_execute(if is_sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" })
    }

    /// Compares and moves a provider's generation; anything else than the one that is there is an error.
    fn advance(&mut self, provider: i32, generation: i32) -> QueryResult<()> {
        use resource_providers as t;
        let same = t::table.filter(t::id.eq(provider)).filter(t::generation.eq(generation));
        let moved = diesel::update(same)
            .set(t::generation.eq(generation + 1))
            .execute(&mut self.conn)?;
        if moved == 1 {
            Ok(())
        } else {
            Err(diesel::result::Error::NotFound)
        }
    }

    fn generation(&self, provider: i32) -> i32 {
        self.known
            .get(&provider)
            .map_or(0, |known| known.load(Ordering::Relaxed))
    }

    /// Once it is committed that it was moved.
    fn moved(&self, provider: i32, generation: i32) {
        if let Some(known) = self.known.get(&provider) {
            known.store(generation + 1, Ordering::Relaxed);
        }
    }
}
