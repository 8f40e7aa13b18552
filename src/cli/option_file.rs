//! Reads the file of an option.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The permission of users outside of the owner and the group.
const READABLE_BY_ALL: u32 = 0o004;

/// The option and its value, for messages, and the content of the file.
///
/// # Errors
/// Why the file cannot be read, and which user must be able to read the file.
pub fn read(section: &str, option: &str, path: &Path) -> Result<(String, Vec<u8>), String> {
    let name = format!("[{section}] {option} = {}", path.display());
    let content = fs::read(path).map_err(|error| {
        let user = rustix::process::geteuid().as_raw();
        format!("{name}: {error}; the user that runs placet (id {user}) must be able to read it")
    })?;
    Ok((name, content))
}

/// The token in the file of an option. `source` says where a token comes from.
///
/// # Errors
/// The file cannot be read, or is empty.
pub fn read_token(section: &str, option: &str, path: &Path, source: &str) -> Result<String, String> {
    let (name, content) = read(section, option, path)?;
    match String::from_utf8_lossy(&content).trim() {
        "" => Err(format!("{name}: it is empty; {source}")),
        token => Ok(token.to_owned()),
    }
}

/// A warning if every user can read the file of an option with a secret.
pub fn warning_if_public(section: &str, option: &str, path: &Path) -> Option<String> {
    let mode = fs::metadata(path).map_or(0, |data: Metadata| data.mode());
    let path = path.display();
    let is_public = mode & READABLE_BY_ALL != 0;
    is_public.then(|| {
        format!(
            "[{section}] {option}: every user can read {path} (mode {:04o}); run chmod o-r on it",
            mode & 0o7777
        )
    })
}
