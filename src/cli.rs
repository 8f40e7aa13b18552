//! The command line. Each subcommand has a file.

mod agent;
mod command_line;
mod config;
mod config_check;
mod data_migrations;
mod db;
mod documents;
mod file_watch;
mod keystone;
mod keystone_login;
mod log_filter;
mod log_format;
mod log_losses;
mod log_queue;
mod log_stream;
mod logging;
mod metrics;
mod open_files;
mod openapi;
mod option_file;
mod panics;
mod parts;
mod policy;
mod policy_files;
mod reload;
mod serve;
mod sockets;
mod start;
mod status;
pub mod stderr;
mod stdout;
mod table;
mod tls_files;
mod token;
mod token_file;
mod version;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use thiserror::Error;

use command_line::CommandLine;

use crate::api;
use crate::config::{ConfigError, ConfigSources, Options};
use crate::db::SetupError;

/// Indented lines are shown unchanged, in `--help` and in the manual page. The lines fit into 80 columns, and each
/// command among the lines can be pasted.
const LONG_ABOUT: &str = "\
placet is a placement service. It keeps the inventories of resource providers and the allocations of consumers, finds \
allocation candidates, and grants claims without ever oversubscribing a provider. It serves OpenStack Placement's REST \
API, and uses its placement.conf and its database.

First steps: this command serves on 127.0.0.1:8778, with its data in ./placet.sqlite.

    placet

In another terminal, as the user of the token `admin`, who may do everything:

    T='X-Auth-Token: admin'
    V='OpenStack-API-Version: placement latest'
    J='Content-Type: application/json'
    U=http://127.0.0.1:8778
    H=4e8e5957-649f-477b-9e5b-f1f75b21c03c
    curl -H \"$T\" -H \"$V\" -H \"$J\" $U/resource_providers \\
      -d '{\"name\": \"host1\", \"uuid\": \"'$H'\"}'
    curl -H \"$T\" -H \"$V\" -H \"$J\" $U/resource_providers/$H/inventories \\
      -X PUT -d '{\"resource_provider_generation\": 0,
      \"inventories\": {\"VCPU\": {\"total\": 8}}}'
    curl -H \"$T\" -H \"$V\" \"$U/allocation_candidates?resources=VCPU:2\"";

const AFTER_HELP: &str = "\
Configuration is read from these sources; a later one overrides an earlier one:
  - the defaults. Without any other source: no authentication, on
    loopback, and a database in ./placet.sqlite that is created and
    upgraded at start
  - without --config-file: $OS_PLACEMENT_CONFIG_DIR/placement.conf, else
    /etc/placement/placement.conf
  - without --config-dir: the *.conf files of
    /etc/placement/placement.conf.d
  - --config-file
  - the *.conf files of --config-dir
  - environment variables OS_<SECTION>__<OPTION>:
    OS_PLACEMENT_DATABASE__CONNECTION=sqlite:///x
  - --bind
  The format is oslo.config's INI; placet's own options are in [placet],
  and those of `placet agent` in [agent].
  `placet config options` explains all options; `placet config show`
  prints the values in force and their sources; `placet config check`
  finds mistakes. RUST_LOG sets the log level (RUST_LOG=debug,
  RUST_LOG=info,placet::model=trace). A service logs to stderr or to
  [DEFAULT] log_file, all other commands to stderr.

Authentication:
  With [api] auth_strategy = noauth2, and without any configuration, no
  token is checked, unless [placet] token_file lists those that are
  accepted (`placet token create --help`). Without it the token `admin`
  may do everything, any other token has no role, and a request may claim
  any role in its header X-Roles. So placet then serves on loopback only.

Signals of a service:
  SIGTERM, SIGINT and SIGQUIT stop it. SIGHUP reopens the log file and
  reads the log level, the policy, the token file and the certificates
  again.

Examples:
    placet --bind 127.0.0.1:9000
    placet --config-file /etc/placement/placement.conf config show
    placet --config-file /etc/placement/placement.conf db sync
    OS_PLACET__WORKERS=4 placet \\
      --config-file /etc/placement/placement.conf

Exit codes:
  0  success; a service: stopped by SIGTERM, SIGINT or SIGQUIT, after the
     requests in flight
  1  failure; a line on stderr gives the reason
     (`placet config`, `placet status upgrade check` and
     `placet db online_data_migrations` have their own, see --help)
  2  invalid command line";

/// A placement service that is a drop-in for OpenStack Placement.
#[derive(Debug, Parser)]
#[command(name = "placet", disable_version_flag = true, long_about = LONG_ABOUT, after_long_help = AFTER_HELP)]
pub struct Arguments {
    /// Read this configuration file instead of the default one. May be repeated; later files override earlier ones.
    #[arg(long, global = true, value_name = "FILE")]
    config_file: Vec<PathBuf>,
    /// Read the *.conf files of this directory, sorted by name, after every --config-file.
    #[arg(long, global = true, value_name = "DIR")]
    config_dir: Vec<PathBuf>,
    /// Serve on this address and port instead of `[placet] bind`. Port 0 chooses a free one.
    #[arg(long, global = true, value_name = "ADDR")]
    bind: Option<String>,
    /// Print the version, and what is built in.
    #[arg(short = 'V', long)]
    version: bool,
    #[command(subcommand)]
    command: Option<Commands>,
}

