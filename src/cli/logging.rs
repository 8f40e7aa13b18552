//! The log, with one line for each record: `2026-01-31T12:00:00.000Z INFO  [placet::cli::serve] message`.

use std::fs::{File, OpenOptions};
use std::io::{Write, stderr};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use env_logger::{Builder, Target};
use log::Level;

use super::CommandError;
use super::log_queue::LogQueue;
use crate::config::DefaultSection;
use crate::statistics::Counter;

/// How long the end of the process waits for a log that is not read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes the last lines of the log when it is dropped.
pub struct FlushOnDrop(LogQueue);

impl FlushOnDrop {
    /// The number of lines that were dropped.
    pub fn dropped_lines(&self) -> Arc<Counter> {
        self.0.dropped_lines()
    }
}

impl Drop for FlushOnDrop {
    fn drop(&mut self) {
        self.0.flush(FLUSH_TIMEOUT);
    }
}

/// Starts logging to stderr or to the configured file. `RUST_LOG` overrides `[DEFAULT] debug`.
pub fn start(options: &DefaultSection) -> Result<FlushOnDrop, CommandError> {
    let mut builder = Builder::new();
    match std::env::var("RUST_LOG") {
        Ok(filters) if !filters.is_empty() => builder.parse_filters(&filters),
        // The start and stop lines of the HTTP server repeat placet's, and so do its errors about unreadable requests.
        _ if options.debug => builder.parse_filters("info,actix_http=off,placet=debug"),
        _ => builder.parse_filters("info,actix_http=off,actix_server=warn"),
    };
    let path = options.log_path();
    let stream = open(path.as_deref()).map_err(|reason| CommandError::Log {
        path: path.unwrap_or_else(|| "stderr".into()),
        reason,
    })?;
    let queue = LogQueue::start(stream, dropped_line)?;
    builder.target(Target::Pipe(Box::new(queue.clone())));
    builder.format(|out, record| {
        let message = one_line(&record.args().to_string());
        writeln!(out, "{}", line(record.level(), record.target(), &message))
    });
    // Fails only if logging has been started already, which happens in tests.
    let _ = builder.try_init();
    Ok(FlushOnDrop(queue))
}

/// The file, or stderr.
fn open(path: Option<&Path>) -> std::io::Result<File> {
    match path {
        Some(path) => OpenOptions::new().create(true).append(true).open(path),
        None => stderr().as_fd().try_clone_to_owned().map(File::from),
    }
}

fn line(level: Level, target: &str, message: &str) -> String {
    let time = Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ");
    format!("{time} {level:<5} [{target}] {message}")
}

fn dropped_line(count: u64) -> String {
    let message = format!("{count} lines of the log were dropped, because its reader was too slow");
    line(Level::Warn, module_path!(), &message) + "\n"
}

/// Escapes line breaks and other control characters, so that a request cannot forge a log line.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for c in message.chars() {
        if c.is_control() {
            line.extend(c.escape_default())
        } else {
            line.push(c)
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line() {
        assert_eq!(one_line("a\nb\r\tc\u{1b}[0m é"), "a\\nb\\r\\tc\\u{1b}[0m é");
    }
}
