//! `placet openapi`: the description of the API, for whoever has no service at hand.

use std::io::Write;

use clap::Args;

use super::Failure;
use crate::api;

#[derive(Debug, Args)]
pub struct Command {
    /// Describe this microversion alone, such as 1.39, in plain OpenAPI; else all of them, with `x-openstack`.
    #[arg(long, value_name = "VERSION")]
    microversion: Option<String>,
}

impl Command {
    pub fn run(&self) -> Result<(), Failure> {
        let version = self.microversion.as_deref();
        let text =
            api::openapi(version).ok_or_else(|| Failure::Microversion(version.unwrap_or_default().to_owned()))?;
        // Whoever stops reading has seen enough.
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    }
}
