//! The forms of a line of the log: `[placet] log_format`.

use std::fmt::Write;

use chrono::{DateTime, Local, Utc};
use log::{Level, Record};
use serde_json::{Map, Value, json};

use crate::config::LogFormat;
use crate::log_context::{self, Field, LogContext};

/// The target of the line about a request.
const ACCESS: &str = "placet::access";

/// The line for a record, without a line feed.
pub fn line(format: LogFormat, record: &Record) -> String {
    let message = record.args().to_string();
    let context = log_context::current();
    let line = LogLine {
        level: record.level(),
        target: record.target(),
        message: &message,
        context: context.as_deref(),
    };
    line.write(format)
}

/// A line of placet outside of any request.
pub fn own_line(format: LogFormat, level: Level, target: &str, message: &str) -> String {
    let line = LogLine {
        level,
        target,
        message,
        context: None,
    };
    line.write(format)
}

struct LogLine<'a> {
    level: Level,
    target: &'a str,
    message: &'a str,
    context: Option<&'a LogContext>,
}

impl LogLine<'_> {
    fn write(&self, format: LogFormat) -> String {
        match format {
            LogFormat::Text => self.text(Utc::now()),
            LogFormat::Json => self.json(Utc::now()),
            LogFormat::Oslo => self.oslo(Local::now(), std::process::id()),
        }
    }

    /// `2026-01-31T12:00:00.000Z INFO  [placet::cli::serve] message`. A request's line has the ids before the message.
    fn text(&self, time: DateTime<Utc>) -> String {
        let mut line = format!(
            "{} {:<5} [{}] ",
            time.format("%Y-%m-%dT%H:%M:%S%.3fZ"),
            self.level,
            self.target
        );
        if let Some(context) = self.context {
            // Writing to a String cannot fail.
            let _ = write!(line, "{}", context.request_id);
            if let Some(id) = &context.global_id {
                let _ = write!(line, " (global {id})");
            }
            if let Some(trace) = &context.trace {
                let _ = write!(line, " (trace {} {})", trace.trace_id, trace.parent_id);
            }
            line.push(' ');
        }
        escape_into(&mut line, self.message);
        line
    }

    /// One JSON object. A request's line has the ids as fields. The access line also has all parts of the message as
    /// fields.
    fn json(&self, time: DateTime<Utc>) -> String {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("time", json!(time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()));
        put("level", json!(self.level.as_str()));
        put("target", json!(self.target));
        put("message", json!(self.message));
        if let Some(context) = self.context {
            put("request_id", json!(context.request_id));
            let caller = context.caller.get();
            for (name, value) in [
                ("global_request_id", context.global_id.as_ref()),
                ("trace_id", context.trace.as_ref().map(|trace| &trace.trace_id)),
                ("parent_id", context.trace.as_ref().map(|trace| &trace.parent_id)),
                ("user_id", caller.and_then(|caller| caller.user.as_ref())),
                ("project_id", caller.and_then(|caller| caller.project.as_ref())),
            ] {
                if let Some(value) = value {
                    put(name, json!(value));
                }
            }
            for (name, field) in context
                .answer
                .get()
                .filter(|_| self.target == ACCESS)
                .into_iter()
                .flatten()
            {
                put(
                    name,
                    match field {
                        Field::Text(text) => json!(text),
                        Field::Whole(number) => json!(number),
                        Field::Fraction(number) => json!(number),
                    },
                );
            }
        }
        Value::Object(fields).to_string()
    }

    /// The form of oslo.log's `logging_context_format_string`, for tools that parse the logs of OpenStack:
    /// `2026-01-31 12:00:00.000 4711 INFO placet.access [global id, id, user, project, domains] message`.
    fn oslo(&self, time: DateTime<Local>, process: u32) -> String {
        let level = match self.level {
            Level::Warn => "WARNING",
            Level::Trace => "TRACE",
            other => other.as_str(),
        };
        let mut line = format!(
            "{} {process} {level} {} [",
            time.format("%Y-%m-%d %H:%M:%S%.3f"),
            self.target.replace("::", ".")
        );
        match self.context {
            None => line.push('-'),
            Some(context) => {
                let caller = context.caller.get();
                let part = |id: Option<&String>| id.map_or("-", String::as_str).to_owned();
                let parts = [
                    part(context.global_id.as_ref()),
                    context.request_id.clone(),
                    part(caller.and_then(|caller| caller.user.as_ref())),
                    part(caller.and_then(|caller| caller.project.as_ref())),
                    part(caller.and_then(|caller| caller.domain.as_ref())),
                    part(caller.and_then(|caller| caller.user_domain.as_ref())),
                    part(caller.and_then(|caller| caller.project_domain.as_ref())),
                ];
                escape_into(&mut line, &parts.join(" "));
            }
        }
        line.push_str("] ");
        escape_into(&mut line, self.message);
        line
    }
}

