//! The argument of a handler: a request that passed dispatch.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use actix_web::web::Bytes;

use super::access;
use super::base_url::BaseUrl;
use super::body::RequestBody;
use super::chunks::{ChunkSource, FirstChunks};
use super::disconnect::DisconnectWatch;
use super::first_chunks::{ChunkWork, first_chunks};
use super::lists::{ListRequest, PageHead, list_reply};
use super::reply::Reply;
use super::statistics::HttpStatistics;
use super::streaming::{self, BrokenAnswerContext, ChunkThreads, StreamingBody};
use crate::api::service::{HttpSettings, Service};
use crate::caller::CallerKey;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, InterruptOnDrop};
use crate::model::batch::command::Write;
use crate::model::{Model, ProviderReader, Reader};
use crate::mutants::{self, Mutant};
use crate::policy::rules::PolicyRule;
use crate::policy::{Caller, PolicyDecision, Target};
use crate::pools::LargeValue;
use crate::search::Snapshot;
use crate::version::Version;
use crate::wire::defaults::Defaults;
use crate::wire::{ListForm, WrittenPage};

/// An answer about at most this many things is written on an HTTP worker, in at most some hundred microseconds.
const FEW_THINGS: usize = 1_000;

/// A request that may be answered: authenticated and authorized, with a known route and version and with its body.
pub struct RequestContext {
    /// The microversion; the newest for the native API, whose handlers do not use the version.
    pub version: Version,
    /// The query string as sent.
    pub query: String,
    /// The owner of the token; without credentials on a public route.
    pub caller: Arc<Caller>,
    pub(in crate::api) body: RequestBody,
    pub(in crate::api) base_url: BaseUrl,
    /// Watches the client that waits for the answer; `None` in tests, which have no connection.
    pub(in crate::api) client: Option<DisconnectWatch>,
    pub(in crate::api) address: Option<IpAddr>,
    pub(in crate::api) fields: Vec<(&'static str, String)>,
    pub(in crate::api) list: ListRequest,
    /// Whether the answer may be read from a lagging replica: `[placet] slave_routes`.
    pub(in crate::api) may_lag: bool,
    pub(in crate::api) service: Arc<Service>,
}

impl RequestContext {
    /// The part of the path with the name `{name}` in the route.
    pub fn field(&self, name: &str) -> String {
        let field = self.fields.iter().find(|(known, _)| *known == name);
        field.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// A field of the path as a text of UTF-8: each character of a path is a byte.
    ///
    /// # Errors
    /// [`Error::BadRequest`].
    pub fn text_field(&self, name: &str) -> Result<String> {
        let bytes = self
            .field(name)
            .chars()
            .map(|byte| u8::try_from(byte).unwrap_or_default())
            .collect();
        String::from_utf8(bytes).map_err(|_| Error::BadRequest {
            detail: format!("{name}: the text in the path is not UTF-8."),
        })
    }

    /// The prefix of a route in a link.
    pub fn prefix(&self) -> &str {
        &self.base_url.prefix
    }

    /// The URL of `path` below the prefix, for `Location`.
    pub fn location(&self, path: &str) -> String {
        format!("{}{}{path}", self.base_url.origin, self.base_url.prefix)
    }

    pub fn model(&self) -> &Model {
        &self.service.model
    }

    /// Reads the rows of an answer, perhaps from a replica.
    pub fn reader(&self) -> Reader {
        self.model().reader(self.may_lag)
    }

    /// As `reader`, for an answer about one provider, for which many clients ask at the same time.
    pub fn provider_reader(&self) -> ProviderReader {
        self.model().provider_reader(self.may_lag)
    }

    /// Reads the preconditions of a change, never from a replica.
    pub fn current_reader(&self) -> Reader {
        self.model().reader(false)
    }

    /// Reads the body with `read`, and frees the body. A large body is read on a further thread, because it would delay
    /// the requests of this worker. If the client leaves before a thread is free, the body is not read.
    pub async fn read_body<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read_patch(0, read).await
    }

    /// As [`Self::read_body`], for a body that changes a state of this many bytes.
    pub async fn read_patch<T: Send + 'static>(
        &mut self,
        state_bytes: usize,
        read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let body = self.body.take();
        let length = body.len() + state_bytes;
        let read = move || {
            mutants::panic_as(Mutant::PanicInHandler);
            read(&body)
        };
        let caller = self.caller_key();
        self.while_connected(self.model().pools().read(&caller, length, read))
            .await
    }

    /// Reads a command from the body with `read`, and executes the command.
    ///
    /// # Errors
    /// Of the body, or the refusal of the command.
    pub async fn submit_body<C: Write>(
        &mut self,
        read: impl FnOnce(&[u8]) -> Result<C> + Send + 'static,
    ) -> Result<C::Answer> {
        let command = self.read_body(move |body| Ok(read(body)?.into_command())).await?;
        self.model().submit_command(&self.caller_key(), command).await?.typed()
    }

