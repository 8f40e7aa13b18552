//! Random commands, in batches on a database and separately on a second database. Answers and tables must be equal, and
//! each snapshot must show its tables.
//!
//! `PLACET_SEEDS` sets the number of seeds. A failure prints the seed, the round, and the batch.

mod commands;
mod descriptions;
mod hosts;
mod searches;
mod workloads;

use std::collections::BTreeSet;

use super::process::Process;
use super::{Fixture, Level, fixture, inventory, uuid};
use crate::db::engines::dialect;
use crate::db::schema::tests::OWN_TABLES;
use crate::db::{DbConnection, DbResult};
use crate::error::{Error, Result};
use crate::model::batch::command::{Answer, Command, Ensured, Write};
use crate::model::snapshot::load;
use crate::model::{inventories, resource_classes, resource_providers, traits};
use crate::tests::by_size;
pub use commands::{Known, Rng, command};

const ROUNDS: u64 = 60;
const SEEDS: u64 = 3;
const FULL_SEEDS: u64 = 8;

/// placet's tables whose rows differ between processes or databases. `TABLES` has the descriptions by provider.
const NOT_COMPARED: [&str; 7] = [
    "placet_migrations",
    "placet_writers",
    "placet_changes",
    "placet_epoch",
    "placet_leader",
    "placet_claims",
    "placet_descriptions",
];

/// The tables of nouns, with the columns.
fn nouns() -> impl Iterator<Item = (&'static str, &'static [(&'static str, &'static str)])> {
    let tables = OWN_TABLES.iter().copied();
    tables.filter(|(table, _)| !NOT_COMPARED.contains(table))
}

/// SQL for the rows of a table as texts that begin with the table's name, without times.
fn rows_as_texts(conn: &DbConnection, table: &str, columns: &[(&str, &str)]) -> String {
    let text = dialect::text_cast(conn);
    let columns = columns.iter().filter(|(_, kind)| !kind.contains("Timestamp"));
    let texts = columns.map(|(column, _)| format!(" || ' ' || COALESCE(CAST({column} AS {text}), '-')"));
    format!("SELECT '{table}'{} AS t FROM {table}", texts.collect::<String>())
}

/// A database with its process.
struct Side {
    fixture: Fixture,
    process: Process,
}

impl Side {
    fn new() -> Side {
        let fixture = fixture();
        let process = Process::start(&fixture.database, true);
        Side { fixture, process }
    }

    /// A transaction, like the writer's; `None` after a conflict.
    fn transaction(&mut self, commands: &[&Command], from_database: bool) -> DbResult<Option<Vec<Result<Answer>>>> {
        Ok(self.process.commit(commands, from_database)?.map(|(answers, pending)| {
            self.process.publish(pending);
            answers
        }))
    }

    /// Runs commands like the writer: again after a conflict, and in halves if the database refuses something.
    fn run(&mut self, commands: &[&Command]) -> Vec<Result<Answer>> {
        for from_database in [false, true, true] {
            match self.transaction(commands, from_database) {
                Ok(Some(answers)) => return answers,
                Ok(None) => {}
                Err(_) if commands.len() > 1 => {
                    let (first, second) = commands.split_at(commands.len() / 2);
                    return [self.run(first), self.run(second)].concat();
                }
                Err(error) => return vec![Err(error.into())],
            }
        }
        panic!("three conflicts although no other process writes: {commands:?}")
    }

