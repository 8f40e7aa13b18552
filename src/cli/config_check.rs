//! `placet config check`: all mistakes in the configuration at once.

use super::command_line::CommandLine;
use super::{CommandError, db, keystone, logging, parts, policy, sockets, stdout};
use crate::config::{self, AuthStrategy, ConfigError, ConfigSources, Options};
use crate::db::{Database, SetupError};

/// The mistakes and notes. The lines go to stdout, the worst last.
#[derive(Default)]
struct Findings {
    notes: Vec<String>,
    /// Warnings about settings that OpenStack Placement accepts, so the warnings are no failure of the check.
    ineffective: Vec<String>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

/// The extent of the checks and of the output.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Extent {
    /// Connect to the database too, and check its tables, its server's settings, and whether a file can be written.
    /// Nothing is changed.
    #[arg(long)]
    database: bool,
    /// Ask Keystone for a token with the credentials of `[keystone_authtoken]`, and have Keystone validate it.
    #[arg(long)]
    keystone: bool,
    /// Print warnings and errors alone, and nothing if there are none.
    #[arg(long)]
    quiet: bool,
}

/// Prints the mistakes.
///
/// # Errors
/// [`CommandError::Stdout`].
pub fn run(sources: &ConfigSources, line: &CommandLine, extent: Extent) -> Result<u8, CommandError> {
    find(sources, extent).print(line, extent.quiet)
}

/// All reasons why placet does not start, as far as placet knows the reasons without the database.
pub fn errors(sources: &ConfigSources) -> Vec<String> {
    find(sources, Extent::default()).errors
}

/// The failure of a command. If the configuration has more mistakes, the failure says how to see all mistakes.
pub fn with_others(failure: &CommandError, sources: &ConfigSources) -> String {
    let others = match failure {
        // The consequences of a missing file are no mistakes of their own.
        CommandError::Config(ConfigError::Unreadable { .. }) => 0,
        CommandError::Config(_) => errors(sources).len().saturating_sub(1),
        _ => 0,
    };
    match others {
        0 => failure.to_string(),
        _ => format!(
            "{failure}. `placet config check` shows this and {}",
            count(others, "more error")
        ),
    }
}

/// The number of things as words, such as `2 errors`.
fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

fn find(sources: &ConfigSources, extent: Extent) -> Findings {
    let report = config::check(sources);
    let mut findings = Findings {
        notes: report.notes,
        ineffective: Vec::new(),
        warnings: report.unknown,
        errors: report.errors.iter().map(ToString::to_string).collect(),
    };
    match &report.configuration {
        Some(configuration) => check_serving(&configuration.options, extent, &mut findings),
        None => findings.notes.push(
            "files, addresses, TLS, tokens, the log and the policy are checked once every value fits: correct the errors, and \
             check again"
                .to_owned(),
        ),
    }
    findings
}

fn check_serving(options: &Options, extent: Extent, findings: &mut Findings) {
    for problems in [keystone::login_problems(options), options.serving_problems()] {
        findings.errors.extend(problems.errors.iter().map(ToString::to_string));
        findings.warnings.extend(problems.warnings);
        findings.ineffective.extend(problems.ineffective);
    }
    findings.ineffective.extend(db::url_warnings(options));
    let (warnings, notes) = policy::warnings_and_notes(&options.oslo_policy);
    findings.warnings.extend(warnings);
    findings.notes.extend(notes);
    let metrics_bind = options.placet.metrics_bind.filter(|_| options.placet.metrics);
    let addresses = [Some(options.placet.bind), metrics_bind];
    let mut refused: Vec<CommandError> = addresses
        .into_iter()
        .flatten()
        .filter_map(|bind| sockets::check(bind).err())
        .collect();
    refused.extend(logging::check(&options.default).err());
    refused.extend(parts::make(options).err().into_iter().flatten());
    // `serving_problems` has found the mistakes of the configuration alone.
    let refused = refused.iter().filter(|error| !matches!(error, CommandError::Config(_)));
    findings.errors.extend(refused.map(ToString::to_string));
    if extent.database
        && let Ok(database) = db::open(options)
    {
        check_database(options, &database, findings);
    }
    if extent.keystone {
        check_keystone(options, findings);
    }
}

/// The roles that may validate tokens of all users, unless Keystone's policy was changed.
const VALIDATING_ROLES: [&str; 2] = ["admin", "service"];

/// Asks for a token, unless the options are known not to suffice.
fn check_keystone(options: &Options, findings: &mut Findings) {
    if options.api.auth_strategy != AuthStrategy::Keystone {
        findings
            .notes
            .push("auth_strategy is not keystone, so no Keystone is asked".to_owned());
    } else if keystone::login_problems(options).errors.is_empty() && keystone::check(options).is_ok() {
        match keystone::try_login(options) {
            Ok(roles) if roles.iter().any(|role| VALIDATING_ROLES.contains(&role.as_str())) => {}
            Ok(roles) => findings.warnings.push(format!(
                "[keystone_authtoken]: placet's user has the roles [{}], and Keystone's default policy lets {} validate \
                 tokens",
                roles.join(", "),
                VALIDATING_ROLES.join(" and "),
            )),
            Err(error) => findings.errors.push(error.to_string()),
        }
    }
}

/// Connects once. A silent server is not waited for.
fn check_database(options: &Options, database: &Database, findings: &mut Findings) {
    let may_sync = options.placement_database.may_sync();
    let mut check = || -> Result<(), CommandError> {
        database.check_log()?;
        match database.check() {
            Err(SetupError::Missing { place }) if may_sync => {
                database.check_place()?;
                findings.notes.push(format!(
                    "there is no database at {place} yet: the first start creates it"
                ));
                return Ok(());
            }
            // The next start upgrades the tables.
            Err(SetupError::NotSynced | SetupError::NotCurrent | SetupError::OldRevision { .. }) if may_sync => {}
            checked => checked?,
        }
        database.check_place()?;
        findings.warnings.extend(database.check_server()?);
        Ok(())
    };
    if let Err(error) = check() {
        findings.errors.push(error.to_string());
    }
}

impl Findings {
    fn print(&self, line: &CommandLine, quiet: bool) -> Result<u8, CommandError> {
        let mut all = String::new();
        for (level, lines) in [
            ("note", &self.notes),
            ("warning", &self.ineffective),
            ("warning", &self.warnings),
            ("error", &self.errors),
        ] {
            for text in lines.iter().filter(|_| !quiet || level != "note") {
                all.push_str(&format!("{level}: {}\n", line.in_message(text)));
            }
        }
        if !quiet {
            all.push_str(&format!(
                "{}, {}, {}\n",
                count(self.errors.len(), "error"),
                count(self.warnings.len() + self.ineffective.len(), "warning"),
                count(self.notes.len(), "note")
            ));
        }
        stdout::print(&all)?;
        Ok(match (self.errors.is_empty(), self.warnings.is_empty()) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        })
    }
}