    /// As [`Self::submit_body`]. Also returns what the command grants, as `granted` says it for the request's line of
    /// the log.
    ///
    /// # Errors
    /// As of [`Self::submit_body`].
    pub async fn submit_grant<C: Write>(
        &mut self,
        read: impl FnOnce(&[u8]) -> Result<C> + Send + 'static,
        granted: fn(&Model, &C) -> String,
    ) -> Result<(C::Answer, Option<String>)> {
        let service = access::is_logged().then(|| Arc::clone(&self.service));
        let read = self.read_body(move |body| {
            let command = read(body)?;
            let granted = service.map(|service| granted(&service.model, &command));
            Ok((command.into_command(), granted))
        });
        let (command, granted) = read.await?;
        let answer = self.model().submit_command(&self.caller_key(), command).await?;
        Ok((answer.typed()?, granted))
    }

    /// Executes a command.
    ///
    /// # Errors
    /// The refusal of the command.
    pub async fn submit<C: Write>(&self, command: C) -> Result<C::Answer> {
        self.model().submit_for(&self.caller_key(), command).await
    }

    /// Executes a command; in a dry run, only decides the command.
    ///
    /// # Errors
    /// As of [`Self::submit`].
    pub async fn submit_or_foresee<C: Write>(&self, command: C, is_dry_run: bool) -> Result<C::Answer> {
        let caller = self.caller_key();
        self.model().submit_or_foresee(&caller, command, is_dry_run).await
    }

