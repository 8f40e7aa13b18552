//! `placet config …`: prints the configuration, or all options.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Subcommand, ValueEnum};

use super::CommandError;
use crate::config::{self, ConfigSources};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the effective configuration as INI.
    ///
    /// A comment above each option says where its value came from; secrets are masked. Options that are set but not used
    /// are named on stderr, with what replaces them.
    Show,
    /// Print every option that placet uses, with its default, the values allowed, and its meaning.
    ///
    /// Options of OpenStack Placement that are accepted but not used are left out. No configuration is read.
    Options {
        /// Print only the options of this section.
        #[arg(value_parser = PossibleValuesParser::new(config::sections()))]
        section: Option<String>,
        #[arg(long, value_enum, default_value_t = Format::Conf)]
        format: Format,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A sample placement.conf: every option is commented out at its default.
    Conf,
    /// Tables for a document.
    Markdown,
}

impl Command {
    pub fn run(&self, sources: &ConfigSources) -> Result<(), CommandError> {
        let text = match self {
            Self::Show => {
                let configuration = config::load(sources)?;
                for warning in configuration.warnings() {
                    eprintln!("WARN {warning}");
                }
                configuration.ini()?
            }
            Self::Options { section, format } => match format {
                Format::Conf => config::sample(section.as_deref()),
                Format::Markdown => config::reference(section.as_deref()),
            },
        };
        // The reader may close the pipe early, which is not a failure.
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    }
}
