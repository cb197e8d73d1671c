//! Where a service is, and what callers show there.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tonic::transport::Uri;

use crate::flight::failure::{Failure, Result};

const PORT: u16 = 8815;

/// A project of a service, as a caller is known there.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    pub uri: String,
    pub project: String,
    /// PEM files: the authorities to trust, and what is shown of the caller.
    pub ca: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub token: Option<String>,
    timeout: Option<f64>,
}

/// As others have to write it.
pub enum Address {
    Plain(String),
    Secure(String),
    Socket(String),
}

impl Address {
    pub fn endpoint(&self) -> &str {
        let (Address::Plain(text) | Address::Secure(text) | Address::Socket(text)) = self;
        text
    }
}

impl Target {
    /// What users know it as.
    pub fn service(&self) -> String {
        format!("the service at {}", self.uri)
    }

    /// How long a call may take before its first answer.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs_f64)
    }

    /// # Errors
    /// INVALID_ARGUMENT: it is no address, or everybody on the way there could read the token.
    pub fn address(&self) -> Result<Address> {
        let wrong = |why: &str| Failure::new("INVALID_ARGUMENT", format!("'{}' {why}", self.uri));
        let hint = "write grpc://host:port, grpc+tls://host:port or grpc+unix:///path";
        let (scheme, rest) = self
            .uri
            .split_once("://")
            .ok_or_else(|| wrong("is no address").hint(hint))?;
        let has_pems = self.ca.is_some() || self.cert.is_some();
        if has_pems && scheme != "grpc+tls" {
            return Err(wrong("is no grpc+tls:// address, for which certificates are"));
        }
        if scheme == "grpc+unix" {
            if !rest.starts_with('/') {
                return Err(wrong("names no socket").hint("write grpc+unix:///path"));
            }
            return Ok(Address::Socket(format!("unix:{rest}")));
        }
        if !["grpc", "grpc+tcp", "grpc+tls"].contains(&scheme) {
            return Err(wrong("is no service").hint(hint));
        }
        let uri: Uri = rest
            .trim_end_matches('/')
            .parse()
            .map_err(|_| wrong("names no host").hint(hint))?;
        let host = uri.host().ok_or_else(|| wrong("names no host").hint(hint))?;
        if uri.path_and_query().is_some_and(|path| path != "/") || rest.contains('@') {
            return Err(wrong("goes on after host and port").hint(hint));
        }
        let port = match uri.port() {
            Some(port) => port.as_u16(),
            None if rest.trim_end_matches('/').ends_with(host) => PORT,
            None => return Err(wrong("has no valid port").hint(hint)),
        };
        if scheme == "grpc+tls" {
            return Ok(Address::Secure(format!("https://{host}:{port}")));
        }
        if self.token.is_some() && !is_loopback(host) {
            return Err(Failure::new(
                "INVALID_ARGUMENT",
                format!("everybody on the way to {} could read the token", self.uri),
            )
            .hint("write grpc+tls://host:port"));
        }
        Ok(Address::Plain(format!("http://{host}:{port}")))
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// Without the token.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.project, self.uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(uri: &str, token: Option<&str>) -> Target {
        Target {
            uri: uri.into(),
            project: "default".into(),
            ca: None,
            cert: None,
            key: None,
            token: token.map(Into::into),
            timeout: None,
        }
    }

    fn endpoint(uri: &str) -> Result<String> {
        Ok(at(uri, None).address()?.endpoint().to_owned())
    }

    #[test]
    fn addresses_are_those_of_connect() {
        assert_eq!(endpoint("grpc://127.0.0.1:1").unwrap(), "http://127.0.0.1:1");
        assert_eq!(endpoint("grpc+tcp://host").unwrap(), "http://host:8815");
        assert_eq!(endpoint("grpc+tls://[::1]:7/").unwrap(), "https://[::1]:7");
        assert_eq!(endpoint("grpc+tls://[::1]").unwrap(), "https://[::1]:8815");
        assert_eq!(endpoint("grpc+unix:///run/h.sock").unwrap(), "unix:/run/h.sock");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for uri in [
            "host:8815",
            "http://host",
            "grpc://",
            "grpc://host:x",
            "grpc://host:70000",
            "grpc://host/path",
            "grpc://a@host",
            "grpc+unix://x",
            "",
        ] {
            assert_eq!(endpoint(uri).unwrap_err().code, "INVALID_ARGUMENT", "{uri}");
        }
    }

    #[test]
    fn a_token_is_sent_in_the_clear_to_this_machine_alone() {
        assert!(at("grpc://127.0.0.1:1", Some("t")).address().is_ok());
        assert!(at("grpc://[::1]:1", Some("t")).address().is_ok());
        assert!(at("grpc+tls://host", Some("t")).address().is_ok());
        let refused = at("grpc://host", Some("hr_secret")).address();
        assert!(!refused.err().unwrap().to_string().contains("hr_secret"));
    }

    #[test]
    fn a_token_is_not_shown() {
        assert!(!format!("{:?}", at("grpc://host", Some("hr_secret"))).contains("hr_secret"));
    }
}
