//! `placet openapi`: prints the description of the API without a running service.

use clap::Args;

use super::{CommandError, stdout};
use crate::api;

#[derive(Debug, Args)]
pub struct OpenapiCommand {
    /// Describe only this microversion, such as 1.39, in plain OpenAPI. The default is all, with `x-openstack`.
    #[arg(long, value_name = "VERSION")]
    microversion: Option<String>,
}

impl OpenapiCommand {
    pub fn run(&self) -> Result<(), CommandError> {
        let version = self.microversion.as_deref();
        let text = api::openapi(version).ok_or_else(|| CommandError::Microversion {
            asked: version.unwrap_or_default().to_owned(),
        })?;
        stdout::print(&text)
    }
}
