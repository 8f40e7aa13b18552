//! The line that each request leaves in the log.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::{HttpRequest, HttpResponse};

use super::seen::Seen;

/// Writes the line.
pub fn log(request: &HttpRequest, seen: &Seen, response: &HttpResponse, took: Duration) {
    let length = match response.body().size() {
        BodySize::None => "0".to_owned(),
        BodySize::Sized(length) => length.to_string(),
        // It is being made; the line is about its head.
        BodySize::Stream => "-".to_owned(),
    };
    log::info!(
        target: "placet::access",
        "{}{} {} \"{} {}\" status: {} len: {length} microversion: {} time: {:.3} ms",
        seen.request_id,
        Global(seen.global_id.as_deref()),
        Plain(&seen.remote),
        seen.method,
        Plain(request.uri().path_and_query().map_or("-", |it| it.as_str())),
        response.status().as_u16(),
        Spoken(seen),
        took.as_secs_f64() * 1000.0,
    );
}

/// A text of the client's, which must not end the line nor move the terminal's cursor.
struct Plain<'a>(&'a str);

impl Display for Plain<'_> {
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

struct Global<'a>(Option<&'a str>);

impl Display for Global<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |id| write!(f, " (global {id})"))
    }
}

struct Spoken<'a>(&'a Seen);

impl Display for Spoken<'_> {
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
    fn a_client_cannot_write_lines_of_its_own() {
        assert_eq!(Plain("1.2.3.4\n\x1b[2J\"é").to_string(), "1.2.3.4\\n\\u{1b}[2J\\\"é");
    }
}
