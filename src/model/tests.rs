//! Tests of the model on a real database: an SQLite file, or the database of PLACET_TEST_DATABASE. The tests read the
//! tables with SQL of their own. A small noun has its tests in its own file, with a [`Fixture`].

mod acknowledged;
mod batches;
mod bulk_reads;
mod call_usage;
mod choices;
mod claims;
mod comparison;
mod declared_domains;
mod descriptions;
mod domain_losses;
mod domain_states;
mod domains;
mod following;
mod foreign;
mod foreign_notices;
mod full_hosts;
mod generation_limits;
mod held_rows;
mod hosts;
mod in_batch;
mod inventory_races;
mod inventory_writes;
mod large_claims;
mod large_commands;
mod limits;
mod locked_batches;
mod lost_plans;
mod multi_process;
mod name_races;
mod name_tables;
mod new_consumers;
mod pipelines;
mod placing;
mod process;
mod provider_reads;
mod provider_states;
mod providers;
mod reads;
mod reconnects;
mod refusals;
mod refused_claims;
mod refused_placing;
mod reload_races;
mod reloads;
mod repeats;
mod replays;
mod reshapes;
mod spellings;
mod suspension;
mod types;
mod unverified_searches;
mod usages;
mod workloads;
mod writers;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::allocations::{Claim, ConsumerClaim, Expected, Owner, Takeover};
use super::batch::command::{Answer, Write};
use super::batch::refusals::Verification;
use super::comparisons;
use super::inventories::{Add, Inventory, Replace};
use super::resource_providers::Create;
use super::{Model, Rules, Running};
use crate::caller::CallerKey;
use crate::db::engines::dialect;
use crate::db::tests::support::{Kind, TestDatabase};
use crate::db::writer::{WalLimits, WriterSettings};
use crate::db::{Database, DbConnection, DbResult};
use crate::error::{Error, Result};
use crate::model::planner::PlannedRequest;
use crate::pools::Pools;
use crate::search::Snapshot;

/// A model on a database of its own, with a connection for reading the tables.
pub(super) struct Fixture {
    pub(super) model: Model,
    _running: Running,
    database: Database,
    conn: DbConnection,
    kept: TestDatabase,
}

fn rules() -> Rules {
    Rules {
        strict_step_size: false,
        incomplete_owner: Owner {
            project: "no-project".into(),
            user: "no-user".into(),
        },
        write_answer: repeats::write,
        read_spec: workloads::read,
    }
}

/// A verification of refusals, with a valid snapshot.
fn verification<'a>(rules: &'a Rules, snapshot: &'a Snapshot) -> Verification<'a> {
    Verification::new(rules, snapshot, true)
}

/// The refusal of each verified command; `None` for a grant.
fn refusals_of(verified: DbResult<Vec<Result<Answer>>>) -> Vec<Option<Error>> {
    verified.unwrap().into_iter().map(std::result::Result::err).collect()
}

fn writer_settings() -> WriterSettings {
    WriterSettings {
        queue_size: 1000,
        commit_timeout: std::time::Duration::from_secs(10),
        wal: WalLimits::default(),
        claim_memory: std::time::Duration::from_secs(3600),
        election_interval: crate::db::ELECTION_INTERVAL,
    }
}

fn caller() -> CallerKey {
    CallerKey::of_address(None)
}

impl Model {
    /// As `submit_for`, for the caller of the tests.
    pub async fn submit<C: Write>(&self, command: C) -> Result<C::Answer> {
        self.submit_for(&caller(), command).await
    }
}

fn pools() -> std::sync::Arc<Pools> {
    Pools::start(100).expect("runtimes").into()
}

pub(super) fn fixture() -> Fixture {
    let (kept, database) = TestDatabase::synced();
    let lock = database.lock_for_serving().unwrap();
    let (model, running) = Model::start((database.clone(), None), &writer_settings(), rules(), lock, pools()).unwrap();
    let mut conn = database.connect().unwrap();
    if Kind::of(&conn) == Kind::Mariadb {
        // The tests' own SQL joins texts with `||`, as in the standard.
        diesel::sql_query("SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')")
            .execute(&mut conn)
            .unwrap();
    }
    Fixture {
        model,
        _running: running,
        conn,
        database,
        kept,
    }
}

fn inventory(total: i32) -> Inventory {
    Inventory {
        total,
        reserved: 0,
        min_unit: 1,
        max_unit: i32::MAX,
        step_size: 1,
        allocation_ratio: 1.0,
    }
}

fn uuid(n: u32) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

/// The command for adding an inventory to a provider.
fn adding(provider: u32, class: &str, total: i32) -> Add {
    Add {
        provider: uuid(provider),
        class: class.to_owned(),
        inventory: inventory(total),
        reserved_may_equal_total: true,
    }
}

/// The command for replacing all inventories of provider 1.
fn replacing(generation: i64, inventories: &[(&str, Inventory)]) -> Replace {
    let named = inventories.iter().map(|(class, it)| ((*class).to_owned(), *it));
    Replace {
        provider: uuid(1),
        generation,
        inventories: named.collect(),
        reserved_may_equal_total: true,
    }
}

/// A claim of a consumer on a provider.
fn claim(consumer: u32, provider: u32, class: &str, amount: i64, generation: Expected) -> Claim {
    claim_of(vec![consumer_claim(
        consumer,
        vec![(provider, class, amount)],
        generation,
    )])
}

fn claim_of(consumers: Vec<ConsumerClaim>) -> Claim {
    Claim {
        consumers,
        names_consumer: false,
    }
}

