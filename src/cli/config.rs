//! `placet config`: prints or checks the configuration in force, or describes all options.

use clap::builder::PossibleValuesParser;
use clap::{Subcommand, ValueEnum};

use super::command_line::CommandLine;
use super::{CommandError, config_check, stderr, stdout};
use crate::config::{self, ConfigSources};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the effective configuration as INI.
    ///
    /// A comment above each option names the source of its value; secrets are masked. Warnings on stderr name unknown
    /// options, unused options with the reason, and options with an older name.
    ///
    /// Exit codes: 0, success; 1, the configuration cannot be read; 2, the configuration is printed, and placet does
    /// not start with it, for the reasons on stderr.
    Show,
    /// Find mistakes in the configuration, all at once, without starting anything.
    ///
    /// Unknown sections, options and `OS_<SECTION>__<OPTION>` variables, unfit values, and every further reason why a
    /// start is refused: the files of options, the addresses, the database's URL. Run the check as placet's user.
    /// Options that are accepted but not used are notes.
    ///
    /// Exit codes: 0, nothing but notes, and warnings about options with less effect than in OpenStack Placement; 1,
    /// further warnings: placet starts, but something is probably not as intended; 2, errors: placet does not start.
    Check(config_check::Extent),
    /// Print every option of placet, with its default, the values allowed, and its meaning.
    ///
    /// Options of OpenStack Placement that are accepted but not used are left out. The configuration file is not read.
    Options {
        /// Print only the options of this section.
        #[arg(value_parser = PossibleValuesParser::new(config::sections()))]
        section: Option<String>,
        /// The form in which the options are printed.
        #[arg(long, value_enum, default_value_t = ConfigFormat::Conf)]
        format: ConfigFormat,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// A sample placement.conf: every option is commented out at its default.
    Conf,
    /// Markdown tables of the options.
    Markdown,
}

impl ConfigCommand {
    pub fn run(&self, sources: &ConfigSources, line: &CommandLine) -> Result<u8, CommandError> {
        let mut errors = Vec::new();
        let text = match self {
            Self::Check(extent) => return config_check::run(sources, line, *extent),
            Self::Show => {
                let configuration = config::load(sources)?;
                for warning in configuration.warnings() {
                    stderr::line(&format!("WARN {warning}"));
                }
                errors = config_check::errors(sources);
                configuration.ini()?
            }
            Self::Options { section, format } => match format {
                ConfigFormat::Conf => config::sample(section.as_deref()),
                ConfigFormat::Markdown => config::reference(section.as_deref()),
            },
        };
        stdout::print(&text)?;
        for error in &errors {
            stderr::line(&format!("ERROR {}", line.in_message(error)));
        }
        Ok(if errors.is_empty() { 0 } else { 2 })
    }
}
