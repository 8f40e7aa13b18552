//! `placet db online_data_migrations`: as `placement-manage db online_data_migrations`, word for word.

use std::process::ExitCode;

use super::{Failure, table};
use crate::config::Placement;
use crate::db::{Database, DbConnection};
use crate::model::allocations::Owner;
use crate::model::upgrade::Migration;

const BATCH: usize = 50;

/// What one migration did in all batches.
struct Done {
    migration: Migration,
    count: usize,
}

pub fn run(database: &Database, options: &Placement, max_count: Option<&str>) -> Result<ExitCode, Failure> {
    let most = match max_count.map(str::parse::<usize>) {
        None => BATCH,
        Some(Ok(number)) if number > 0 => number,
        Some(_) => {
            println!("Must supply a positive value for max_count");
            return Ok(ExitCode::from(127));
        }
    };
    if max_count.is_none() {
        println!("Running batches of {BATCH} until complete");
    }
    let owner = Owner {
        project: options.incomplete_consumer_project_id.clone(),
        user: options.incomplete_consumer_user_id.clone(),
    };
    let conn = &mut database.connect()?;
    let (mut all, mut failed, mut ran): (Vec<Done>, bool, usize);
    all = Vec::new();
    loop {
        (ran, failed) = batch(conn, most, &owner, &mut all);
        if ran == 0 || max_count.is_some() {
            break;
        }
    }
    let rows: Vec<_> = all
        .iter()
        .map(|done| {
            vec![
                done.migration.name().to_owned(),
                done.count.to_string(),
                done.count.to_string(),
            ]
        })
        .collect();
    print!("{}", table::centred(&["Migration", "Total Found", "Completed"], &rows));
    let limited_progress = max_count.is_some() && ran > 0;
    if failed && !limited_progress {
        println!("Some migrations failed unexpectedly. Check log for details.");
        return Ok(ExitCode::from(2));
    }
    Ok(ExitCode::from(u8::from(ran > 0)))
}

/// Runs each migration once, until so many rows were mended; says how many were, and whether one failed.
fn batch(conn: &mut DbConnection, most: usize, owner: &Owner, all: &mut Vec<Done>) -> (usize, bool) {
    let (mut ran, mut failed) = (0, false);
    for migration in Migration::ALL {
        let count = migration.run(conn, most - ran, owner).unwrap_or_else(|error| {
            println!("Error attempting to run {}", migration.name());
            log::error!("Error attempting to run {}: {error}", migration.name());
            failed = true;
            0
        });
        if count > 0 {
            println!("{count} rows matched query {}, {count} migrated", migration.name());
        }
        match all.iter_mut().find(|done| done.migration == migration) {
            Some(done) => done.count += count,
            None => all.push(Done { migration, count }),
        }
        ran += count;
        if ran >= most {
            break;
        }
    }
    (ran, failed)
}