    /// The rows of all tables as sorted texts, with names instead of ids.
    fn tables(&mut self) -> Vec<String> {
        const TABLES: [&str; 9] = [
            "SELECT 'provider ' || p.uuid || ' ' || p.name || ' ' || p.generation || ' ' || COALESCE(q.uuid, '-') || ' ' \
             || COALESCE(r.uuid, '?') AS t FROM resource_providers p LEFT JOIN resource_providers q ON \
             q.id = p.parent_provider_id LEFT JOIN resource_providers r ON r.id = p.root_provider_id",
            "SELECT 'inventory ' || COALESCE(p.uuid, '?') || ' ' || COALESCE(c.name, '?') || ' ' || total || ' ' || \
             reserved || ' ' || max_unit || ' ' || allocation_ratio AS t FROM inventories i LEFT JOIN \
             resource_providers p ON p.id = i.resource_provider_id LEFT JOIN resource_classes c ON \
             c.id = i.resource_class_id",
            "SELECT 'trait ' || COALESCE(p.uuid, '?') || ' ' || COALESCE(c.name, '?') AS t FROM \
             resource_provider_traits i LEFT JOIN resource_providers p ON p.id = i.resource_provider_id LEFT JOIN \
             traits c ON c.id = i.trait_id",
            "SELECT 'aggregate ' || COALESCE(p.uuid, '?') || ' ' || COALESCE(c.uuid, '?') AS t FROM \
             resource_provider_aggregates i LEFT JOIN resource_providers p ON p.id = i.resource_provider_id LEFT JOIN \
             placement_aggregates c ON c.id = i.aggregate_id",
            "SELECT 'allocation ' || a.consumer_id || ' ' || COALESCE(p.uuid, '?') || ' ' || COALESCE(c.name, '?') || \
             ' ' || used AS t FROM allocations a LEFT JOIN resource_providers p ON p.id = a.resource_provider_id LEFT \
             JOIN resource_classes c ON c.id = a.resource_class_id",
            "SELECT 'consumer ' || c.uuid || ' ' || c.generation || ' ' || p.external_id || ' ' || u.external_id || ' ' \
             || COALESCE(t.name, '-') AS t FROM consumers c LEFT JOIN projects p ON p.id = c.project_id LEFT JOIN users \
             u ON u.id = c.user_id LEFT JOIN consumer_types t ON t.id = c.consumer_type_id",
            "SELECT 'description ' || COALESCE(p.uuid, '?') || ' ' || d.uuid || ' ' || d.generation || ' ' || d.state || ' ' \
             || d.sets_trait || ' ' || d.body AS t FROM placet_descriptions d LEFT JOIN resource_providers p ON \
             p.id = d.resource_provider_id",
            "SELECT 'class ' || name AS t FROM resource_classes WHERE id >= 10000",
            "SELECT 'custom trait ' || name AS t FROM traits WHERE name LIKE 'CUSTOM%'",
        ];
        let own = nouns().map(|(table, columns)| rows_as_texts(&self.fixture.conn, table, columns));
        let queries: Vec<String> = TABLES.iter().map(|sql| (*sql).to_owned()).chain(own).collect();
        let mut all: Vec<String> = queries.iter().flat_map(|sql| self.fixture.texts(sql)).collect();
        all.sort();
        all
    }

    /// Asserts that the snapshot shows the tables.
    fn check_snapshot(&mut self) {
        let snapshot = self.process.store.newest();
        let (catalog, rows) = load::snapshot_parts(&mut self.fixture.conn, || Ok(())).unwrap();
        let classes = |catalog: &crate::search::Catalog| -> Vec<String> {
            catalog.classes().map(|(id, name)| format!("{} {name}", id.0)).collect()
        };
        assert_eq!(classes(snapshot.catalog()), classes(&catalog));
        let limits = |catalog: &crate::search::Catalog| catalog.normal_limits().collect::<Vec<_>>();
        assert_eq!(limits(snapshot.catalog()), limits(&catalog));
        assert_eq!(snapshot.catalog().declarations(), catalog.declarations());
        assert_eq!(snapshot.len(), rows.len());
        for row in rows {
            let slot = snapshot
                .by_id(row.id)
                .expect("a provider of the tables is in the snapshot");
            assert_eq!(snapshot.row(slot), row);
            assert_eq!(
                (snapshot.by_uuid(&row.uuid), snapshot.by_name(&row.name)),
                (Some(slot), Some(slot))
            );
            assert!(
                snapshot
                    .children(slot)
                    .iter()
                    .all(|child| snapshot.parent(*child) == Some(slot))
            );
        }
    }

    fn prepare(&mut self) {
        for n in 1..7u32 {
            let parent = (n % 3 == 0).then(|| uuid(n - 1));
            let create = resource_providers::Create {
                uuid: uuid(n),
                name: format!("n{}", n - 1),
                parent,
            };
            let classes = ["CUSTOM_A", "CUSTOM_B"].map(|name| resource_classes::Ensure { name: name.into() });
            let classes = classes.map(Write::into_command);
            let fill = inventories::Replace {
                provider: uuid(n),
                generation: 0,
                inventories: ["VCPU", "CUSTOM_A", "CUSTOM_B"]
                    .map(|name| (name.to_owned(), inventory(40)))
                    .to_vec(),
                reserved_may_equal_total: true,
            };
            let all = [&create.into_command(), &classes[0], &classes[1], &fill.into_command()];
            assert!(self.run(&all).iter().all(Result::is_ok));
        }
    }
}

