//! Reads the PEM files of the listener from disk, and detects when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_watch::DiskFiles;
use super::{CommandError, option_file};
use crate::api::{LiveTls, PemFile, TlsPems};
use crate::config::TlsPaths;

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
    warnings.extend(option_file::warning_if_public("placet", "tls_key", &paths.key));
    let client_ca = paths.client_ca.as_ref();
    let pems = TlsPems {
        certificate: pem("tls_certificate", &paths.certificate)?,
        key: pem("tls_key", &paths.key)?,
        client_ca: client_ca.map(|path| pem("tls_client_ca", path)).transpose()?,
    };
    Ok((pems, warnings))
}

fn pem(option: &str, path: &Path) -> Result<PemFile, String> {
    option_file::read("placet", option, path).map(|(name, text)| PemFile { name, text })
}
