//! The access log: one line for each request.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::{HttpRequest, HttpResponse};

use super::request_head::RequestHead;

/// Logs one line about a request and its response.
pub fn log(request: &HttpRequest, head: &RequestHead, response: &HttpResponse, duration: Duration) {
    let length = match response.body().size() {
        BodySize::None => "0".to_owned(),
        BodySize::Sized(length) => length.to_string(),
        // The body is still being sent: the line is about the head of the answer.
        BodySize::Stream => "-".to_owned(),
    };
    log::info!(
        target: "placet::access",
        "{}{} {} \"{} {}\" status: {} len: {length} microversion: {} time: {:.3} ms",
        head.request_id,
        GlobalId(head.global_id.as_deref()),
        Escaped(&head.remote),
        Escaped(shortened(head.method.as_str())),
        Escaped(shortened(request.uri().path_and_query().map_or("-", |path| path.as_str()))),
        response.status().as_u16(),
        NegotiatedVersion(head),
        duration.as_secs_f64() * 1000.0,
    );
}

/// A longer method or path is cut off in the log.
const MAX_LOGGED_BYTES: usize = 1024;

/// The beginning of a text from the client, for the log.
pub fn shortened(text: &str) -> &str {
    let longest = text.len().min(MAX_LOGGED_BYTES);
    let end = (0..=longest).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or_default()]
}

/// Text from the client, escaped: it must not end the log line or move the terminal's cursor.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if c.is_control() || c == '"' || c == '\\' {
                write!(f, "{}", c.escape_default())?
            } else {
                f.write_char(c)?
            }
        }
        Ok(())
    }
}

/// The request id of the sender, if any.
struct GlobalId<'a>(Option<&'a str>);

impl Display for GlobalId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |id| write!(f, " (global {id})"))
    }
}

/// The microversion of the request; `-` if none was negotiated.
struct NegotiatedVersion<'a>(&'a RequestHead);

impl Display for NegotiatedVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.version {
            Some(version) => version.fmt(f),
            None => f.write_char('-'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_forge_log_lines() {
        assert_eq!(Escaped("1.2.3.4\n\x1b[2J\"é").to_string(), "1.2.3.4\\n\\u{1b}[2J\\\"é");
    }
}