/// The answer as text, or the refusal.
fn outcome(answer: &Result<Answer>) -> String {
    match answer {
        Ok(answer) => shown(answer),
        Err(Error::ClaimWithoutInventory { .. }) => "no inventory".into(),
        Err(Error::ClaimRefused(refusal)) => {
            let counts = refusal.consumers.iter().map(|it| it.reasons.counts().collect());
            format!("{:?}", counts.collect::<Vec<Vec<_>>>())
        }
        Err(other) => format!("{other:?}"),
    }
}

/// An answer as text, without times, and without names whose order is not defined.
fn shown(answer: &Answer) -> String {
    if let Some(it) = answer.get::<resource_providers::Provider>() {
        return format!("{} {} {} {:?} {}", it.uuid, it.name, it.generation, it.parent, it.root);
    }
    if let Some(it) = answer.get::<inventories::Inventories>() {
        return format!("{} {} {:?}", it.provider, it.generation, it.inventories);
    }
    if let Some(it) = answer.get::<traits::ProviderTraits>() {
        let names = it.traits.iter().map(|it| &it.name);
        return format!("{} {:?}", it.generation, names.collect::<Vec<_>>());
    }
    match answer.get::<Ensured>() {
        Some(it) => format!("created: {}", it.created),
        None => format!("{answer:?}"),
    }
}

/// Returns the first words of all rows: the names of the nouns' tables with rows.
fn replay(seed: u64) -> BTreeSet<String> {
    let mut rng = Rng::new(seed);
    let mut filled = BTreeSet::new();
    let (mut batched, mut alone) = (Side::new(), Side::new());
    batched.prepare();
    alone.prepare();
    for round in 0..ROUNDS {
        let known = Known::read(&mut alone.fixture.conn).unwrap();
        let level = if rng.chance(40) { Level::Claims } else { Level::All };
        let commands: Vec<Command> = (0..=rng.below(12)).map(|_| command(&mut rng, &known, level)).collect();
        let all: Vec<&Command> = commands.iter().collect();
        let got: Vec<String> = batched.run(&all).iter().map(outcome).collect();
        let wanted: Vec<String> = all
            .iter()
            .flat_map(|one| alone.run(&[*one]))
            .map(|it| outcome(&it))
            .collect();
        assert_eq!(got, wanted, "seed {seed}, round {round}: {commands:#?}");
        let rows = batched.tables();
        assert_eq!(rows, alone.tables(), "seed {seed}, round {round}: {commands:#?}");
        filled.extend(rows.iter().filter_map(|row| row.split(' ').next().map(str::to_owned)));
        batched.check_snapshot();
        alone.check_snapshot();
        searches::check(&batched.process.store.newest(), &mut batched.fixture.conn);
        searches::check(&alone.process.store.newest(), &mut alone.fixture.conn);
    }
    filled
}

#[test]
fn a_batch_does_what_its_commands_do_one_by_one() {
    let seeds = std::env::var("PLACET_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(by_size(SEEDS, FULL_SEEDS));
    let mut filled = BTreeSet::new();
    for seed in 1..=seeds {
        println!("seed {seed}");
        filled.extend(replay(seed));
    }
    for (table, _) in nouns() {
        assert!(filled.contains(table), "no random command of commands.rs fills {table}");
    }
}

/// Found by the replay of seed 5: the uses of a class were looked up by a name from before an earlier command.
#[test]
fn a_class_renamed_in_a_batch_is_still_in_use() {
    let mut side = Side::new();
    side.prepare();
    let rename = resource_classes::Rename {
        from: "CUSTOM_A".into(),
        to: "CUSTOM_C".into(),
    }
    .into_command();
    let delete = resource_classes::Delete {
        name: "CUSTOM_C".into(),
    }
    .into_command();
    let answers = side.run(&[&rename, &delete]);
    assert!(answers[0].is_ok());
    assert_eq!(
        answers[1].as_ref().unwrap_err(),
        &Error::ClassInUse {
            name: "CUSTOM_C".into()
        }
    );
}
