//! TLS to a server: the authorities, and placet's certificate.
//!
//! With `cafile`, rustls judges the certificates as everywhere, with one exception. `openssl req -x509` makes a
//! self-signed certificate that is an authority, and small clouds give such a certificate to Keystone and to `cafile`.
//! rustls refuses an authority as a server. OpenSSL, and so keystonemiddleware, accepts a trusted certificate.

use std::path::Path;
use std::sync::Arc;

use reqwest::{ClientBuilder, Identity};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::{ConnectionError, ConnectionSettings, chain};
use crate::pem;

/// Applies the options for certificates to the builder.
///
/// # Errors
/// A file cannot be read, or has no certificate or no key.
pub fn configure(builder: ClientBuilder, settings: &ConnectionSettings) -> Result<ClientBuilder, ConnectionError> {
    let authorities = settings.cafile.as_deref().map(authorities).transpose()?;
    let presented = settings.certfile.as_deref();
    let presented = presented
        .map(|path| Presented::read(path, settings.keyfile.as_deref()))
        .transpose()?;
    if let Some(authorities) = authorities
        && !settings.insecure
    {
        return Ok(builder.use_preconfigured_tls(client_config(authorities, presented)?));
    }
    let builder = builder.danger_accept_invalid_certs(settings.insecure);
    Ok(match presented {
        Some(presented) => builder.identity(presented.identity()?),
        None => builder,
    })
}

/// The certificates of a file. Certificates that rustls cannot read trust nothing, as in a bundle of the system.
fn authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectionError> {
    let found = CertificateDer::pem_slice_iter(&read("cafile", path)?).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(unusable("cafile", path))?;
    if found.is_empty() {
        return Err(unusable("cafile", path)("it has no certificate in PEM form"));
    }
    Ok(found)
}

/// The client certificate with its key, in PEM form.
struct Presented<'a> {
    path: &'a Path,
    pem: Vec<u8>,
}

impl Presented<'_> {
    fn read<'a>(path: &'a Path, keyfile: Option<&Path>) -> Result<Presented<'a>, ConnectionError> {
        let mut pem = read("certfile", path)?;
        if let Some(key) = keyfile {
            pem.push(b'\n');
            pem.extend(read("keyfile", key)?);
        }
        Ok(Presented { path, pem })
    }

    fn identity(&self) -> Result<Identity, ConnectionError> {
        Identity::from_pem(&self.pem).map_err(unusable("certfile", self.path))
    }

    fn chain_and_key(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConnectionError> {
        let chain = CertificateDer::pem_slice_iter(&self.pem).collect::<Result<Vec<_>, _>>();
        let key = PrivateKeyDer::from_pem_slice(&self.pem);
        let unusable = || unusable("certfile", self.path);
        Ok((chain.map_err(unusable())?, key.map_err(unusable())?))
    }
}

fn client_config(
    authorities: Vec<CertificateDer<'static>>,
    presented: Option<Presented<'_>>,
) -> Result<ClientConfig, ConnectionError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ConnectionError::Client(chain(&error)))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier::new(authorities)?));
    let Some(presented) = presented else {
        return Ok(builder.with_no_client_auth());
    };
    let (chain, key) = presented.chain_and_key()?;
    let configured = builder.with_client_auth_cert(chain, key);
    configured.map_err(unusable("certfile", presented.path))
}

