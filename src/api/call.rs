//! What a handler gets: a request that passed the gate.

use std::future::pending;
use std::sync::Arc;

use actix_web::web::Bytes;

use tokio::task::spawn_blocking;

use super::client::Client;
use super::mount::Mount;
use super::pieces::{self, About, Beginning, Begun, Brief, Pieces, Source, Waiting};
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

    /// Makes an answer, and sends it while it is made if it is long. Up to the length `bound` everything is found before;
    /// what goes wrong until then is a refusal, and after that breaks the answer off.
    ///
    /// A search that goes round no more than so many `rounds` is done at once. Another one takes the processor long enough to
    /// keep other requests of this worker waiting, so it is done on another thread. What `make` is given is set when nobody
    /// waits any more.
    pub async fn stream(
        self,
        about: About,
        rounds: u64,
        bound: Option<usize>,
        make: impl Fn(Interrupt) -> Result<Box<dyn Source>> + Send + 'static,
    ) -> Result<Reply> {
        let (waiting, begun) = match pieces::briefly(&make, rounds, bound) {
            Some((interrupt, brief)) => match brief? {
                Brief::Found(beginning) => return Ok(self.replied(about, Waiting(interrupt), beginning)),
                Brief::Begun(begun) => (Waiting(interrupt), Some(begun)),
            },
            None => (Waiting(Interrupt::default()), None),
        };
        let interrupt = waiting.0.clone();
        let beginning = spawn_blocking(move || match begun {
            Some(begun) => begun.finish(bound),
            None => Begun::new(make(interrupt)?).finish(bound),
        });
        let client = self.client.clone();
        let left = async move {
            match client {
                Some(client) => client.left().await,
                None => pending().await,
            }
        };
        let beginning = tokio::select! {
            done = beginning => pieces::outcome(done)?,
            () = left => return Err(pieces::client_left()),
        };
        Ok(self.replied(about, waiting, beginning))
    }

    fn replied(self, about: About, waiting: Waiting, mut beginning: Beginning) -> Reply {
        match &mut beginning {
            Beginning { pieces, rest: None, .. } if pieces.len() == 1 => {
                Reply::json(pieces.remove(0).unwrap_or_default())
            }
            _ => Reply::pieces(Pieces::new(about, self.client, waiting, beginning)),
        }
    }
}
