//! Lost lines of the log: counted, reported on stderr at once, and reported in the log after the next successful write.

use std::time::{Duration, Instant};

use log::Level;

use super::log_format;
use super::log_stream::LogStream;
use crate::config::LogFormat;

/// The time between two reports on stderr.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// The target of the lines about the log itself.
const TARGET: &str = "placet::cli::logging";

/// The lines that could not be written, until a line of the log reports the number.
pub struct Losses {
    lines: u64,
    reason: String,
    /// The stream for reports about failed writes.
    errors: Option<LogStream>,
    reported: Option<Instant>,
    format: LogFormat,
}

impl Losses {
    pub fn new(errors: Option<LogStream>, format: LogFormat) -> Losses {
        Losses {
            lines: 0,
            reason: String::new(),
            errors,
            reported: None,
            format,
        }
    }

    /// Writes the number of lost lines, and then lines. Returns the number of newly lost lines.
    pub fn write(&mut self, stream: &LogStream, lines: &[u8]) -> u64 {
        if self.lines > 0 {
            let reason = format!("lost, because it could not be written: {}", self.reason);
            if stream.write(self.line(self.lines, &reason).as_bytes()).is_ok() {
                self.lines = 0;
            }
        }
        let Err(unwritten) = stream.write(lines) else {
            return 0;
        };
        self.lines += unwritten.lines;
        self.reason = unwritten.reason.to_string();
        self.report(stream);
        unwritten.lines
    }

    /// Writes that this number of lines was dropped. Returns the number of newly lost lines.
    pub fn write_dropped(&mut self, stream: &LogStream, dropped: u64) -> u64 {
        let line = self.line(dropped, "dropped, because its reader was too slow");
        self.write(stream, line.as_bytes())
    }

    /// A line of the log about missing lines.
    fn line(&self, missing: u64, reason: &str) -> String {
        let message = format!("{} {reason}", lines(missing));
        log_format::own_line(self.format, Level::Warn, TARGET, &message) + "\n"
    }

    /// Reports on stderr that the log cannot be written. Does not wait until stderr is read.
    fn report(&mut self, stream: &LogStream) {
        let (Some(path), Some(errors)) = (stream.path(), &self.errors) else {
            return;
        };
        if self.reported.is_some_and(|at| at.elapsed() < REPORT_INTERVAL) || !errors.has_room() {
            return;
        }
        self.reported = Some(Instant::now());
        let report = format!(
            "placet: cannot write the log to {}: {}; placet goes on without it, {} lost so far\n",
            path.display(),
            self.reason,
            lines(self.lines)
        );
        // There is no third stream for the report.
        let _ = errors.write(report.as_bytes());
    }
}

fn lines(number: u64) -> String {
    match number {
        1 => "1 line of the log was".to_owned(),
        _ => format!("{number} lines of the log were"),
    }
}
