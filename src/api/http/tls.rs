//! The certificates of the listener, which are loaded again after a change of their files. The caller provides access
//! to the files.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoClientAuth, WebPkiClientVerifier};
use tokio_rustls::rustls::{Error, InconsistentKeys, RootCertStore, ServerConfig};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::live_value::{Files, LiveValue};
use crate::pem;

/// The contents of the files.
pub struct TlsPems {
    pub certificate: PemFile,
    pub key: PemFile,
    pub client_ca: Option<PemFile>,
}

/// The contents of a file.
pub struct PemFile {
    /// The option and the path, for messages.
    pub name: String,
    pub text: Vec<u8>,
}

/// Access to the files, and warnings about the files.
type TlsFiles = dyn Files<(TlsPems, Vec<String>)>;

/// The certificates in use.
pub struct LiveTls {
    files: Box<TlsFiles>,
    current: LiveValue<ServerConfig>,
}

impl LiveTls {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn start(files: Box<TlsFiles>) -> Result<LiveTls, String> {
        let current = LiveValue::new(read(files.as_ref())?);
        Ok(LiveTls { files, current })
    }

    /// The certificates for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        let refreshed = self
            .current
            .refresh(|| self.files.changed(), || read(self.files.as_ref()));
        if refreshed != Ok(false) {
            log_outcome(refreshed.map(|_| ()));
        }
        self.current.load_full()
    }

    /// Reads the files again. If the files cannot be used, the previous certificates stay in use.
    pub fn reload(&self) {
        log_outcome(self.current.replace(|| read(self.files.as_ref())));
    }
}

fn log_outcome(replaced: Result<(), String>) {
    match replaced {
        Ok(()) => log::info!("the TLS certificate was loaded again"),
        Err(reason) => log::error!(
            "the TLS files cannot be used: {reason}. The previous certificate stays in use. Correct the files; placet \
             loads them again then"
        ),
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, String> {
    let (pems, mut warnings) = files.read()?;
    for file in [Some(&pems.certificate), Some(&pems.key), pems.client_ca.as_ref()] {
        let checked = file.map_or(Ok(()), |file| {
            pem::check(&file.text).map_err(|reason| format!("{}: {reason}", file.name))
        });
        checked?;
    }
    let config = server_config(&pems, &mut warnings)?;
    for warning in warnings {
        log::warn!("{warning}");
    }
    Ok(config)
}

fn server_config(pems: &TlsPems, warnings: &mut Vec<String>) -> Result<ServerConfig, String> {
    let chain = certificates(&pems.certificate)?;
    if let Some(end) = end_of(&chain[0]).filter(|end| *end < Utc::now()) {
        warnings.push(format!(
            "{}: the certificate expired at {}; clients that check it refuse the connection. Renew it",
            pems.certificate.name,
            end.format("%Y-%m-%d %H:%M:%SZ"),
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(&pems.key.text).map_err(|error| {
        format!(
            "{}: no private key in PEM: {error}. Give an unencrypted PKCS #8, PKCS #1 or SEC 1 key",
            pems.key.name
        )
    })?;
    let builder = ServerConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder
        .with_client_cert_verifier(client_verifier(pems.client_ca.as_ref())?)
        .with_single_cert(chain, key)
        .map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                format!("{} is not the key of {}", pems.key.name, pems.certificate.name)
            }
            error => format!("{} with {}: {error}", pems.certificate.name, pems.key.name),
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn client_verifier(authorities: Option<&PemFile>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let Some(file) = authorities else {
        return Ok(Arc::new(NoClientAuth));
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots
            .add(certificate)
            .map_err(|error| format!("{}: {error}", file.name))?;
    }
    WebPkiClientVerifier::builder_with_provider(roots.into(), default_provider().into())
        .build()
        .map_err(|error| format!("{}: {error}", file.name))
}

/// The certificates of a file, at least one.
fn certificates(file: &PemFile) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&file.text).collect();
    match found {
        Ok(found) if found.is_empty() => Err(format!("{}: no certificate in PEM", file.name)),
        found => found.map_err(|error| format!("{}: {error}", file.name)),
    }
}

/// The end of a certificate's validity, if it can be read.
fn end_of(certificate: &CertificateDer<'_>) -> Option<DateTime<Utc>> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    DateTime::from_timestamp(i64::try_from(end.as_secs()).ok()?, 0)
}
