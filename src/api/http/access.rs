//! The access log: one line for each request.

use std::fmt::{self, Display};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::{HttpRequest, HttpResponse};

use super::headers::text;
use super::request_head::RequestHead;
use crate::cut::cut;
use crate::log_context::{self, CallerIds, Field};
use crate::policy::Caller;

/// How long the parts of a request took.
pub struct Times {
    pub total: Duration,
    /// Until the body was read, after authentication and authorization; `None` for an earlier refusal.
    pub body: Option<Duration>,
}

/// The decision about a claim or a release.
#[derive(Debug)]
pub enum Decided {
    /// The consumers, their resources, and the providers.
    Granted(String),
    /// As `Granted`, of consumers that lost their allocations.
    Released(String),
    /// The reason of a refusal.
    Refused(String),
}

impl Decided {
    /// The name of the JSON field, and the text.
    fn field(&self) -> (&'static str, &str) {
        match self {
            Decided::Granted(text) => ("granted", shortened(text)),
            Decided::Released(text) => ("released", shortened(text)),
            Decided::Refused(text) => ("refused", shortened(text)),
        }
    }
}

const TARGET: &str = "placet::access";

/// Whether the log has lines about requests.
pub fn is_logged() -> bool {
    log::log_enabled!(target: TARGET, log::Level::Info)
}

/// Logs one line about a request and its response.
pub fn log(
    request: &HttpRequest,
    head: &RequestHead,
    response: &HttpResponse,
    times: &Times,
    decided: Option<&Decided>,
) {
    let length = match response.body().size() {
        BodySize::None => Some(0),
        BodySize::Sized(length) => Some(length),
        // The body is still being sent: the line is about the head of the answer.
        BodySize::Stream => None,
    };
    let (method, path) = (shortened(head.method.as_str()), shortened(path(request)));
    let agent = text(request, "user-agent").unwrap_or_else(|| "-".to_owned());
    let agent = cut(&agent, MAX_LOGGED_AGENT_BYTES);
    let (status, milliseconds) = (response.status().as_u16(), times.total.as_secs_f64() * 1000.0);
    let context = log_context::current();
    if let Some(context) = context.as_ref().filter(|_| log_context::has_fields()) {
        let fields = [
            ("remote", Some(Field::Text(head.remote.clone()))),
            ("method", Some(Field::Text(method.to_owned()))),
            ("path", Some(Field::Text(path.to_owned()))),
            ("status", Some(Field::Whole(status.into()))),
            ("length", length.map(Field::Whole)),
            (
                "microversion",
                head.version.map(|version| Field::Text(version.to_string())),
            ),
            ("milliseconds", Some(Field::Fraction(milliseconds))),
            ("user_agent", Some(Field::Text(agent.to_owned()))),
            (
                decided.map_or("refused", |decided| decided.field().0),
                decided.map(|decided| Field::Text(decided.field().1.to_owned())),
            ),
        ];
        let fields = fields.into_iter().filter_map(|(name, field)| Some((name, field?)));
        let _ = context.answer.set(fields.collect());
    }
    let caller = context.as_ref().and_then(|context| context.caller.get());
    log::info!(
        target: TARGET,
        "{} \"{} {}\" status: {status} len: {} microversion: {} time: {milliseconds:.3} ms user: {} project: {} agent: \
         \"{}\"{}",
        Escaped(&head.remote),
        Escaped(method),
        Escaped(path),
        or_dash(length),
        or_dash(head.version),
        id(caller.and_then(|caller| caller.user.as_deref())),
        id(caller.and_then(|caller| caller.project.as_deref())),
        Escaped(agent),
        decided.map_or_else(String::new, |decided| {
            let (name, text) = decided.field();
            format!(" {name}: {}", Escaped(text))
        }),
    );
}

/// Logs a request that took at least `limit`, with the times of its parts.
pub fn log_slow(request: &HttpRequest, limit: Duration, times: &Times) {
    if limit.is_zero() || times.total < limit {
        return;
    }
    let parts = match times.body {
        Some(before) => format!(
            "{:.3} s until it was authorized and its body had arrived, {:.3} s to answer it",
            before.as_secs_f64(),
            (times.total - before).as_secs_f64()
        ),
        None => "it was refused before it was authorized, or before its body had arrived".to_owned(),
    };
    log::warn!(
        "slow: \"{} {}\" took {:.3} s, at least [placet] slow_request_seconds: {parts}",
        Escaped(shortened(request.method().as_str())),
        Escaped(shortened(path(request))),
        times.total.as_secs_f64(),
    );
}

fn path(request: &HttpRequest) -> &str {
    request.uri().path_and_query().map_or("-", |path| path.as_str())
}

/// Adds the caller to the lines of the log that follow.
pub fn set_caller(caller: &Caller) {
    let Some(context) = log_context::current() else { return };
    // With noauth2 the user is the token's text. A longer text may be a token of Keystone or of a token file.
    let logged = |id: &Option<String>| id.clone().filter(|id| id.len() <= MAX_LOGGED_ID_BYTES);
    let _ = context.caller.set(CallerIds {
        user: logged(&caller.user_id),
        project: logged(&caller.project_id),
        domain: logged(&caller.domain_id),
        user_domain: logged(&caller.user_domain_id),
        project_domain: logged(&caller.project_domain_id),
    });
}

/// A longer method or path is cut off in the log.
const MAX_LOGGED_BYTES: usize = 1024;

/// A longer name of a client's program is cut off in the log.
const MAX_LOGGED_AGENT_BYTES: usize = 128;
/// A longer id of a user or project is not logged. Keystone's have up to 64 characters.
const MAX_LOGGED_ID_BYTES: usize = 64;

/// The beginning of a text from the client, for the log.
pub fn shortened(text: &str) -> &str {
    cut(text, MAX_LOGGED_BYTES)
}

/// Text from the client, escaped: the text must not end the log line or move the terminal's cursor.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        log_context::write_escaped(f, self.0, |c| c.is_control() || c == '"' || c == '\\')
    }
}

/// A value of the log line; `-` without a value.
fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The id of a user or a project, as one word; `-` without an id.
fn id(text: Option<&str>) -> String {
    let id = text.filter(|text| !text.is_empty());
    or_dash(id.map(|id| Escaped(&id.replace(' ', "_")).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_forge_log_lines() {
        assert_eq!(Escaped("1.2.3.4\n\x1b[2J\"é").to_string(), "1.2.3.4\\n\\u{1b}[2J\\\"é");
    }
}
