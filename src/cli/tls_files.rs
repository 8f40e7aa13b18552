//! Reads the PEM files of the listener from disk, and detects when they change.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_watch::FileWatch;
use super::{CommandError, option_file};
use crate::api::{LiveTls, PemFile, TlsFiles, TlsPems};
use crate::config::TlsPaths;

/// The permission of users outside of the owner and the group.
const READABLE_BY_ALL: u32 = 0o004;

struct DiskPems {
    paths: TlsPaths,
    watch: FileWatch,
}

/// The certificates, if the configuration names certificates.
///
/// # Errors
/// A file that cannot be used.
pub fn live(paths: Option<TlsPaths>) -> Result<Option<Arc<LiveTls>>, CommandError> {
    let Some(paths) = paths else { return Ok(None) };
    let watch = FileWatch::default();
    let live = LiveTls::start(Box::new(DiskPems { paths, watch })).map_err(CommandError::Tls)?;
    Ok(Some(Arc::new(live)))
}

impl TlsFiles for DiskPems {
    fn changed(&self) -> bool {
        self.watch.changed(|| watched(&self.paths))
    }

    fn read(&self) -> Result<(TlsPems, Vec<String>), String> {
        self.watch.note(watched(&self.paths));
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

fn watched(paths: &TlsPaths) -> Vec<PathBuf> {
    let files: [Option<&PathBuf>; 3] = [Some(&paths.certificate), Some(&paths.key), paths.client_ca.as_ref()];
    files.into_iter().flatten().cloned().collect()
}

fn pem(option: &str, path: &Path) -> Result<PemFile, String> {
    option_file::read(option, path).map(|(name, text)| PemFile { name, text })
}