    /// A value from the body. If the body is large, a further thread frees the value.
    pub fn read_value<T: Send + 'static>(&self, value: T) -> LargeValue<T> {
        LargeValue::new(value, self.body.is_large())
    }

    /// Writes an answer about this many things: on the worker if there are few, else on a further thread.
    ///
    /// # Errors
    /// Of the thread.
    pub async fn write(&self, things: usize, write: impl FnOnce() -> Vec<u8> + Send + 'static) -> Result<Reply> {
        if things <= FEW_THINGS {
            return Ok(Reply::json(write()));
        }
        self.write_long(write).await
    }

    /// Writes a possibly long answer on a further thread.
    ///
    /// # Errors
    /// Of the thread.
    pub async fn write_long<T: Into<Bytes> + Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Reply> {
        let answers = &self.model().pools().answers;
        Ok(Reply::json(
            answers.start(&self.caller_key(), move || Ok(write())).await?,
        ))
    }

    /// As [`Self::write_long`], for a request that changes nothing. Nothing is written if the client leaves, or the
    /// deadline of a command comes, before a thread is free.
    ///
    /// # Errors
    /// [`Error::Busy`] at the deadline. Of the thread.
    pub async fn write_page(&self, write: impl FnOnce() -> Vec<u8> + Send + 'static) -> Result<Reply> {
        self.while_connected(self.model().in_time(self.write_long(write))).await
    }

    /// As [`Self::write_page`], for a page of a list, in the form that the client prefers. The answer has an `ETag`,
    /// and is 304 if the client has the same page. `Link` has the next page.
    ///
    /// # Errors
    /// As of [`Self::write_page`].
    pub async fn write_list(&self, write: impl FnOnce(ListForm) -> WrittenPage + Send + 'static) -> Result<Reply> {
        let (head, text) = self.headed(write).await?;
        Ok(list_reply(&self.list, self.prefix(), &self.query, head, Some(text)))
    }

    /// A page, in its parts.
    async fn headed(
        &self,
        write: impl FnOnce(ListForm) -> WrittenPage + Send + 'static,
    ) -> Result<(PageHead, Vec<u8>)> {
        let form = self.list.form;
        let answers = &self.model().pools().answers;
        let written = answers.start(&self.caller_key(), move || {
            let page = write(form);
            Ok((PageHead::of(&page), page.text))
        });
        self.while_connected(self.model().in_time(written)).await
    }

    /// As [`Self::write_list`], for a page that depends on the snapshot and the query alone. `find` finds the things
    /// of the page on a snapshot that shows every commit acknowledged before, and returns how to write the page. If the
    /// client has the page of the same snapshot, no page is made.
    ///
    /// # Errors
    /// As of [`Self::write_page`]; of `find`.
    pub async fn list_snapshot<W: FnOnce(ListForm) -> WrittenPage + Send + 'static>(
        &self,
        find: impl AsyncFnOnce(Arc<Snapshot>) -> Result<W>,
    ) -> Result<Reply> {
        let pages = &self.service.known_pages;
        let question = self.list.question(&self.query);
        let snapshot = self.while_connected(self.model().snapshot()).await?;
        let known = question.as_ref().and_then(|question| pages.get(&snapshot, question));
        if let Some(head) = known.filter(|head| self.list.knows(&head.tag)) {
            return Ok(list_reply(&self.list, self.prefix(), &self.query, head, None));
        }
        // The page is made of this snapshot, or of a newer snapshot with names of the query.
        let write = self.while_connected(find(Arc::clone(&snapshot))).await?;
        let (head, text) = self.headed(write).await?;
        if let Some(question) = question {
            pages.add(&snapshot, question, head.clone());
        }
        Ok(list_reply(&self.list, self.prefix(), &self.query, head, Some(text)))
    }

    /// The text of a write for the request's line of the log; `None` if the log has no lines about requests.
    pub fn log_text(&self, text: impl FnOnce(&Model) -> Option<String>) -> Option<String> {
        access::is_logged().then(|| text(self.model())).flatten()
    }

    pub fn statistics(&self) -> Arc<HttpStatistics> {
        Arc::clone(&self.service.statistics)
    }

    pub fn settings(&self) -> &HttpSettings {
        &self.service.settings
    }

    /// Checks a rule beyond the route's, about a project.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub fn authorize_project(&self, rule: &PolicyRule, project: &str) -> Result<()> {
        self.authorize(rule, &Target::Project(Some(project)))
    }

    /// Checks rules beyond the route's, which are not about a project: those of other routes with a part of the answer.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub fn authorize_parts<'r>(&self, rules: impl IntoIterator<Item = &'r PolicyRule>) -> Result<()> {
        let mut rules = rules.into_iter();
        rules.try_for_each(|rule| self.authorize(rule, &Target::Own(&self.caller)))
    }

    fn authorize(&self, rule: &PolicyRule, target: &Target<'_>) -> Result<()> {
        match self.service.policy.current().authorize(rule, &self.caller, target) {
            PolicyDecision::Allowed => Ok(()),
            PolicyDecision::Denied | PolicyDecision::WrongScope => Err(Error::Forbidden {
                rule: rule.name.to_owned(),
            }),
            PolicyDecision::Undecided(reason) => Err(Error::Internal {
                detail: format!("The policy {} cannot be decided: {reason}.", rule.name),
            }),
        }
    }

    /// Values for members that a request of the native API leaves out. `for_others` is the rule about consumers and
    /// workloads of foreign projects.
    pub fn defaults(&self, for_others: &PolicyRule) -> Defaults {
        Defaults {
            project: self.caller.project_id.clone(),
            user: self.caller.user_id.clone(),
            rank: self.settings().rank,
            may_change_others: self.authorize_project(for_others, "").is_ok(),
        }
    }

    /// The id of the user who sends the request; empty without a user.
    pub fn user(&self) -> String {
        self.caller.user_id.clone().unwrap_or_default()
    }

    /// The caller whose share of the pools and of the writer's queue the request uses.
    pub fn caller_key(&self) -> CallerKey {
        match (&self.caller.user_id, &self.caller.project_id) {
            (None, None) => CallerKey::of_address(self.address),
            (user, project) => CallerKey::of_user(
                user.as_deref().unwrap_or_default(),
                project.as_deref().unwrap_or_default(),
            ),
        }
    }

    /// Waits for the work, and drops it when the client has left.
    ///
    /// # Errors
    /// Of the work. The error after the client has left reaches no client.
    pub async fn while_connected<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(client) = self.client.clone() else {
            return work.await;
        };
        tokio::select! {
            biased;
            done = work => done,
            () = client.disconnected() => Err(streaming::client_disconnected()),
        }
    }

    /// Answers with a body in chunks, sent while the body is made. A short body is sent whole.
    ///
    /// Up to `bound` bytes are made before the first is sent, so an early error is a refusal. A later error truncates
    /// the answer. When the response is dropped, the interrupt of `make_source` is set.
    ///
    /// # Errors
    /// [`Error::Busy`] if too many searches wait, or if the first bytes are not made by the deadline of a command.
    pub async fn stream(
        self,
        log_context: BrokenAnswerContext,
        effort: ChunkWork,
        bound: Option<usize>,
        make_source: impl Fn(Interrupt) -> Result<Box<dyn ChunkSource>> + Send + Sync + 'static,
    ) -> Result<Reply> {
        let caller = self.caller_key();
        let made = first_chunks(self.model().pools(), &caller, effort, bound, Arc::new(make_source));
        let (interrupt, first) = self.while_connected(self.model().in_time(made)).await?;
        Ok(self.reply(log_context, interrupt, first))
    }

    fn reply(self, log_context: BrokenAnswerContext, interrupt: InterruptOnDrop, mut first: FirstChunks) -> Reply {
        match &mut first {
            FirstChunks { chunks, rest: None, .. } if chunks.len() == 1 => {
                Reply::json(chunks.remove(0).unwrap_or_default())
            }
            _ => {
                let threads = ChunkThreads {
                    pools: Arc::clone(self.model().pools()),
                    caller: self.caller_key(),
                };
                let body = StreamingBody::new(log_context, self.client, threads, interrupt, first);
                Reply::streaming(body)
            }
        }
    }
}
