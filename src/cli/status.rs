//! `placet status upgrade check`, with the same table and exit codes as `placement-status`.

use std::fs;

use clap::Subcommand;

use super::command_line::CommandLine;
use super::{CommandError, db, stderr, stdout, table};
use crate::config::{Options, OsloPolicy};
use crate::db::{DbConnection, DbResult, SetupError};
use crate::model::upgrade;

const DETAIL_WIDTH: usize = 60;

#[derive(Debug, Subcommand)]
pub enum StatusCommand {
    /// Checks before and after an upgrade.
    #[command(subcommand)]
    Upgrade(Upgrade),
}

#[derive(Debug, Subcommand)]
pub enum Upgrade {
    /// Check whether the database and the policy file are ready.
    ///
    /// Exit codes, as of `placement-status`: 0, all checks succeeded; 1, a warning; 2, a failed check that must be
    /// resolved first; 255, the checks could not be run.
    Check,
}

/// The result of a check, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Success,
    Warning,
    Failure,
}

struct UpgradeCheck {
    name: &'static str,
    status: Status,
    details: Option<String>,
}

impl StatusCommand {
    pub fn run(&self, options: &Options, line: &CommandLine) -> Result<u8, CommandError> {
        let Self::Upgrade(Upgrade::Check) = self;
        let connection = db::open(options).and_then(|database| {
            database.check_log()?;
            Ok(database.connect()?)
        });
        let checks = connection.and_then(|mut conn| {
            Ok(vec![
                roots(&mut conn).map_err(SetupError::from)?,
                consumers(&mut conn).map_err(SetupError::from)?,
                policy(&options.oslo_policy),
            ])
        });
        let checks = match checks {
            Ok(checks) => checks,
            Err(failure) => {
                stderr::line(&format!("placet: {}", line.in_message(&failure.to_string())));
                return Ok(255);
            }
        };
        let cells: Vec<_> = checks.iter().map(UpgradeCheck::cell).collect();
        stdout::print(&table::boxed("Upgrade Check Results", &cells))?;
        let worst = checks.iter().map(|check| check.status).max().unwrap_or(Status::Success);
        Ok(worst as u8)
    }
}

impl UpgradeCheck {
    /// With details the check has the status, and without details it has succeeded.
    fn new(name: &'static str, status: Status, details: Option<String>) -> UpgradeCheck {
        let status = details.as_ref().map_or(Status::Success, |_| status);
        UpgradeCheck { name, status, details }
    }

    fn cell(&self) -> String {
        let details = self.details.as_deref().unwrap_or("None");
        format!("Check: {}\nResult: {:?}\nDetails: {details}", self.name, self.status)
    }
}

fn roots(conn: &mut DbConnection) -> DbResult<UpgradeCheck> {
    let details = upgrade::lacks_roots(conn)?.then_some(
        "There is at least one resource provider table record which misses its root provider id. \
         Run the \"placet db online_data_migrations\" command.",
    );
    let details = details.map(|text| table::wrapped(text, DETAIL_WIDTH));
    Ok(UpgradeCheck::new("Missing Root Provider IDs", Status::Failure, details))
}

fn consumers(conn: &mut DbConnection) -> DbResult<UpgradeCheck> {
    let missing = upgrade::missing_consumers(conn)?;
    let text = format!(
        "There are {missing} incomplete consumers table records for existing allocations. \
         Run the \"placet db online_data_migrations\" command."
    );
    let details = (missing > 0).then(|| table::wrapped(&text, DETAIL_WIDTH));
    Ok(UpgradeCheck::new("Incomplete Consumers", Status::Warning, details))
}

/// The message of OpenStack's tools, in lines of [`DETAIL_WIDTH`].
const JSON_POLICY: &str = "\
Your policy file is JSON-formatted which is deprecated. You
  need to switch to YAML-formatted file. Use the
  ``oslopolicy-convert-json-to-yaml`` tool to convert the
  existing JSON-formatted files to YAML in a backwards-
  compatible manner: https://docs.openstack.org/oslo.policy/
  latest/cli/oslopolicy-convert-json-to-yaml.html.";

/// placet itself can read JSON, which is a subset of YAML.
fn policy(options: &OsloPolicy) -> UpgradeCheck {
    let text = options.file().and_then(|path| fs::read_to_string(path).ok());
    let json = text.filter(|text| text.trim_start().starts_with('{'));
    let details = json.map(|_| JSON_POLICY.to_owned());
    UpgradeCheck::new("Policy File JSON to YAML Migration", Status::Failure, details)
}
