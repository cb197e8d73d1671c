//! Mutual TLS to the NameNodes, from PEM files that may be replaced while the tunnel stands.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore, SignatureScheme};
use webpki::{EndEntityCert, KeyUsage};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A file of certificates or keys that cannot be used.
#[derive(Debug)]
pub struct CertificateError {
    pub file: PathBuf,
    pub problem: String,
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.problem)
    }
}

impl CertificateError {
    fn new(file: &Path, problem: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            problem: problem.into(),
        }
    }
}

/// How much of a NameNode's certificate has to be right.
#[derive(Clone, Copy, PartialEq)]
pub enum Verify {
    /// Its chain, and the name that it is for.
    Full,
    /// Its chain alone.
    Chain,
}

/// The certificate by which the tunnel makes itself known, and its key.
pub struct Identity {
    pub cert: PathBuf,
    pub key: PathBuf,
}

pub struct Tls {
    ca: PathBuf,
    identity: Option<Identity>,
    verify: Verify,
    name: Option<ServerName<'static>>,
    good: Mutex<Arc<ClientConfig>>,
}

impl Tls {
    pub fn new(
        ca: PathBuf,
        identity: Option<Identity>,
        verify: Verify,
        name: Option<ServerName<'static>>,
    ) -> Result<Self, CertificateError> {
        let good = Mutex::new(Arc::new(configure(&ca, identity.as_ref(), verify)?));
        Ok(Self {
            ca,
            identity,
            verify,
            name,
            good,
        })
    }

    /// The name to expect in the certificate of `host`.
    pub fn name(&self, host: &str) -> Result<ServerName<'static>, rustls::pki_types::InvalidDnsNameError> {
        self.name
            .clone()
            .map_or_else(|| ServerName::try_from(host.to_owned()), Ok)
    }

    /// What the files say now; while they are being replaced, what they said last.
    pub fn current(&self) -> Arc<ClientConfig> {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(config) = configure(&self.ca, self.identity.as_ref(), self.verify) {
            *good = Arc::new(config);
        }
        good.clone()
    }
}

fn configure(
    ca: &Path,
    identity: Option<&Identity>,
    verify: Verify,
) -> Result<ClientConfig, CertificateError> {
    let provider = Arc::new(ring::default_provider());
    let roots = Arc::new(roots(ca)?);
    let unusable = |error: Error| CertificateError::new(ca, error.to_string());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(unusable)?;
    let builder = match verify {
        Verify::Full => builder.with_webpki_verifier(
            WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| CertificateError::new(ca, error.to_string()))?,
        ),
        Verify::Chain => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(ChainVerifier { roots, provider })),
    };
    let Some(Identity { cert, key }) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates(cert)?;
    check_dates(cert, &chain[0])?;
    builder
        .with_client_auth_cert(chain, private_key(key)?)
        .map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => CertificateError::new(
                key,
                format!(
                    "is not the key of the certificate in {}: name the two that belong together",
                    cert.display()
                ),
            ),
            Error::InvalidCertificate(error) => {
                CertificateError::new(cert, format!("holds no certificate that can be used: {error}"))
            }
            error => CertificateError::new(key, format!("holds no key that can be used: {error}")),
        })
}

fn read(file: &Path) -> Result<Vec<u8>, CertificateError> {
    let mut data =
        fs::read(file).map_err(|error| CertificateError::new(file, format!("cannot be read: {error}")))?;
    // Which some editors write before the first line, that would then be none of PEM's.
    if data.starts_with(BYTE_ORDER_MARK) {
        data.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(data)
}

fn damage(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "is cut off: a section has no end".into(),
        error => format!("is damaged: {error}"),
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&read(file)?)
        .collect::<Result<_, _>>()
        .map_err(|error| CertificateError::new(file, damage(&error)))?;
    if chain.is_empty() {
        return Err(CertificateError::new(
            file,
            "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)",
        ));
    }
    Ok(chain)
}

fn roots(file: &Path) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| {
            CertificateError::new(file, format!("holds a certificate that cannot be used: {error}"))
        })?;
    }
    Ok(roots)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    let pem = read(file)?;
    let text = String::from_utf8_lossy(&pem);
    if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(CertificateError::new(
            file,
            "is encrypted: decrypt it (openssl pkey -in FILE -out FILE), and let none but its owner read it",
        ));
    }
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            CertificateError::new(file, "holds no private key in PEM (-----BEGIN PRIVATE KEY-----)")
        }
        error => CertificateError::new(file, damage(&error)),
    })
}

/// A certificate out of its dates is refused by servers, some of which do not say why.
fn check_dates(file: &Path, certificate: &CertificateDer<'_>) -> Result<(), CertificateError> {
    let certificate = EndEntityCert::try_from(certificate).map_err(|error| {
        CertificateError::new(file, format!("holds no certificate that can be used: {error}"))
    })?;
    // The dates are looked at before any issuer, and no issuer is given: it is the server's to know.
    let checked = certificate.verify_for_usage(
        &[],
        &[],
        &[],
        UnixTime::now(),
        KeyUsage::client_auth(),
        None,
        None,
    );
    let days = |from: UnixTime, to: UnixTime| match to.as_secs().saturating_sub(from.as_secs()) / 86400 {
        0 => "less than a day".into(),
        1 => "a day".into(),
        days => format!("{days} days"),
    };
    match checked.err() {
        Some(webpki::Error::CertExpired { time, not_after }) => Err(CertificateError::new(
            file,
            format!(
                "has expired, {} ago: put a renewed certificate there",
                days(not_after, time)
            ),
        )),
        Some(webpki::Error::CertNotValidYet { time, not_before }) => Err(CertificateError::new(
            file,
            format!(
                "is not valid yet, for {}: look at the clock of this host",
                days(time, not_before)
            ),
        )),
        _ => Ok(()),
    }
}

/// Trusts a certificate by its chain, whatever name it is for.
#[derive(Debug)]
struct ChainVerifier {
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ChainVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.roots, intermediates, now, algorithms)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
