//! The log: one line a record, `2026-01-31T12:00:00.000Z INFO  [placet::cli::serve] message`.

use std::fs::OpenOptions;
use std::io::Write;

use chrono::Utc;
use env_logger::{Builder, Target};

use super::Failure;
use crate::config::DefaultSection;

/// Starts logging, to stderr or to the configured file. `RUST_LOG` wins over `[DEFAULT] debug`.
pub fn start(options: &DefaultSection) -> Result<(), Failure> {
    let mut builder = Builder::new();
    match std::env::var("RUST_LOG") {
        Ok(filters) if !filters.is_empty() => builder.parse_filters(&filters),
        // The HTTP server's own start and stop lines say nothing that placet's do not.
        _ if options.debug => builder.parse_filters("info,placet=debug"),
        _ => builder.parse_filters("info,actix_server=warn"),
    };
    if let Some(path) = &options.log_path {
        let failure = |reason| Failure::Log {
            path: path.clone(),
            reason,
        };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(failure)?;
        builder.target(Target::Pipe(Box::new(file)));
    }
    builder.format(|out, record| {
        let time = Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ");
        let message = one_line(&record.args().to_string());
        writeln!(out, "{time} {:<5} [{}] {message}", record.level(), record.target())
    });
    // A second start can only be a test's.
    let _ = builder.try_init();
    Ok(())
}

/// Without line breaks and other control characters, so that nobody forges a line by what they ask for.
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
