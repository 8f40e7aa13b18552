//! The log: one line for each record, to stderr or to a file.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write, stderr};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use env_logger::{Builder, Logger, Target, WriteStyle};
use log::{Log, Metadata, Record};
use rustix::fs::{Access, access};

use super::CommandError;
use super::log_filter::{self, LogFilter};
use super::log_format;
use super::log_queue::LogQueue;
use super::log_stream::LogStream;
use crate::config::{Configuration, DefaultSection, LogFormat, Options};
use crate::log_context;
use crate::statistics::Counter;

/// How long the end of the process waits for a log without a reader.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes the last lines of the log in its `drop`.
pub struct FlushOnDrop(LogQueue);

impl FlushOnDrop {
    /// The number of dropped lines.
    pub fn dropped_lines(&self) -> Arc<Counter> {
        self.0.dropped_lines()
    }
}

impl Drop for FlushOnDrop {
    fn drop(&mut self) {
        self.0.flush(FLUSH_TIMEOUT);
    }
}

/// The log in use, whose file and level can be set again.
pub struct LiveLog {
    queue: LogQueue,
    logger: Arc<ArcSwap<Logger>>,
    options: ArcSwap<DefaultSection>,
    format: LogFormat,
}

/// The logger for the `log` crate: forwards to the logger in use.
struct CurrentLogger(Arc<ArcSwap<Logger>>);

impl Log for CurrentLogger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        self.0.load().enabled(metadata)
    }

    fn log(&self, record: &Record) {
        self.0.load().log(record);
    }

    fn flush(&self) {}
}

/// Starts the log of a service, to stderr or to the configured file. `RUST_LOG` overrides `[DEFAULT] debug`.
pub fn start(options: &DefaultSection, format: LogFormat) -> Result<(LiveLog, FlushOnDrop), CommandError> {
    start_to(open(options)?, options, format)
}

/// Starts the log of any command but the service, to stderr. The command may run as a different user, and the service
/// could not write a file of this user.
pub fn start_to_stderr(options: &Options) -> Result<(LiveLog, FlushOnDrop), CommandError> {
    start_to(stderr_stream()?, &options.default, options.placet.log_format)
}

fn start_to(
    stream: LogStream,
    options: &DefaultSection,
    format: LogFormat,
) -> Result<(LiveLog, FlushOnDrop), CommandError> {
    log_context::set_has_fields(format == LogFormat::Json);
    let queue = LogQueue::start(stream, stderr_stream().ok(), format)?;
    let (logger, warning) = logger(options, format, &queue);
    let log = LiveLog {
        queue: queue.clone(),
        logger: Arc::new(ArcSwap::from_pointee(logger)),
        options: ArcSwap::from_pointee(options.clone()),
        format,
    };
    // Fails only if logging has been started already, which happens in tests.
    let _ = log::set_boxed_logger(Box::new(CurrentLogger(Arc::clone(&log.logger))));
    log.set_max_level(warning);
    Ok((log, FlushOnDrop(queue)))
}

impl LiveLog {
    /// Opens the file again, and sets the level again: with the given options, or with the options in use.
    ///
    /// # Errors
    /// The file cannot be opened; the log goes on in the former file.
    pub fn reload(&self, options: Option<&DefaultSection>) -> Result<(), CommandError> {
        if let Some(options) = options {
            self.options.store(Arc::new(options.clone()));
        }
        let options = self.options.load();
        let (logger, warning) = logger(&options, self.format, &self.queue);
        self.queue.switch_to(open(&options)?);
        self.logger.store(Arc::new(logger));
        self.set_max_level(warning);
        Ok(())
    }

    fn set_max_level(&self, warning: Option<String>) {
        log::set_max_level(self.logger.load().filter());
        if let Some(warning) = warning {
            log::warn!("{warning}");
        }
    }
}

/// `[DEFAULT] log_options`: the whole configuration at debug level.
pub fn log_options(configuration: &Configuration) -> Result<(), CommandError> {
    if configuration.options.default.log_options && log::log_enabled!(log::Level::Debug) {
        for line in configuration.ini()?.lines().filter(|line| !line.is_empty()) {
            log::debug!("{line}");
        }
    }
    Ok(())
}

/// The logger, and a warning about `RUST_LOG`.
fn logger(options: &DefaultSection, format: LogFormat, queue: &LogQueue) -> (Logger, Option<String>) {
    let variable = std::env::var("RUST_LOG").ok();
    let LogFilter { filters, warning } = log_filter::choose(variable.as_deref(), options.debug);
    let mut builder = Builder::new();
    builder.parse_filters(&filters);
    builder.target(Target::Pipe(Box::new(queue.clone())));
    // Lines have no styles, which would be searched and removed.
    builder.write_style(WriteStyle::Always);
    builder.format(move |out, record| writeln!(out, "{}", log_format::line(format, record)));
    (builder.build(), warning)
}

/// Checks that [`start`] can write the file. Makes no file.
pub fn check(options: &DefaultSection) -> Result<(), CommandError> {
    let Some(path) = options.log_path() else {
        return Ok(());
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let checked: std::io::Result<()> = match OpenOptions::new().append(true).open(&path) {
        Err(reason) if reason.kind() == ErrorKind::NotFound => {
            access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(Into::into)
        }
        opened => opened.map(drop),
    };
    checked.map_err(|reason| CommandError::Log { path, reason })
}

/// The file, or stderr.
fn open(options: &DefaultSection) -> Result<LogStream, CommandError> {
    let Some(path) = options.log_path() else {
        return stderr_stream();
    };
    match OpenOptions::new().create(true).append(true).open(&path) {
        Ok(file) => Ok(LogStream::new(file, Some(path))),
        Err(reason) => Err(CommandError::Log { path, reason }),
    }
}

fn stderr_stream() -> Result<LogStream, CommandError> {
    match stderr().as_fd().try_clone_to_owned() {
        Ok(stream) => Ok(LogStream::new(File::from(stream), None)),
        Err(reason) => Err(CommandError::Log {
            path: "stderr".into(),
            reason,
        }),
    }
}
