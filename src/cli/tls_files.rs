//! Reads the PEM files of the listener from disk, and detects when they change.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_watch::DiskFiles;
use super::{CommandError, option_file};
use crate::api::{LiveTls, PemFile, TlsPems};
use crate::config::TlsPaths;

/// The permission of users outside of the owner and the group.
const READABLE_BY_ALL: u32 = 0o004;

/// The certificates, if the configuration names certificates.
///
/// # Errors
/// A file that cannot be used.
pub fn live(paths: Option<TlsPaths>) -> Result<Option<Arc<LiveTls>>, CommandError> {
    let Some(paths) = paths else { return Ok(None) };
    let watched = [Some(&paths.certificate), Some(&paths.key), paths.client_ca.as_ref()];
    let watched: Vec<PathBuf> = watched.into_iter().flatten().cloned().collect();
    let files = DiskFiles::new(move || watched.clone(), move || read(&paths));
    let live = LiveTls::start(Box::new(files)).map_err(CommandError::File)?;
    Ok(Some(Arc::new(live)))
}

/// The files, and warnings about the files.
fn read(paths: &TlsPaths) -> Result<(TlsPems, Vec<String>), String> {
    let mut warnings = Vec::new();
    let mode = fs::metadata(&paths.key).map_or(0, |data: Metadata| data.mode());
    if mode & READABLE_BY_ALL != 0 {
        warnings.push(format!(
            "[placet] tls_key: every user can read {} (mode {:04o}); run chmod o-r on it",
            paths.key.display(),
            mode & 0o7777,
        ));
    }
    let client_ca = paths.client_ca.as_ref();
    let pems = TlsPems {
        certificate: pem("tls_certificate", &paths.certificate)?,
        key: pem("tls_key", &paths.key)?,
        client_ca: client_ca.map(|path| pem("tls_client_ca", path)).transpose()?,
    };
    Ok((pems, warnings))
}

fn pem(option: &str, path: &Path) -> Result<PemFile, String> {
    option_file::read(option, path).map(|(name, text)| PemFile { name, text })
}
