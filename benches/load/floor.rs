//! The least that a claim can be in SQL: the provider's generation compared and moved, a consumer, three allocations,
//! COMMIT; statement by statement, each client on a connection of its own, with the settings that placet's have.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Nullable, Text};
use placet::db::{Database, DbConnection, Settings};

use crate::claim::{DISK_GB, MEMORY_MB, VCPU, place};
use crate::clients::Clients;
use crate::cloud::{Cloud, Dice};
use crate::tally::Tally;

#[derive(Args)]
pub struct Arguments {
    /// The database, as placement.conf names it
    #[arg(long)]
    url: String,
    #[command(flatten)]
    all: Clients,
}

/// By provider: what every client knows of it, so that hardly a claim meets another generation.
type Generations = HashMap<i32, AtomicI32>;

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let cloud = Cloud::read(&arguments.all.cloud)?;
    let database = Database::open(&Settings {
        lock_timeout: Duration::from_secs(30),
        ..Settings::new(&arguments.url)
    })?;
    let generations = read_generations(&mut database.connect()?)?;
    let mut connections: Vec<DbConnection> = (0..arguments.all.clients)
        .map(|_| database.connect())
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    let until = start + Duration::from_secs_f64(arguments.all.seconds);
    let (cloud, generations) = (&cloud, &generations);
    let tally = std::thread::scope(|scope| {
        let clients: Vec<_> = connections
            .iter_mut()
            .enumerate()
            .map(|(number, conn)| scope.spawn(move || client(conn, cloud, generations, Dice::new(number), until)))
            .collect();
        let mut all = Tally::default();
        for client in clients {
            all.add(client.join().map_err(|_| "a client's thread panicked")?);
        }
        Ok::<Tally, &str>(all)
    })?;
    tally.print(start.elapsed());
    Ok(())
}

#[derive(QueryableByName)]
struct Generation {
    #[diesel(sql_type = Integer)]
    id: i32,
    #[diesel(sql_type = Nullable<Integer>)]
    generation: Option<i32>,
}

fn read_generations(conn: &mut DbConnection) -> QueryResult<Generations> {
    let rows: Vec<Generation> = diesel::sql_query("SELECT id, generation FROM resource_providers").load(conn)?;
    let known = |row: Generation| (row.id, AtomicI32::new(row.generation.unwrap_or_default()));
    Ok(rows.into_iter().map(known).collect())
}

fn client(conn: &mut DbConnection, cloud: &Cloud, known: &Generations, mut dice: Dice, until: Instant) -> Tally {
    let mut tally = Tally::default();
    while Instant::now() < until {
        let since = Instant::now();
        match claim(conn, cloud, known, &mut dice) {
            Ok(true) => tally.done(since),
            Ok(false) => tally.note("another generation"),
            Err(error) => {
                tally.note(&format!("{error}"));
                // What was begun is undone, or was already.
                drop(conn.batch_execute("ROLLBACK"));
            }
        }
    }
    tally
}

fn claim(conn: &mut DbConnection, cloud: &Cloud, known: &Generations, dice: &mut Dice) -> QueryResult<bool> {
    let (compute, disk) = place(cloud, dice, false);
    let mut providers = vec![compute.id, disk.id];
    // Locked in one order, or two clients would wait for each other.
    providers.sort_unstable();
    providers.dedup();
    let is_sqlite = matches!(conn, DbConnection::Sqlite(_));
    conn.batch_execute(if is_sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" })?;
    let mut moved = Vec::new();
    for provider in providers {
        let generation = known.get(&provider).map_or(0, |known| known.load(Ordering::Relaxed));
        let sql = "UPDATE resource_providers SET generation = generation + 1 WHERE id = ? AND generation = ?";
        let query = diesel::sql_query(marked(conn, sql))
            .bind::<Integer, _>(provider)
            .bind::<Integer, _>(generation);
        if query.execute(conn)? != 1 {
            conn.batch_execute("ROLLBACK")?;
            return Ok(false);
        }
        moved.push((provider, generation + 1));
    }
    let consumer = dice.uuid().to_string();
    insert_consumer(conn, cloud, &consumer)?;
    let classes = &cloud.classes;
    let rows = [
        (compute.id, classes.vcpu, VCPU),
        (compute.id, classes.memory, MEMORY_MB),
        (disk.id, classes.disk, DISK_GB),
    ];
    insert_allocations(conn, &consumer, rows)?;
    conn.batch_execute("COMMIT")?;
    for (provider, generation) in moved {
        if let Some(known) = known.get(&provider) {
            known.store(generation, Ordering::Relaxed);
        }
    }
    Ok(true)
}

fn insert_consumer(conn: &mut DbConnection, cloud: &Cloud, consumer: &str) -> QueryResult<usize> {
    let sql = "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES (?, ?, ?, 1)";
    diesel::sql_query(marked(conn, sql))
        .bind::<Text, _>(consumer)
        .bind::<Integer, _>(cloud.project)
        .bind::<Integer, _>(cloud.user)
        .execute(conn)
}

fn insert_allocations(conn: &mut DbConnection, consumer: &str, rows: [(i32, i32, i32); 3]) -> QueryResult<usize> {
    let sql = "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) \
               VALUES (?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?)";
    let mut query = diesel::sql_query(marked(conn, sql)).into_boxed();
    for (provider, class, used) in rows {
        query = query
            .bind::<Integer, _>(provider)
            .bind::<Text, _>(consumer)
            .bind::<Integer, _>(class)
            .bind::<Integer, _>(used);
    }
    query.execute(conn)
}

/// The statement with its values marked as the engine does: each is prepared once a connection.
fn marked(conn: &DbConnection, sql: &str) -> String {
    if !matches!(conn, DbConnection::Postgresql(_)) {
        return sql.to_owned();
    }
    let mut parts = sql.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .zip(1..)
        .fold(first, |sql, (part, number)| format!("{sql}${number}{part}"))
}
