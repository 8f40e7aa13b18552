//! A bounded queue in front of the log's stream, so that a stream without a reader stops no thread.
//!
//! A line is written at once if the stream has room for the line. Otherwise the queue's thread writes the line. If the
//! queue is full, lines are dropped and counted, and a line of the log has the number. Failed writes, as on a full
//! disk, are counted as well, and reported on stderr at once.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::log_losses::Losses;
use super::log_stream::LogStream;
use crate::config::LogFormat;
use crate::db::SetupError;
use crate::db::thread::spawn;
use crate::statistics::Counter;

/// The most bytes of waiting lines.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;
/// If poll(2) says that a pipe has room, a write of at most this length does not block (`PIPE_BUF`).
const MAX_WRITE_AT_ONCE: usize = 4096;

/// The queue. Clones share the queue.
#[derive(Clone)]
pub struct LogQueue(Arc<SharedLogQueue>);

struct SharedLogQueue {
    queue: Mutex<LogQueueState>,
    changed: Condvar,
    dropped: Arc<Counter>,
    /// Locked by the thread that writes: the thread that has the queue, or the queue's own thread.
    losses: Mutex<Losses>,
}

struct LogQueueState {
    stream: LogStream,
    waiting: Vec<u8>,
    /// The number of lines for which the queue had no room.
    dropped: u64,
    /// Whether the thread writes lines from the queue.
    is_writing: bool,
}

impl LogQueueState {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.dropped == 0 && !self.is_writing
    }
}

impl LogQueue {
    /// Starts the thread. Failed writes are reported to `errors` at once, unless `errors` is the stream itself.
    ///
    /// # Errors
    /// [`SetupError::Thread`].
    pub fn start(stream: LogStream, errors: Option<LogStream>, format: LogFormat) -> Result<LogQueue, SetupError> {
        let shared = Arc::new(SharedLogQueue {
            queue: Mutex::new(LogQueueState {
                stream,
                waiting: Vec::new(),
                dropped: 0,
                is_writing: false,
            }),
            changed: Condvar::new(),
            dropped: Arc::default(),
            losses: Mutex::new(Losses::new(errors, format)),
        });
        let queue = LogQueue(Arc::clone(&shared));
        spawn("placet-log", move || shared.write_waiting())?;
        Ok(queue)
    }

    /// The number of dropped lines since the start.
    pub fn dropped_lines(&self) -> Arc<Counter> {
        Arc::clone(&self.0.dropped)
    }

    /// Writes to the new stream from now on. A write that has begun ends in the former stream.
    pub fn switch_to(&self, stream: LogStream) {
        self.0.lock().stream = stream;
    }

    /// Waits until all lines are written, but not longer than `bound`.
    pub fn flush(&self, bound: Duration) {
        let queue = self.0.lock();
        let _ = self
            .0
            .changed
            .wait_timeout_while(queue, bound, |queue| !queue.is_idle());
    }
}

/// Takes one line with each write, and never fails.
impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut queue = self.0.lock();
        if queue.is_idle() && line.len() <= MAX_WRITE_AT_ONCE && queue.stream.has_room() {
            self.0.write_now(&queue.stream, line, 0);
        } else if queue.dropped > 0 || queue.waiting.len() + line.len() > MAX_WAITING_BYTES {
            queue.dropped += 1;
            self.0.dropped.increment();
        } else {
            queue.waiting.extend_from_slice(line);
            self.0.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SharedLogQueue {
    fn lock(&self) -> MutexGuard<'_, LogQueueState> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: writes the waiting lines, for ever.
    fn write_waiting(&self) {
        let mut queue = self.lock();
        loop {
            queue.is_writing = false;
            self.changed.notify_all();
            let waited = self.changed.wait_while(queue, |queue| queue.is_idle());
            queue = waited.unwrap_or_else(PoisonError::into_inner);
            let (lines, dropped) = (std::mem::take(&mut queue.waiting), std::mem::take(&mut queue.dropped));
            queue.is_writing = true;
            let stream = queue.stream.clone();
            drop(queue);
            self.write_now(&stream, &lines, dropped);
            queue = self.lock();
        }
    }

    /// Writes lines, and then the number of dropped lines. Counts the failed lines.
    fn write_now(&self, stream: &LogStream, lines: &[u8], dropped: u64) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lost = losses.write(stream, lines);
        if dropped > 0 {
            lost += losses.write_dropped(stream, dropped);
        }
        self.dropped.add(lost);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{PipeReader, PipeWriter, Read, pipe};
    use std::os::fd::OwnedFd;

    use super::*;

    fn stream(writer: PipeWriter) -> LogStream {
        LogStream::new(File::from(OwnedFd::from(writer)), None)
    }

    fn queue() -> (LogQueue, PipeReader) {
        let (reader, writer) = pipe().unwrap();
        let queue = LogQueue::start(stream(writer), None, LogFormat::Text);
        (queue.unwrap(), reader)
    }

    #[test]
    fn a_line_is_written_at_once_if_there_is_room() {
        let (mut queue, mut reader) = queue();
        queue.write_all(b"one\n").unwrap();
        let mut read = [0; 4];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"one\n");
    }

    #[test]
    fn lines_go_to_the_stream_that_was_switched_to() {
        let (mut queue, mut former) = queue();
        queue.write_all(b"one\n").unwrap();
        let (mut reader, writer) = pipe().unwrap();
        queue.switch_to(stream(writer));
        queue.write_all(b"two\n").unwrap();
        let mut read = [0; 4];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"two\n");
        // The former stream is closed, and has only the line before.
        let mut rest = String::new();
        former.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "one\n");
    }

    #[test]
    fn lines_that_are_not_read_are_kept_up_to_a_limit_and_then_counted() {
        let (mut queue, reader) = queue();
        let lines = 2 * MAX_WAITING_BYTES / 100;
        for number in 0..lines {
            queue.write_all(format!("{number:099}\n").as_bytes()).unwrap();
        }
        queue.flush(Duration::from_millis(10));
        let mut expected = 0;
        let mut dropped = 0;
        for line in io::BufRead::lines(io::BufReader::new(reader)).map(Result::unwrap) {
            if let Some((_, message)) = line.split_once("] ") {
                let count = message.strip_suffix(" lines of the log were dropped, because its reader was too slow");
                dropped = count.and_then(|count| count.parse().ok()).unwrap();
                break;
            }
            assert_eq!(line.parse(), Ok(expected), "the lines are in order");
            expected += 1;
        }
        assert_eq!(expected + dropped, lines);
        assert!(
            expected * 100 >= MAX_WAITING_BYTES && dropped > 0,
            "{expected} {dropped}"
        );
        queue.flush(Duration::from_secs(10));
        assert!(queue.0.lock().is_idle());
    }
}
