//! The command line: one file a subcommand.

mod config;
mod data_migrations;
mod db;
mod logging;
mod openapi;
mod policy;
mod policy_files;
mod serve;
mod status;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thiserror::Error;

use crate::config::{ConfigError, Search};
use crate::db::SetupError;

const TEACHING: &str = "\
placet is a placement service: it keeps what every provider of resources has and who uses how much of it, answers \
\"where could this fit?\", and grants claims so that nothing is ever oversubscribed. It speaks OpenStack Placement's \
REST API, and reads its placement.conf and its database.

First steps:
  1. placet                          serves on 127.0.0.1:8778, with its data in ./placet.sqlite
  2. T='X-Auth-Token: admin'         in another terminal; every token is believed
     V='OpenStack-API-Version: placement latest'
     U=http://127.0.0.1:8778/resource_providers
  3. curl -H \"$T\" -H \"$V\" $U -X POST -H 'Content-Type: application/json' \\
       -d '{\"name\": \"host1\", \"uuid\": \"4e8e5957-649f-477b-9e5b-f1f75b21c03c\"}'
  4. curl -H \"$T\" -H \"$V\" $U/4e8e5957-649f-477b-9e5b-f1f75b21c03c/inventories -X PUT \\
       -H 'Content-Type: application/json' \\
       -d '{\"resource_provider_generation\": 0, \"inventories\": {\"VCPU\": {\"total\": 8}}}'
  5. curl -H \"$T\" -H \"$V\" 'http://127.0.0.1:8778/allocation_candidates?resources=VCPU:2'";

const AFTER: &str = "\
Configuration is read from these, each over the one before:
  - the defaults; where nothing below is found they are: no authentication, on loopback, and a
    database in ./placet.sqlite that is made and upgraded at start
  - --config-file, else $OS_PLACEMENT_CONFIG_DIR/placement.conf, else
    /etc/placement/placement.conf
  - the *.conf files of --config-dir, else of /etc/placement/placement.conf.d
  - environment variables OS_<SECTION>__<OPTION>: OS_PLACEMENT_DATABASE__CONNECTION=sqlite:///x
  - --bind
  The format is oslo.config's INI; placet's own options are in [placet]. `placet config show`
  lists them all, and where each value came from. RUST_LOG says what is logged (RUST_LOG=debug,
  RUST_LOG=info,placet::model=trace), to stderr or to [DEFAULT] log_file.

Examples:
  placet --bind 127.0.0.1:9000
  placet --config-file /etc/placement/placement.conf config show
  placet --config-file /etc/placement/placement.conf db sync
  OS_PLACET__WORKERS=4 placet --config-file placement.conf

Exit codes:
  0  done; a service: stopped by SIGTERM or SIGINT, after what was in flight
  1  refused or failed, and a line on stderr says why
     (those of `placet status upgrade check` and `placet db online_data_migrations`: see their --help)
  2  the command line was not understood";

/// A placement service that is a drop-in for OpenStack Placement.
#[derive(Debug, Parser)]
#[command(name = "placet", version, long_about = TEACHING, after_long_help = AFTER)]
pub struct Arguments {
    /// Read this configuration instead of the default one; repeat it, and later files win.
    #[arg(long, global = true, value_name = "FILE")]
    config_file: Vec<PathBuf>,
    /// Read the *.conf files of this directory, sorted by name, after every --config-file.
    #[arg(long, global = true, value_name = "DIR")]
    config_dir: Vec<PathBuf>,
    /// Serve on this address and port, over [placet] bind; port 0 takes a free one.
    #[arg(long, global = true, value_name = "ADDR")]
    bind: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the REST API (the default).
    Serve,
    /// Make, upgrade or look at the database.
    Db {
        #[command(subcommand)]
        command: db::Command,
    },
    /// Look whether an upgrade needs something done first.
    Status {
        #[command(subcommand)]
        command: status::Command,
    },
    /// Look at who may do what.
    Policy {
        #[command(subcommand)]
        command: policy::Command,
    },
    /// Look at the configuration.
    Config {
        #[command(subcommand)]
        command: config::Command,
    },
    /// Print the description of the REST API, as OpenAPI 3.1 in JSON.
    Openapi(openapi::Command),
}

/// Why a command ended without success: one line for whoever typed it.
#[derive(Debug, Error)]
pub enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Database(#[from] SetupError),
    #[error("{0}")]
    Policy(String),
    #[error("{0}, or set [placement_database] sync_on_startup = true")]
    Unprepared(SetupError),
    #[error("cannot write the log to {}: {reason}", path.display())]
    Log { path: PathBuf, reason: std::io::Error },
    #[error("cannot serve on {bind}: {reason}")]
    Listen {
        bind: std::net::SocketAddr,
        reason: std::io::Error,
    },
    #[error("there is no microversion {0}: GET / shows the oldest and the newest")]
    Microversion(String),
    #[error("[placet] slave_routes: {0}")]
    SlaveRoutes(String),
    #[error("serving failed: {0}")]
    Serve(std::io::Error),
}

impl Arguments {
    /// Carries the command out; a service returns when it was told to stop.
    ///
    /// # Errors
    /// Whatever refuses or fails, as a line to print.
    pub fn run(self) -> Result<ExitCode, Failure> {
        if let Some(Command::Openapi(command)) = self.command {
            return command.run().map(|()| ExitCode::SUCCESS);
        }
        let configuration = crate::config::load(&Search {
            files: self.config_file,
            dirs: self.config_dir,
            arguments: self.bind.map(|bind| ("placet", "bind", bind)).into_iter().collect(),
            ..Search::here()
        })?;
        match self.command {
            Some(Command::Config { command }) => return command.run(&configuration).map(|()| ExitCode::SUCCESS),
            Some(Command::Policy { command }) => {
                return command
                    .run(&configuration.options.oslo_policy)
                    .map(|()| ExitCode::SUCCESS);
            }
            _ => {}
        }
        logging::start(&configuration.options.default)?;
        match self.command {
            Some(Command::Db { command }) => command.run(&configuration.options),
            Some(Command::Status { command }) => command.run(&configuration.options),
            _ => serve::run(&configuration).map(|()| ExitCode::SUCCESS),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn global_options_go_before_and_after_the_subcommand() {
        for line in [
            "placet --config-file a --config-file b db sync",
            "placet db sync --config-file a --config-file b",
        ] {
            let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(
                arguments.config_file,
                [PathBuf::from("a"), PathBuf::from("b")],
                "{line}"
            );
        }
        assert!(Arguments::try_parse_from(["placet"]).unwrap().command.is_none());
    }
}