/// rustls's judge of certificates, which also accepts a server whose certificate is among the authorities.
#[derive(Debug)]
struct Verifier {
    judge: Arc<WebPkiServerVerifier>,
    authorities: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(authorities: Vec<CertificateDer<'static>>) -> Result<Verifier, ConnectionError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities.iter().cloned());
        let judge = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()));
        let judge = judge.build().map_err(|error| ConnectionError::Client(chain(&error)))?;
        Ok(Verifier { judge, authorities })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self.judge.verify_server_cert(server, intermediates, name, ocsp, now);
        // The judge has checked the validity of the certificate, but not the name.
        if is_authority(&judged) && self.authorities.iter().any(|trusted| trusted == server) {
            verify_server_name(&ParsedCertificate::try_from(server)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        judged
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        server: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.judge.verify_tls12_signature(message, server, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        server: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.judge.verify_tls13_signature(message, server, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}

/// Whether a certificate was refused because it is an authority's certificate. rustls has no variant for this reason.
fn is_authority(judged: &Result<ServerCertVerified, Error>) -> bool {
    match judged {
        Err(Error::InvalidCertificate(CertificateError::Other(other))) => other.0.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, ConnectionError> {
    let text = std::fs::read(path).map_err(|error| unusable(option, path)(error))?;
    pem::check(&text).map_err(unusable(option, path))?;
    Ok(text)
}

fn unusable<E: ToString>(option: &'static str, path: &Path) -> impl FnOnce(E) -> ConnectionError {
    let path = path.to_owned();
    move |error| ConnectionError::Unreadable {
        option,
        path,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Of keystone.example.org, by `openssl req -x509 -days 36500`: valid from 2026-11-25 to 2126-11-01.
    const ITSELF: &[u8] = b"-----BEGIN CERTIFICATE-----\n\
MIIBnjCCAUSgAwIBAgIUMjciGkPzY269fLQLU9x0BuY/OIQwCgYIKoZIzj0EAwIw\n\
EzERMA8GA1UEAwwIa2V5c3RvbmUwIBcNMjYxMTI1MTc1OTE2WhgPMjEyNjExMDEx\n\
NzU5MTZaMBMxETAPBgNVBAMMCGtleXN0b25lMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n\
AQcDQgAENKY2zqNy038VZNt9HuuxFfj3dYpENTRI0e7tWTFqFLA17dGY5Qu1glNe\n\
w2rZplCc6/O3uGgVx5HKL8PUsBPxnKN0MHIwHQYDVR0OBBYEFDRpZQT9AFO5mG7l\n\
W8RsiKEfSsulMB8GA1UdIwQYMBaAFDRpZQT9AFO5mG7lW8RsiKEfSsulMA8GA1Ud\n\
EwEB/wQFMAMBAf8wHwYDVR0RBBgwFoIUa2V5c3RvbmUuZXhhbXBsZS5vcmcwCgYI\n\
KoZIzj0EAwIDSAAwRQIhAK8zB957bB/btQ04MBU1SDXyL/BVgb1VnR9gshqP2tVm\n\
AiBnSwuBYA2EPdeCwmTjeQFm9zO+DmiHm6zxhwa/8b6TVQ==\n\
-----END CERTIFICATE-----\n";
    const IN_2026: u64 = 1_767_225_600;
    const IN_2030: u64 = 1_893_456_000;
    const IN_2127: u64 = 4_954_521_600;

    #[test]
    fn a_server_that_is_its_own_authority_is_accepted_by_its_name_while_it_is_valid() {
        let itself = CertificateDer::from_pem_slice(ITSELF).expect("a certificate");
        let verifier = Verifier::new(vec![itself.clone()]).expect("a verifier");
        let judged = |name: &'static str, seconds| {
            let name = ServerName::try_from(name).expect("a name");
            let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            verifier
                .verify_server_cert(&itself, &[], &name, &[], now)
                .map_err(|error| error.to_string())
        };
        assert!(judged("keystone.example.org", IN_2030).is_ok());
        for (name, seconds, reason) in [
            ("other.example.org", IN_2030, "not valid for name"),
            ("keystone.example.org", IN_2026, "not valid yet"),
            ("keystone.example.org", IN_2127, "expired"),
        ] {
            let refusal = judged(name, seconds).err().unwrap_or_default();
            assert!(refusal.contains(reason), "{name} at {seconds}: {refusal}");
        }
    }
}
