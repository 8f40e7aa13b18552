//! The stream to which the log is written: a file, a pipe, a socket or a terminal.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A stream of lines. Clones share the stream.
#[derive(Clone)]
pub struct LogStream {
    file: Arc<File>,
    path: Option<Arc<PathBuf>>,
    /// A regular file has room at any time.
    is_regular: bool,
    /// Whether the last line is a half line: there was no room for the rest.
    is_mid_line: Arc<AtomicBool>,
}

/// Lines that could not be written, or only in part.
#[derive(Debug)]
pub struct Unwritten {
    pub lines: u64,
    pub reason: io::Error,
}

impl LogStream {
    pub fn new(file: File, path: Option<PathBuf>) -> LogStream {
        let is_regular = file.metadata().is_ok_and(|data| data.is_file());
        LogStream {
            is_regular,
            path: path.map(Arc::new),
            is_mid_line: Arc::new(AtomicBool::new(is_regular && ends_in_mid_line(&file))),
            file: Arc::new(file),
        }
    }

    /// The name of the file; `None` for stderr.
    pub fn path(&self) -> Option<&PathBuf> {
        self.path.as_deref()
    }

    /// Whether a short write would not block.
    pub fn has_room(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.is_regular || self.wait_for_room(Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// Writes the end of a half line, and then lines.
    ///
    /// # Errors
    /// [`Unwritten`].
    pub fn write(&self, lines: &[u8]) -> Result<(), Unwritten> {
        if self.is_mid_line.load(Ordering::Relaxed) {
            let ended = self.write_all(b"\n");
            ended.map_err(|(_, reason)| Unwritten::of(lines, reason))?;
        }
        self.write_all(lines)
            .map_err(|(written, reason)| Unwritten::of(&lines[written..], reason))
    }

    /// The bytes that were written before an error, and the error.
    fn write_all(&self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < bytes.len() {
            match (&*self.file).write(&bytes[written..]) {
                Ok(0) => return Err((written, ErrorKind::WriteZero.into())),
                Ok(more) => {
                    written += more;
                    self.is_mid_line.store(bytes[written - 1] != b'\n', Ordering::Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A process that shares the stream has set the stream to non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait_for_room(None).map_err(|error| (written, error.into()))?;
                }
                Err(error) => return Err((written, error)),
            }
        }
        Ok(())
    }

    fn wait_for_room(&self, limit: Option<&Timespec>) -> rustix::io::Result<usize> {
        poll(&mut [PollFd::new(&*self.file, PollFlags::OUT)], limit)
    }
}

impl Unwritten {
    fn of(lines: &[u8], reason: io::Error) -> Unwritten {
        let lines = lines.iter().filter(|byte| **byte == b'\n').count();
        Unwritten {
            lines: lines as u64,
            reason,
        }
    }
}

/// Whether an earlier process has left a half line. The file is open for writing only.
fn ends_in_mid_line(file: &File) -> bool {
    let last_byte = || {
        let mut file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        file.seek(SeekFrom::End(-1)).ok()?;
        let mut last = [0];
        file.read_exact(&mut last).ok()?;
        Some(last[0])
    };
    last_byte().is_some_and(|last| last != b'\n')
}

#[cfg(test)]
mod tests {
    use std::fs::{OpenOptions, read_to_string, write};

    use super::*;

    #[test]
    fn found_n3_a_line_without_its_end_is_ended_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for (before, after) in [("", "new\n"), ("old\n", "old\nnew\n"), ("ol", "ol\nnew\n")] {
            write(&path, before).unwrap();
            let file = OpenOptions::new().append(true).open(&path).unwrap();
            LogStream::new(file, Some(path.clone())).write(b"new\n").unwrap();
            assert_eq!(read_to_string(&path).unwrap(), after);
        }
    }

    #[test]
    fn found_n3_lines_that_cannot_be_written_are_counted() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let unwritten = LogStream::new(full, None).write(b"1\n2\n3\n").unwrap_err();
        assert_eq!((unwritten.lines, unwritten.reason.kind()), (3, ErrorKind::StorageFull));
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let closed = File::from(std::os::fd::OwnedFd::from(writer));
        let unwritten = LogStream::new(closed, None).write(b"1\n").unwrap_err();
        assert_eq!((unwritten.lines, unwritten.reason.kind()), (1, ErrorKind::BrokenPipe));
    }
}