/// Escapes line breaks and other control characters, so that a request cannot forge a log line.
fn escape_into(line: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = log_context::write_escaped(line, text, char::is_control);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_context::{CallerIds, TraceParent};

    fn context() -> LogContext {
        let context = LogContext {
            request_id: "req-1".to_owned(),
            global_id: Some("req-2".to_owned()),
            trace: TraceParent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ..LogContext::default()
        };
        let caller = CallerIds {
            user: Some("u\n".to_owned()),
            project: Some("p".to_owned()),
            ..CallerIds::default()
        };
        context.caller.set(caller).unwrap();
        context.answer.set(vec![("status", Field::Whole(204))]).unwrap();
        context
    }

    fn of_request<T>(target: &str, write: impl FnOnce(LogLine<'_>) -> T) -> T {
        let context = context();
        write(LogLine {
            level: Level::Warn,
            target,
            message: "a\nb\u{1b}[0m é",
            context: Some(&context),
        })
    }

    fn time() -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_800_000_000_123).unwrap()
    }

    #[test]
    fn a_text_is_one_line_with_the_ids_of_its_request() {
        assert_eq!(
            of_request("placet::x", |line| line.text(time())),
            "2027-01-15T08:00:00.123Z WARN  [placet::x] req-1 (global req-2) (trace 4bf92f3577b34da6a3ce929d0e0e4736 \
             00f067aa0ba902b7) a\\nb\\u{1b}[0m é"
        );
        let plain = own_line(LogFormat::Text, Level::Info, "t", "m");
        assert!(plain.ends_with("Z INFO  [t] m"), "{plain}");
    }

    #[test]
    fn json_has_a_field_for_each_id_and_those_of_the_answer_in_the_access_line_only() {
        let read = |text: String| -> Value { serde_json::from_str(&text).unwrap() };
        let line = read(of_request(ACCESS, |line| line.json(time())));
        assert_eq!(
            line,
            json!({
                "time": "2027-01-15T08:00:00.123000Z", "level": "WARN", "target": ACCESS, "message": "a\nb\u{1b}[0m é",
                "request_id": "req-1", "global_request_id": "req-2", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                "parent_id": "00f067aa0ba902b7", "user_id": "u\n", "project_id": "p", "status": 204,
            })
        );
        let other = of_request("placet::x", |line| line.json(time()));
        assert_eq!(read(other.clone()).get("status"), None);
        assert!(!other.contains('\n'), "{other}");
    }

    #[test]
    fn oslo_s_form_has_the_ids_in_brackets() {
        let local = time().with_timezone(&Local);
        assert_eq!(
            of_request("placet::access", |line| line.oslo(local, 7)),
            format!(
                "{} 7 WARNING placet.access [req-2 req-1 u\\n p - - -] a\\nb\\u{{1b}}[0m é",
                local.format("%Y-%m-%d %H:%M:%S.123")
            )
        );
        let plain = own_line(LogFormat::Oslo, Level::Info, "a::b", "m");
        assert!(plain.ends_with(" INFO a.b [-] m"), "{plain}");
    }
}
