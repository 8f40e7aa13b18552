//! The file of `[placet] token_file` on disk: reads the file, notices changes, and replaces the file as a whole.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use super::CommandError;
use super::file_watch::DiskFiles;
use crate::auth::LiveTokens;
use crate::auth::tokens::{self, TokenEntry};
use crate::live_value::Files;

/// Permissions of users outside of the owner and the group.
const OTHERS: u32 = 0o007;
const OWNER_ONLY: u32 = 0o600;
const HEAD: &str = "# Tokens of placet, as hashes. Change it with `placet token create` and `placet token revoke`.\n";

/// The tokens of the file, for the service.
///
/// # Errors
/// The file cannot be used.
pub fn live(path: &Path) -> Result<LiveTokens, CommandError> {
    LiveTokens::start(path.display().to_string(), file(path)).map_err(CommandError::File)
}

fn file(path: &Path) -> Box<dyn Files<String>> {
    let (watched, path) = (path.to_owned(), path.to_owned());
    Box::new(DiskFiles::new(move || vec![watched.clone()], move || read(&path)))
}

/// The text of the file.
fn read(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| {
        let advice = match error.kind() {
            ErrorKind::NotFound => "; `placet token create --help` says how to make it",
            ErrorKind::PermissionDenied => ": let the user that runs placet read it",
            _ => "",
        };
        format!("cannot read the token file {}: {error}{advice}", path.display())
    };
    let file = File::open(path).map_err(failed)?;
    check_mode(path, &file.metadata().map_err(failed)?)?;
    io::read_to_string(file).map_err(failed)
}

/// A hash is no token, but the file says who has which roles. A program that can write the file can add a token.
fn check_mode(path: &Path, data: &Metadata) -> Result<(), String> {
    if data.mode() & OTHERS == 0 {
        return Ok(());
    }
    let (name, mode) = (path.display(), data.mode() & 0o7777);
    Err(format!(
        "every user of this machine can use the token file {name} (mode {mode:04o}): run chmod 600 {name}, or chmod 640 if \
         placet reads it by its group"
    ))
}

/// The tokens of the file; none if the file does not exist yet.
pub fn entries(path: &Path) -> Result<Vec<TokenEntry>, String> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    tokens::parse(&read(path)?).map_err(|reason| format!("{}:{reason}", path.display()))
}

/// Changes the tokens of the file. Concurrent changes wait for each other, and a reader finds the file before the
/// change or after the change.
pub fn change(path: &Path, change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<(), String>) -> Result<(), String> {
    // The target of a link, because a rename would replace the link.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let failed = |error: io::Error| format!("cannot write the token file {}: {error}", path.display());
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // The folder is locked, because the file is replaced.
    let lock = File::open(folder).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut entries = entries(path)?;
    change(&mut entries)?;
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    replace(path, folder, &lock, &format!("{HEAD}{lines}")).map_err(failed)
}

fn replace(path: &Path, folder: &Path, opened_folder: &File, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{}", std::process::id()));
    let written = write_new(path, &new, text);
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written?;
    opened_folder.sync_all()
}

/// With the owner and the mode of the former file, so that the service can still read the file.
fn write_new(path: &Path, new: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(new)?;
    if let Ok(former) = fs::metadata(path) {
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (former.uid(), former.gid()) {
            chown(new, Some(former.uid()), Some(former.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(former.mode() & 0o7777))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_the_mode_and_what_another_change_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let add = |id: &str| {
            let entry = TokenEntry {
                hash: tokens::hash(id),
                id: id.to_owned(),
                user: "u".to_owned(),
                project: "p".to_owned(),
                roles: Vec::new(),
                host: None,
                created: chrono::DateTime::UNIX_EPOCH,
                expires: None,
            };
            change(&path, |entries| {
                entries.push(entry);
                Ok(())
            })
        };
        add("a").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, OWNER_ONLY);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        add("b").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        let ids: Vec<String> = entries(&path).unwrap().into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "a temporary file stayed"
        );
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        assert!(add("c").unwrap_err().contains("chmod 600"));
    }

    #[test]
    fn a_change_of_the_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let disk = file(&path);
        assert!(disk.read().unwrap_err().contains("placet token create"));
        assert!(!disk.changed());
        change(&path, |_| Ok(())).unwrap();
        assert!(disk.changed());
        assert!(disk.read().is_ok());
        assert!(!disk.changed());
    }
}