fn consumer_claim(consumer: u32, asks: Vec<(u32, &str, i64)>, generation: Expected) -> ConsumerClaim {
    ConsumerClaim {
        consumer: uuid(consumer),
        allocations: asks
            .into_iter()
            .map(|(p, class, n)| (uuid(p), vec![(class.to_owned(), n)]))
            .collect(),
        owner: Some(Owner {
            project: "p".into(),
            user: "u".into(),
        }),
        generation,
        takeover: Takeover::AnyProject,
        consumer_type: None,
    }
}

impl Fixture {
    /// A provider with `total` of VCPU.
    async fn host(&mut self, n: u32, total: i32) -> Result<()> {
        let create = Create {
            uuid: uuid(n),
            name: format!("host-{n}"),
            parent: None,
        };
        self.model.submit(create).await?;
        self.model.submit(adding(n, "VCPU", total)).await?;
        Ok(())
    }

    /// A provider with its description.
    async fn described(&self, n: u32) -> super::providers::Described {
        super::providers::fetch(self.model.reader(false), uuid(n))
            .await
            .unwrap()
    }

    /// The column `n` of a query's first row.
    fn number(&mut self, sql: &str) -> i64 {
        #[derive(QueryableByName)]
        struct Number {
            #[diesel(sql_type = BigInt)]
            n: i64,
        }
        // Engines differ in the type of a sum, and in the name of the integer type.
        let integer = match self.conn {
            #[cfg(feature = "mariadb")]
            DbConnection::Mariadb(_) => "SIGNED",
            _ => "BIGINT",
        };
        let sql = format!("SELECT CAST(n AS {integer}) AS n FROM ({sql}) it");
        diesel::sql_query(sql).get_result::<Number>(&mut self.conn).unwrap().n
    }

    fn generation(&mut self, provider: u32) -> i64 {
        self.number(&format!(
            "SELECT generation AS n FROM resource_providers WHERE uuid = '{}'",
            uuid(provider)
        ))
    }

    fn used(&mut self, provider: u32) -> i64 {
        self.number(&format!(
            "SELECT COALESCE(SUM(used), 0) AS n FROM allocations a JOIN resource_providers p \
             ON p.id = a.resource_provider_id WHERE p.uuid = '{}'",
            uuid(provider)
        ))
    }

    fn execute(&mut self, sql: &str) -> usize {
        diesel::sql_query(sql).execute(&mut self.conn).unwrap()
    }

    fn texts(&mut self, sql: &str) -> Vec<String> {
        #[derive(QueryableByName)]
        struct One {
            #[diesel(sql_type = Text)]
            t: String,
        }
        let rows: Vec<One> = diesel::sql_query(sql).load(&mut self.conn).unwrap();
        rows.into_iter().map(|row| row.t).collect()
    }

    /// Asserts equality of snapshot and tables, row by row.
    async fn check_snapshot(&mut self) {
        assert_shows_tables(&self.model.snapshot().await.unwrap(), &mut self.conn);
    }

    /// Copies every table. Returns the name for `restore`.
    fn backup(&mut self) -> String {
        self.backup_as("backup")
    }

    fn backup_as(&mut self, name: &str) -> String {
        for table in self.table_names() {
            self.execute(&format!("CREATE TABLE kept_{name}_{table} AS SELECT * FROM {table}"));
        }
        name.to_owned()
    }

    fn table_names(&mut self) -> Vec<String> {
        let mut tables = dialect::table_names(&mut self.conn).unwrap();
        tables.retain(|table| !table.starts_with("kept_"));
        tables
    }

    /// Restores the tables from a backup in a single transaction. Connections stay open.
    fn restore(&mut self, backup: &str) {
        let (off, on) = match Kind::of(&self.conn) {
            Kind::Sqlite => ("PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys = ON"),
            #[cfg(feature = "postgresql")]
            Kind::Postgresql => (
                "SET session_replication_role = replica",
                "SET session_replication_role = DEFAULT",
            ),
            Kind::Mariadb => ("SET foreign_key_checks = 0", "SET foreign_key_checks = 1"),
        };
        let tables = self.table_names();
        self.execute(off);
        dialect::begin_write(&mut self.conn).unwrap();
        for table in tables {
            self.execute(&format!("DELETE FROM {table}"));
            self.execute(&format!("INSERT INTO {table} SELECT * FROM kept_{backup}_{table}"));
        }
        dialect::commit(&mut self.conn).unwrap();
        self.execute(on);
    }
}

/// Asserts equality of a snapshot and the tables, row by row.
fn assert_shows_tables(snapshot: &Snapshot, conn: &mut DbConnection) {
    let (catalog, rows) =
        dialect::read_transaction(conn, |conn| super::snapshot::load::snapshot_parts(conn, || Ok(()))).unwrap();
    assert_eq!(*snapshot.catalog(), catalog);
    assert_eq!(snapshot.len(), rows.len(), "the number of providers");
    let rows: Vec<_> = rows.collect();
    for (id, description) in super::providers::of_reloaded(conn, &rows).unwrap() {
        let shown = snapshot.by_id(id).map(|slot| snapshot.description(slot));
        assert_eq!(shown, Some(description), "the description of provider {}", id.0);
    }
    for row in rows {
        let slot = snapshot
            .by_id(row.id)
            .unwrap_or_else(|| panic!("{} is missing", row.name));
        assert_eq!(snapshot.row(slot), row);
        let children = snapshot.children(slot);
        assert!(children.iter().all(|child| snapshot.parent(*child) == Some(slot)));
        if let Some(parent) = snapshot.parent(slot) {
            assert!(
                snapshot.children(parent).contains(&slot),
                "{} is not among its parent's children",
                row.name
            );
        }
    }
}

/// The kinds of commands in a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Claims,
    All,
}
