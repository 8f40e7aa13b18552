//! Prints the output of a command. The macros of std panic if the reader of a pipe has gone or a disk is full.

use std::io::{self, ErrorKind, Write};

use super::CommandError;

/// Prints a text. A pipe that its reader has closed is no failure.
///
/// # Errors
/// [`CommandError::Stdout`].
pub fn print(text: &str) -> Result<(), CommandError> {
    match write(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(CommandError::Stdout),
    }
}

/// Prints a text and the end of the line.
///
/// # Errors
/// As of [`print()`].
pub fn line(text: &str) -> Result<(), CommandError> {
    print(&format!("{text}\n"))
}

/// Writes all bytes, also to a pipe without a reader.
///
/// # Errors
/// Of stdout.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
