//! `placet status upgrade check`: as `placement-status upgrade check`, with its table and its exit codes.

use std::fs;
use std::process::ExitCode;

use clap::Subcommand;

use super::{Failure, db, table};
use crate::config::{Options, OsloPolicy};
use crate::db::{DbConnection, DbResult, SetupError};
use crate::model::upgrade;

const DETAIL_WIDTH: usize = 60;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look before and after an upgrade.
    #[command(subcommand)]
    Upgrade(Upgrade),
}

#[derive(Debug, Subcommand)]
pub enum Upgrade {
    /// Say whether the database and the policy file are ready.
    ///
    /// Exit codes, as those of `placement-status`: 0, all is well; 1, something is worth a look; 2, something must be
    /// done first; 255, the checks could not be made.
    Check,
}

/// How a check ended, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Success,
    Warning,
    Failure,
}

struct Check {
    name: &'static str,
    level: Level,
    details: Option<String>,
}

impl Command {
    pub fn run(&self, options: &Options) -> Result<ExitCode, Failure> {
        let Self::Upgrade(Upgrade::Check) = self;
        let checked = db::open(options).and_then(|database| Ok(database.connect()?));
        let checks = checked.and_then(|mut conn| {
            Ok(vec![
                roots(&mut conn).map_err(SetupError::from)?,
                consumers(&mut conn).map_err(SetupError::from)?,
                policy(&options.oslo_policy),
            ])
        });
        let checks = match checks {
            Ok(checks) => checks,
            Err(failure) => {
                eprintln!("placet: {failure}");
                return Ok(ExitCode::from(255));
            }
        };
        let cells: Vec<_> = checks.iter().map(Check::cell).collect();
        print!("{}", table::boxed("Upgrade Check Results", &cells));
        let worst = checks.iter().map(|check| check.level).max().unwrap_or(Level::Success);
        Ok(ExitCode::from(worst as u8))
    }
}

impl Check {
    fn cell(&self) -> String {
        let details = match &self.details {
            Some(text) => table::wrapped(text, DETAIL_WIDTH),
            None => "None".to_owned(),
        };
        format!("Check: {}\nResult: {:?}\nDetails: {details}", self.name, self.level)
    }
}

fn roots(conn: &mut DbConnection) -> DbResult<Check> {
    let lacking = upgrade::lacks_roots(conn)?;
    Ok(Check {
        name: "Missing Root Provider IDs",
        level: if lacking { Level::Failure } else { Level::Success },
        details: lacking.then(|| {
            "There is at least one resource provider table record which misses its root provider id. \
             Run the \"placet db online_data_migrations\" command."
                .to_owned()
        }),
    })
}

fn consumers(conn: &mut DbConnection) -> DbResult<Check> {
    let missing = upgrade::missing_consumers(conn)?;
    Ok(Check {
        name: "Incomplete Consumers",
        level: if missing > 0 { Level::Warning } else { Level::Success },
        details: (missing > 0).then(|| {
            format!(
                "There are {missing} incomplete consumers table records for existing allocations. \
                 Run the \"placet db online_data_migrations\" command."
            )
        }),
    })
}

/// placet reads JSON as the YAML that it is; who keeps OpenStack's tools around is told as they tell it.
fn policy(options: &OsloPolicy) -> Check {
    let text = options.file().and_then(|path| fs::read_to_string(path).ok());
    let json = text.is_some_and(|text| text.trim_start().starts_with('{'));
    Check {
        name: "Policy File JSON to YAML Migration",
        level: if json { Level::Failure } else { Level::Success },
        details: json.then(|| {
            "Your policy file is JSON-formatted which is deprecated. You need to switch to YAML-formatted file. Use \
             the ``oslopolicy-convert-json-to-yaml`` tool to convert the existing JSON-formatted files to YAML in a \
             backwards-compatible manner: \
             https://docs.openstack.org/oslo.policy/latest/cli/oslopolicy-convert-json-to-yaml.html."
                .to_owned()
        }),
    }
}
