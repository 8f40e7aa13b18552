//! Reads the PEM files of the listener from disk, and detects when they change.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use super::CommandError;
use super::file_stamp::FileStamp;
use crate::api::{LiveTls, PemFile, TlsFiles, TlsPems};
use crate::config::TlsPaths;

/// The shortest time between two checks of the files, which cost system calls.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The permission of users that are neither the owner nor in the group.
const READABLE_BY_ALL: u32 = 0o004;

struct DiskPems {
    paths: TlsPaths,
    last: Mutex<(Instant, Vec<FileStamp>)>,
}

/// The certificates, if the configuration names some.
///
/// # Errors
/// A file that cannot be used.
pub fn live(paths: Option<TlsPaths>) -> Result<Option<Arc<LiveTls>>, CommandError> {
    let Some(paths) = paths else { return Ok(None) };
    // Stamped before the files are read, so that a change between the two is detected.
    let last = Mutex::new((Instant::now(), stamps(&paths)));
    let live = LiveTls::start(Box::new(DiskPems { paths, last })).map_err(CommandError::Tls)?;
    Ok(Some(Arc::new(live)))
}

impl TlsFiles for DiskPems {
    /// One connection at a time checks the files; others get `false` at once.
    fn changed(&self) -> bool {
        let mut last = match self.last.try_lock() {
            Ok(last) => last,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if last.0.elapsed() < CHECK_INTERVAL {
            return false;
        }
        let stamps = stamps(&self.paths);
        let changed = stamps != last.1;
        *last = (Instant::now(), stamps);
        changed
    }

    fn read(&self) -> Result<(TlsPems, Vec<String>), String> {
        let TlsPaths {
            certificate,
            key,
            client_ca,
        } = &self.paths;
        let mut warnings = Vec::new();
        let mode = fs::metadata(key).map_or(0, |data: Metadata| data.mode());
        if mode & READABLE_BY_ALL != 0 {
            warnings.push(format!(
                "[placet] tls_key: every user can read {} (mode {:04o}); run chmod o-r on it",
                key.display(),
                mode & 0o7777,
            ));
        }
        let pems = TlsPems {
            certificate: pem("tls_certificate", certificate)?,
            key: pem("tls_key", key)?,
            client_ca: client_ca.as_ref().map(|path| pem("tls_client_ca", path)).transpose()?,
        };
        Ok((pems, warnings))
    }
}

fn stamps(paths: &TlsPaths) -> Vec<FileStamp> {
    let files: [Option<&PathBuf>; 3] = [Some(&paths.certificate), Some(&paths.key), paths.client_ca.as_ref()];
    files.into_iter().flatten().cloned().map(FileStamp::of).collect()
}

fn pem(option: &str, path: &Path) -> Result<PemFile, String> {
    let name = format!("[placet] {option} = {}", path.display());
    match fs::read(path) {
        Ok(text) => Ok(PemFile { name, text }),
        Err(error) => Err(format!(
            "{name}: {error}; the user that runs placet (id {}) must be able to read it",
            rustix::process::geteuid().as_raw(),
        )),
    }
}
