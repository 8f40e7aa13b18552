//! What a handler gets: a request that passed the gate.

use std::sync::Arc;

use actix_web::web::Bytes;

use super::mount::Mount;
use super::reply::Reply;
use super::service::{Service, Settings};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::version::Version;

/// A request that may be answered: known sender, version, route; allowed; body read.
pub struct Call {
    pub version: Version,
    /// The query string as it was sent.
    pub query: String,
    pub body: Bytes,
    pub(super) mount: Mount,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) service: Arc<Service>,
}

impl Call {
    /// The part of the path that the route calls `{name}`.
    pub fn field(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(known, _)| *known == name);
        field.map_or("", |(_, value)| value.as_str())
    }

    /// What stands before a route in a link.
    pub fn prefix(&self) -> &str {
        &self.mount.prefix
    }

    /// The URL of `path` below the prefix, for `Location`.
    pub fn location(&self, path: &str) -> String {
        format!("{}{}{path}", self.mount.origin, self.mount.prefix)
    }

    pub fn model(&self) -> &Model {
        &self.service.model
    }

    pub fn settings(&self) -> &Settings {
        &self.service.settings
    }

    /// Does work that takes the processor long enough to keep other requests of this worker waiting.
    pub async fn compute(&self, work: impl FnOnce() -> Result<Reply> + Send + 'static) -> Result<Reply> {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| {
            Err(Error::Internal {
                detail: format!("a search ended in a panic: {error}"),
            })
        })
    }
}
