//! `placet policy …`, and the policy that the configuration describes.

use clap::{Subcommand, ValueEnum};

use super::{CommandError, policy_files, stderr, stdout};
use crate::api;
use crate::config::OsloPolicy;
use crate::policy::live::LivePolicy;
use crate::policy::{self, Loaded, PolicySettings};

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Print all rules: the check in force, the default, and the authorized routes.
    ///
    /// The checks are the defaults, overridden by the current files of `[oslo_policy] policy_file` and `policy_dirs`.
    /// Likely mistakes in these files are reported on stderr.
    List {
        #[arg(long, value_enum, default_value_t = PolicyFormat::Table)]
        format: PolicyFormat,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyFormat {
    /// A line for each rule and route.
    Table,
    /// A policy file of the rules in force, with the defaults as comments.
    Yaml,
}

impl PolicyCommand {
    pub fn run(&self, options: &OsloPolicy) -> Result<(), CommandError> {
        let Self::List { format } = self;
        let loaded = load(options).map_err(CommandError::File)?;
        for warning in missing_file_warning(options).iter().chain(&loaded.warnings) {
            stderr::line(&format!("WARN {warning}"));
        }
        let text = match format {
            PolicyFormat::Table => policy::table(&loaded.policy, api::authorized_by),
            PolicyFormat::Yaml => policy::yaml(&loaded.policy, api::authorized_by),
        };
        stdout::print(&text)
    }
}

/// The policy for the service, which is loaded again after a change of its files.
pub fn live(options: &OsloPolicy) -> Result<LivePolicy, CommandError> {
    if let Some(warning) = missing_file_warning(options) {
        log::warn!("{warning}");
    }
    LivePolicy::start(settings(options), policy_files::files(options)).map_err(CommandError::File)
}

/// The findings of `config check`: the warnings of [`live`], and notes about rules that no file sets.
pub fn warnings_and_notes(options: &OsloPolicy) -> (Vec<String>, Vec<String>) {
    let (of_files, notes) = match load(options) {
        Ok(loaded) => (loaded.warnings, loaded.policy.native_notes()),
        Err(_) => Default::default(),
    };
    let missing_file = missing_file_warning(options).into_iter();
    (missing_file.chain(of_files).collect(), notes)
}

/// The policy of the present files.
fn load(options: &OsloPolicy) -> Result<Loaded, String> {
    policy::load(&settings(options), &policy_files::read(options)?)
}

fn settings(options: &OsloPolicy) -> PolicySettings {
    PolicySettings {
        enforce_new_defaults: options.enforce_new_defaults,
        default_rule: options.policy_default_rule.clone(),
    }
}

/// A warning if a configured policy file does not exist. The default file is optional.
fn missing_file_warning(options: &OsloPolicy) -> Option<String> {
    let is_configured = options.policy_file != "policy.yaml";
    (is_configured && options.file().is_none()).then(|| {
        format!(
            "[oslo_policy] policy_file = {}: there is no such file, so the default rules are in force; the file is \
             loaded when it appears",
            options.policy_file
        )
    })
}
