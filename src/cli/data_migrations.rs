//! `placet db online_data_migrations`, with the same output and exit codes as `placement-manage`.

use super::{CommandError, stdout, table};
use crate::config::Placement;
use crate::db::{Database, DbConnection};
use crate::model::allocations::Owner;
use crate::model::upgrade::Migration;

const BATCH_ROWS: usize = 50;

pub fn run(database: &Database, options: &Placement, max_count: Option<&str>) -> Result<u8, CommandError> {
    let max_rows = match max_count.map(str::parse::<usize>) {
        None => BATCH_ROWS,
        Some(Ok(number)) if number > 0 => number,
        Some(_) => {
            stdout::line("Must supply a positive value for max_count")?;
            return Ok(127);
        }
    };
    if max_count.is_none() {
        stdout::line(&format!("Running batches of {BATCH_ROWS} until complete"))?;
    }
    let owner = Owner {
        project: options.incomplete_consumer_project_id.clone(),
        user: options.incomplete_consumer_user_id.clone(),
    };
    let conn = &mut database.connect()?;
    // For each migration that was tried, the rows that the migration changed in all batches.
    let mut totals: Vec<usize> = Vec::new();
    // The last batch tries all migrations, so only its failures remain.
    let (ran, failed) = loop {
        let (ran, failed) = batch(conn, max_rows, &owner, &mut totals)?;
        if ran == 0 || max_count.is_some() {
            break (ran, failed);
        }
    };
    let named = Migration::ALL.iter().zip(&totals);
    let rows: Vec<_> = named
        .map(|(migration, count)| vec![migration.name().to_owned(), count.to_string(), count.to_string()])
        .collect();
    stdout::print(&table::centred(&["Migration", "Total Found", "Completed"], &rows))?;
    let is_to_be_repeated = max_count.is_some() && ran > 0;
    if failed && !is_to_be_repeated {
        stdout::line("Some migrations failed unexpectedly. Check log for details.")?;
        return Ok(2);
    }
    Ok(u8::from(ran > 0))
}

/// Runs each migration once, until at most `max_rows` rows are changed. Returns the number of changed rows, and whether
/// a migration failed.
fn batch(
    conn: &mut DbConnection,
    max_rows: usize,
    owner: &Owner,
    totals: &mut Vec<usize>,
) -> Result<(usize, bool), CommandError> {
    let (mut ran, mut failed) = (0, false);
    for (index, migration) in Migration::ALL.into_iter().enumerate() {
        let count = match migration.run(conn, max_rows - ran, owner) {
            Ok(count) => count,
            Err(error) => {
                stdout::line(&format!("Error attempting to run {}", migration.name()))?;
                log::error!("Error attempting to run {}: {error}", migration.name());
                failed = true;
                0
            }
        };
        if count > 0 {
            stdout::line(&format!(
                "{count} rows matched query {}, {count} migrated",
                migration.name()
            ))?;
        }
        match totals.get_mut(index) {
            Some(total) => *total += count,
            None => totals.push(count),
        }
        ran += count;
        if ran >= max_rows {
            break;
        }
    }
    Ok((ran, failed))
}
