//! `placet config …`

use clap::Subcommand;

use super::Failure;
use crate::config::Configuration;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the effective configuration as INI.
    ///
    /// Above each option stands where its value came from; secrets are masked. Options that are set but not used are
    /// named on stderr, with what replaces them.
    Show,
}

impl Command {
    pub fn run(&self, configuration: &Configuration) -> Result<(), Failure> {
        match self {
            Self::Show => {
                for warning in configuration.warnings() {
                    eprintln!("WARN {warning}");
                }
                print!("{}", configuration.ini()?);
            }
        }
        Ok(())
    }
}
