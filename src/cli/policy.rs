//! `placet policy …`, and how the configuration becomes a policy.

use std::io::Write;

use clap::{Subcommand, ValueEnum};

use super::Failure;
use super::policy_files::Disk;
use crate::api;
use crate::config::OsloPolicy;
use crate::policy::live::{Files, Live};
use crate::policy::{self, Settings};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print every rule: its check in force, its default, and the routes that it guards.
    ///
    /// Checks are those of [oslo_policy] policy_file and policy_dirs as they are now, over the defaults. What looks like a
    /// mistake in them is named on stderr.
    List {
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A line for each rule and route.
    Table,
    /// A policy file that says what is in force, with the defaults as remarks.
    Yaml,
}

impl Command {
    pub fn run(&self, options: &OsloPolicy) -> Result<(), Failure> {
        let Self::List { format } = self;
        let files = Disk::new(options).read().map_err(Failure::Policy)?;
        let loaded = policy::load(&settings(options), &files).map_err(Failure::Policy)?;
        for warning in missing(options).iter().chain(&loaded.warnings) {
            eprintln!("WARN {warning}");
        }
        let text = match format {
            Format::Table => policy::table(&loaded.policy, api::guarded_by),
            Format::Yaml => policy::yaml(&loaded.policy, api::guarded_by),
        };
        // Whoever stops reading has seen enough.
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    }
}

/// The policy to serve with; it follows its files.
pub fn live(options: &OsloPolicy) -> Result<Live, Failure> {
    if let Some(warning) = missing(options) {
        log::warn!("{warning}");
    }
    Live::start(settings(options), Box::new(Disk::new(options))).map_err(Failure::Policy)
}

fn settings(options: &OsloPolicy) -> Settings {
    Settings {
        enforce_new_defaults: options.enforce_new_defaults,
        default_rule: options.policy_default_rule.clone(),
    }
}

/// Whoever names a policy file relies on it; without a name there need not be one.
fn missing(options: &OsloPolicy) -> Option<String> {
    let named = options.policy_file != "policy.yaml";
    (named && options.file().is_none()).then(|| {
        format!(
            "[oslo_policy] policy_file = {}: there is no such file, and the default rules hold; it is read once it is \
             there",
            options.policy_file
        )
    })
}
