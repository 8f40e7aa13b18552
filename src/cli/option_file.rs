//! Reads the file of an option of `[placet]`.

use std::fs;
use std::path::Path;

/// The option and its value, for messages, and the content of the file.
///
/// # Errors
/// Why the file cannot be read, and which user must be able to read the file.
pub fn read(option: &str, path: &Path) -> Result<(String, Vec<u8>), String> {
    let name = format!("[placet] {option} = {}", path.display());
    let content = fs::read(path).map_err(|error| {
        let user = rustix::process::geteuid().as_raw();
        format!("{name}: {error}; the user that runs placet (id {user}) must be able to read it")
    })?;
    Ok((name, content))
}
