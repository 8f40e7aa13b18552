//! Writes the messages of a command beside the result. The macros of std panic if stderr is on a full disk.

use std::io::{self, Write};

/// Writes a text and the end of the line. If stderr cannot be written, there is no further place for the text.
pub fn line(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(format!("{text}\n").as_bytes());
}
