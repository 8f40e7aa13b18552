//! Consumers that claims expect to be new: their rows are made at once, before anything is read.
//!
//! Where a row is made it locks the consumer, as an empty one would (see `gather`), and commonly it is what the batch is to
//! leave: then nothing of it has to be written again. A consumer that is there already is left to `gather`.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;

use super::allocations::{ConsumerClaim, Expected};
use super::command::Command;
use super::decide::Rules;
use super::gather::UUID_MAX;
use super::named::Named;
use super::state::{ConsumerEntry, ConsumerRow, LockRow};
use crate::db::rows::{InsertFromRows, Value};
use crate::db::{DbConnection, DbResult, dialect};

/// Owners that are not there yet are left out: -1 is `gather::NOBODY`. Those that are never change their ids.
const MAKE: InsertFromRows = InsertFromRows {
    into: "consumers (created_at, uuid, project_id, user_id, generation, consumer_type_id)",
    columns: &["uuid", "project_name", "user_name", "type_name"],
    select: "v.uuid, COALESCE(projects.id, -1), COALESCE(users.id, -1), 1, consumer_types.id",
    rest: "LEFT JOIN projects ON projects.external_id = v.project_name \
           LEFT JOIN users ON users.external_id = v.user_name \
           LEFT JOIN consumer_types ON consumer_types.name = v.type_name \
           ORDER BY v.uuid COLLATE \"C\" ON CONFLICT DO NOTHING",
};

/// The rows that were made, by consumer.
#[derive(Default)]
pub struct Newcomers {
    rows: BTreeMap<String, LockRow>,
}

impl Newcomers {
    /// Makes them, where the engine can. Who is there already is not waited for longer than it takes to see that.
    pub fn make(
        conn: &mut DbConnection,
        commands: &[&Command],
        rules: &Rules,
        now: NaiveDateTime,
    ) -> DbResult<Newcomers> {
        let expected = expected(commands, rules);
        if expected.is_empty() || !dialect::looks_while_it_writes(conn) {
            return Ok(Newcomers::default());
        }
        let rows: Vec<Vec<Value>> = expected
            .iter()
            .map(|(uuid, row)| {
                vec![
                    Value::Text((*uuid).to_owned()),
                    Value::Text(row.project.clone()),
                    Value::Text(row.user.clone()),
                    Value::MaybeText(row.consumer_type.clone()),
                ]
            })
            .collect();
        let returning = "uuid, id, project_id >= 0 AND user_id >= 0, consumer_type_id IS NOT NULL";
        let made = MAKE.make(conn, now, &rows, returning)?;
        let rows = made.into_iter().map(|(uuid, id, is_owned, is_typed)| {
            let wanted = expected.get(uuid.as_str());
            let is_it = |row: &&ConsumerRow| is_owned && is_typed == row.consumer_type.is_some();
            let made = wanted.filter(is_it).cloned();
            (uuid, LockRow { id, made })
        });
        Ok(Newcomers { rows: rows.collect() })
    }

    pub fn row(&self, consumer: &str) -> Option<&LockRow> {
        self.rows.get(consumer)
    }

    /// All that the commands name, where they are all new: what they hold is not read, but looked at in the end.
    pub fn all(&self, named: &Named<'_>) -> Option<BTreeMap<String, ConsumerEntry>> {
        if self.rows.is_empty() || self.rows.len() != named.consumers.len() {
            return None;
        }
        let entry = |row: &LockRow| ConsumerEntry {
            lock_row: Some(row.clone()),
            unread: true,
            ..ConsumerEntry::default()
        };
        Some(self.rows.iter().map(|(uuid, row)| (uuid.clone(), entry(row))).collect())
    }
}

/// What consumers are to be of which the first command says that they are new.
fn expected<'a>(commands: &[&'a Command], rules: &Rules) -> BTreeMap<&'a str, ConsumerRow> {
    let mut first: BTreeMap<&str, Option<&ConsumerClaim>> = BTreeMap::new();
    for command in commands {
        match command {
            Command::Claim(claim) => claim.consumers.iter().for_each(|one| {
                first.entry(&one.consumer).or_insert(Some(one));
            }),
            Command::Release(release) => {
                first.entry(&release.consumer).or_insert(None);
            }
            _ => {}
        }
    }
    let is_new = |one: &&ConsumerClaim| one.generation == Expected::New && !one.allocations.is_empty();
    first
        .into_iter()
        .filter(|(uuid, _)| uuid.chars().count() <= UUID_MAX)
        .filter_map(|(uuid, one)| Some((uuid, rules.new_consumer(one.filter(is_new)?))))
        .collect()
}
