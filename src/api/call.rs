//! What a handler gets: a request that passed the gate.

use std::future::pending;
use std::sync::Arc;

use actix_web::web::Bytes;

use tokio::task::spawn_blocking;

use super::client::Client;
use super::mount::Mount;
use super::pieces::{self, About, Pieces, Source, Waiting};
use super::reply::Reply;
use super::service::{Service, Settings};
use crate::error::Result;
use crate::model::{Model, Reader};
use crate::search::Interrupt;
use crate::version::Version;

/// A request that may be answered: known sender, version, route; allowed; body read.
pub struct Call {
    pub version: Version,
    /// The query string as it was sent.
    pub query: String,
    pub body: Bytes,
    pub(super) mount: Mount,
    /// Who waits for the answer; nobody knows where there is no connection.
    pub(super) client: Option<Client>,
    pub(super) fields: Vec<(&'static str, String)>,
    /// Whether what its answer shows may lag: see `[placet] slave_routes`.
    pub(super) may_lag: bool,
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

    /// What an answer's rows are read with. What a change depends on is read with `model` instead.
    pub fn reader(&self) -> Reader {
        self.model().reader(self.may_lag)
    }

    pub fn settings(&self) -> &Settings {
        &self.service.settings
    }

    /// Makes an answer that takes the processor long enough to keep other requests of this worker waiting, and sends it
    /// while it is made if it is longer than `whole`. Up to there what goes wrong is a refusal; after that it breaks the
    /// answer off. `interrupt` is set when nobody waits any more.
    pub async fn stream(
        self,
        about: About,
        interrupt: Interrupt,
        whole: usize,
        begin: impl FnOnce() -> Result<Source> + Send + 'static,
    ) -> Result<Reply> {
        let waiting = Waiting(interrupt);
        let first = spawn_blocking(move || pieces::cut(begin()?, whole));
        let client = self.client.clone();
        let left = async move {
            match client {
                Some(client) => client.left().await,
                None => pending().await,
            }
        };
        let first = tokio::select! {
            done = first => pieces::outcome(done)?,
            () = left => return Err(pieces::client_left()),
        };
        Ok(match first.rest {
            None => Reply::json(first.bytes),
            Some(rest) => Reply::pieces(Pieces::new(about, self.client, waiting, first.bytes, rest)),
        })
    }
}
