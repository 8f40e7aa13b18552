//! The log, with one line for each record: `2026-01-31T12:00:00.000Z INFO  [placet::cli::serve] message`.

use std::fs::OpenOptions;
use std::io::Write;

use chrono::Utc;
use env_logger::{Builder, Target};

use super::CommandError;
use crate::config::DefaultSection;

/// Starts logging to stderr or to the configured file. `RUST_LOG` overrides `[DEFAULT] debug`.
pub fn start(options: &DefaultSection) -> Result<(), CommandError> {
    let mut builder = Builder::new();
    match std::env::var("RUST_LOG") {
        Ok(filters) if !filters.is_empty() => builder.parse_filters(&filters),
        // The start and stop lines of the HTTP server repeat placet's.
        _ if options.debug => builder.parse_filters("info,placet=debug"),
        _ => builder.parse_filters("info,actix_server=warn"),
    };
    if let Some(path) = options.log_path() {
        let failure = |reason| CommandError::Log {
            path: path.clone(),
            reason,
        };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failure)?;
        builder.target(Target::Pipe(Box::new(file)));
    }
    builder.format(|out, record| {
        let time = Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ");
        let message = one_line(&record.args().to_string());
        writeln!(out, "{time} {:<5} [{}] {message}", record.level(), record.target())
    });
    // Fails only if logging has been started already, which happens in tests.
    let _ = builder.try_init();
    Ok(())
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
