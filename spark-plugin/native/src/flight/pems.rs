//! Certificates and keys, as files.

use std::fs;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::flight::failure::{Failure, Result};
use crate::flight::target::Target;

/// The bytes of a caller's PEM files, as they are now.
#[derive(Clone, PartialEq, Eq)]
pub struct Pems {
    ca: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Pems {
    /// # Errors
    /// TLS_ERROR, which names the file: it cannot be read, or holds nothing of use.
    pub fn read(target: &Target) -> Result<Self> {
        Ok(Pems {
            ca: target.ca.as_deref().map(certificates).transpose()?,
            identity: match (&target.cert, &target.key) {
                (Some(cert), Some(key)) => Some((certificates(cert)?, private_key(key)?)),
                _ => None,
            },
        })
    }

    pub fn config(&self) -> ClientTlsConfig {
        let trusting = match &self.ca {
            Some(ca) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        match &self.identity {
            Some((cert, key)) => trusting.identity(Identity::from_pem(cert, key)),
            None => trusting,
        }
    }
}

fn certificates(file: &Path) -> Result<Vec<u8>> {
    let bytes = bytes(file)?;
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(bytes),
        _ => Err(useless(file, "certificate")),
    }
}

fn private_key(file: &Path) -> Result<Vec<u8>> {
    let bytes = bytes(file)?;
    match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(_) => Ok(bytes),
        Err(_) => Err(useless(file, "private key without a password")),
    }
}

fn bytes(file: &Path) -> Result<Vec<u8>> {
    fs::read(file)
        .map_err(|why| Failure::new("TLS_ERROR", format!("{} cannot be read: {why}", file.display())))
}

fn useless(file: &Path, what: &str) -> Failure {
    Failure::new(
        "TLS_ERROR",
        format!("{} holds no {what} that can be read", file.display()),
    )
}