#[derive(Debug, Subcommand)]
enum Commands {
    /// Serve the REST API (the default).
    Serve,
    /// Report for a host, and renew the host's lease: the agent that runs on each host.
    Agent(agent::AgentCommand),
    /// Create, upgrade or inspect the database.
    Db {
        #[command(subcommand)]
        command: db::DbCommand,
    },
    /// Check whether an upgrade requires preparation.
    Status {
        #[command(subcommand)]
        command: status::StatusCommand,
    },
    /// Make, list and revoke the tokens of `[placet] token_file`, for an installation without Keystone.
    Token {
        #[command(subcommand)]
        command: token::TokenCommand,
    },
    /// Show the policy: which roles are allowed to do what.
    Policy {
        #[command(subcommand)]
        command: policy::PolicyCommand,
    },
    /// Show the configuration.
    Config {
        #[command(subcommand)]
        command: config::ConfigCommand,
    },
    /// Print the description of the REST API, as OpenAPI 3.1 in JSON.
    Openapi(openapi::OpenapiCommand),
    /// Write the manual pages.
    Man(documents::Man),
    /// Print the completions of a shell.
    Completions(documents::Completions),
}

/// The failure of a command, as one line for the operator.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Database(#[from] SetupError),
    #[error(transparent)]
    Keystone(#[from] crate::auth::keystone::StartError),
    /// Why an agent does not start.
    #[error("the agent cannot run: {0}")]
    Agent(String),
    /// An unusable file of an option. The text is the whole sentence.
    #[error("{0}")]
    File(String),
    #[error("{0}, or set [placement_database] sync_on_startup = true")]
    Unprepared(SetupError),
    #[error("cannot write the log to {}: {reason}", path.display())]
    Log { path: PathBuf, reason: std::io::Error },
    #[error("cannot serve on {bind}: {reason}{}", if reason.kind() == std::io::ErrorKind::AddrInUse { "; --bind 127.0.0.1:0 takes a free port" } else { "" })]
    Listen {
        bind: std::net::SocketAddr,
        reason: std::io::Error,
    },
    #[error(
        "there is no microversion {asked}: they go from {} to {}",
        api::OLDEST_VERSION,
        api::NEWEST_VERSION
    )]
    Microversion { asked: String },
    #[error("the socket that systemd has handed over {0}: give placet.socket one ListenStream with a TCP address")]
    Inherited(String),
    #[error("cannot write the manual pages to {}: {reason}", dir.display())]
    Man { dir: PathBuf, reason: std::io::Error },
    #[error("[placet] slave_routes: {0}")]
    SlaveRoutes(String),
    #[error("cannot write to stdout: {0}")]
    Stdout(std::io::Error),
    #[error("serving failed: {0}")]
    Serve(std::io::Error),
    #[error("the writer met a defect of placet, and the service stopped; what it had acknowledged is committed")]
    WriterPanicked,
}

/// The options that may stand before and after a subcommand.
const GLOBAL: [&str; 3] = ["--config-file", "--config-dir", "--bind"];

impl Arguments {
    /// Reads the words of a command line. Ends the process if the words are invalid, or ask for help.
    pub fn of(words: Vec<OsString>) -> Arguments {
        Arguments::parse_from(globals_first(words))
    }

    /// Runs the command. The service returns after a signal to stop. `program` is the name by which placet was called.
    ///
    /// # Errors
    /// The failure, as a line to print.
    pub fn run(self, program: &str) -> Result<u8, String> {
        if self.version {
            return version::print().map(|()| 0).map_err(|failure| failure.to_string());
        }
        let sources = ConfigSources {
            files: self.config_file,
            dirs: self.config_dir,
            bind: self.bind,
            ..ConfigSources::of_process()
        };
        let line = CommandLine::new(program, &sources);
        run(self.command, &sources, &line)
            .map_err(|failure| line.in_message(&config_check::with_others(&failure, &sources)))
    }
}

/// The words of a command line, with the global options before the subcommand. clap would drop a global option before
/// the subcommand if the same option also stands after the subcommand.
fn globals_first(words: Vec<OsString>) -> Vec<OsString> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    first.extend(words.next());
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            rest.push(word);
            rest.extend(words.by_ref());
        } else if GLOBAL.iter().any(|name| text == *name) {
            first.push(word);
            first.extend(words.next());
        } else if GLOBAL.iter().any(|name| text.starts_with(&format!("{name}="))) {
            first.push(word);
        } else {
            rest.push(word);
        }
    }
    first.append(&mut rest);
    first
}

fn run(command: Option<Commands>, sources: &ConfigSources, line: &CommandLine) -> Result<u8, CommandError> {
    let options = || -> Result<Options, CommandError> { Ok(crate::config::load(sources)?.options) };
    match command {
        None | Some(Commands::Serve) => return start::run(sources, line),
        Some(Commands::Config { command }) => return command.run(sources, line),
        Some(Commands::Agent(command)) => return command.run(sources),
        Some(Commands::Db { command }) => {
            let options = options()?;
            let _log = logging::start_to_stderr(&options)?;
            return command.run(&options, line);
        }
        Some(Commands::Status { command }) => {
            let options = options()?;
            let _log = logging::start_to_stderr(&options)?;
            return command.run(&options, line);
        }
        Some(Commands::Openapi(command)) => command.run(),
        Some(Commands::Man(command)) => command.run(),
        Some(Commands::Completions(command)) => command.run(),
        Some(Commands::Policy { command }) => command.run(&options()?.oslo_policy),
        Some(Commands::Token { command }) => command.run(&options()?),
    }?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn global_options_may_precede_or_follow_the_subcommand() {
        for line in [
            "placet --config-file a --config-file b db sync",
            "placet db sync --config-file a --config-file b",
            "placet --config-file a db sync --config-file=b",
            "placet db --config-file a sync --config-file b",
        ] {
            let words = globals_first(line.split(' ').map(OsString::from).collect());
            let arguments = Arguments::try_parse_from(words).unwrap();
            assert_eq!(
                arguments.config_file,
                [PathBuf::from("a"), PathBuf::from("b")],
                "{line}"
            );
        }
        assert!(Arguments::try_parse_from(["placet"]).unwrap().command.is_none());
    }
}
