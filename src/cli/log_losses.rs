//! Lost lines of the log: counted, reported on stderr at once, and reported in the log after the next successful write.

use std::time::{Duration, Instant};

use super::log_stream::LogStream;

/// The time between two reports on stderr.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Lines that are missing from the log, and the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DroppedLines {
    /// The reader of the stream was too slow for this many lines.
    TooMany(u64),
    /// The last write failed for this reason.
    Unwritten { lines: u64, reason: String },
}

/// The lines that could not be written, until a line of the log reports the number.
pub struct Losses {
    lines: u64,
    reason: String,
    /// The stream for reports about failed writes.
    errors: Option<LogStream>,
    reported: Option<Instant>,
    dropped_line: Box<dyn Fn(&DroppedLines) -> String + Send>,
}

impl Losses {
    /// `dropped_line` makes the line about dropped lines.
    pub fn new(errors: Option<LogStream>, dropped_line: impl Fn(&DroppedLines) -> String + Send + 'static) -> Losses {
        Losses {
            lines: 0,
            reason: String::new(),
            errors,
            reported: None,
            dropped_line: Box::new(dropped_line),
        }
    }

    /// Writes the number of lost lines, and then lines. Returns the number of newly lost lines.
    pub fn write(&mut self, stream: &LogStream, lines: &[u8]) -> u64 {
        if self.lines > 0 {
            let lost = DroppedLines::Unwritten {
                lines: self.lines,
                reason: self.reason.clone(),
            };
            if stream.write((self.dropped_line)(&lost).as_bytes()).is_ok() {
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

    /// Writes a line about dropped lines. Returns the number of newly lost lines.
    pub fn write_dropped(&mut self, stream: &LogStream, dropped: &DroppedLines) -> u64 {
        let line = (self.dropped_line)(dropped);
        self.write(stream, line.as_bytes())
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

impl std::fmt::Display for DroppedLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DroppedLines::TooMany(number) => {
                write!(f, "{} dropped, because its reader was too slow", lines(*number))
            }
            DroppedLines::Unwritten { lines: number, reason } => {
                write!(f, "{} lost, because it could not be written: {reason}", lines(*number))
            }
        }
    }
}

fn lines(number: u64) -> String {
    match number {
        1 => "1 line of the log was".to_owned(),
        _ => format!("{number} lines of the log were"),
    }
}
