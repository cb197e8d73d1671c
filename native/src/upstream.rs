//! The way to the NameNodes: dialling, which of them to ask, and what last went wrong.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Error};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::tls::Tls;

/// The length of what a client sends before its first frame: who it is, and how it says so.
pub const PREAMBLE: usize = 7;

/// How long to wait, for what.
pub struct Patience {
    /// For a connection, and then for its TLS handshake.
    pub connect: Duration,
    /// For any answer of a NameNode that was asked something.
    pub answer: Duration,
    /// For one call in all, over whatever NameNodes and connections.
    pub outage: Duration,
    /// For a client that asks nothing. Clients of HDFS that nobody holds any more leave their connections open.
    pub idle: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NameNode {
    host: String,
    port: u16,
}

impl FromStr for NameNode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let split = text.rsplit_once(':').and_then(|(host, port)| {
            let host = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'))
                .unwrap_or(host);
            Some((host, port.parse().ok().filter(|port| *port > 0)?))
        });
        match split {
            Some((host, port)) if !host.is_empty() => Ok(Self {
                host: host.into(),
                port,
            }),
            _ => Err(format!(
                "{text:?} is no NameNode: write it as host:port, such as nn1.example.com:8020"
            )),
        }
    }
}

impl fmt::Display for NameNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// What kept the tunnel from an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// One side does not take the other's certificate, or they share no version of TLS.
    Tls,
    /// It answers, but does not speak what the tunnel speaks.
    Refused,
    /// Nobody knows its name.
    Unresolved,
    /// No connection, or one that was lost.
    Unreachable,
    /// A connection, but no answer.
    Timeout,
    /// It answers that it serves no calls: as standby, or as it starts.
    Standby,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Refused => "refused",
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Standby => "standby",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub kind: Kind,
    pub text: String,
}

pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub struct Upstream {
    namenodes: Vec<NameNode>,
    tls: Option<Arc<Tls>>,
    pub patience: Patience,
    preferred: AtomicUsize,
    reached: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl Upstream {
    /// `namenodes` holds one at least.
    pub fn new(namenodes: Vec<NameNode>, tls: Option<Tls>, patience: Patience) -> Self {
        Self {
            namenodes,
            tls: tls.map(Arc::new),
            patience,
            preferred: AtomicUsize::new(0),
            reached: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    pub fn count(&self) -> usize {
        self.namenodes.len()
    }

    pub fn secure(&self) -> bool {
        self.tls.is_some()
    }

    /// The number of the NameNode that answered last as the active one.
    pub fn preferred(&self) -> usize {
        self.preferred.load(Ordering::Relaxed)
    }

    pub fn prefer(&self, number: usize) {
        self.preferred.store(number, Ordering::Relaxed);
    }

    /// Some NameNode has answered, whatever.
    pub fn heard(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// A NameNode has taken a connection, and what was wrong before did nobody any harm.
    pub fn took(&self, number: usize) {
        self.heard();
        self.prefer(number);
        self.forget();
    }

    /// How long a call may take. Where no NameNode has ever answered, it is the address that is wrong, more often
    /// than not, and little longer is waited than for a connection.
    pub fn outage(&self) -> Duration {
        let Patience { outage, connect, .. } = self.patience;
        if self.reached.load(Ordering::Relaxed) {
            outage
        } else {
            outage.min(connect * 3 / 2)
        }
    }

    /// Whether no waiting mends it: that the two sides have no TLS in common, or that a name is a wrong one, more often
    /// than not, which no NameNode has answered to yet.
    pub fn is_hopeless(&self, failure: &Failure) -> bool {
        match failure.kind {
            Kind::Tls => true,
            Kind::Unresolved => !self.reached.load(Ordering::Relaxed),
            _ => false,
        }
    }

    pub fn failure(&self) -> Option<Failure> {
        self.last().clone()
    }

    pub fn forget(&self) {
        *self.last() = None;
    }

    /// Forgets a failure that did nobody any harm, unless another was noted since.
    pub fn overcome(&self, failure: &Failure) {
        let mut last = self.last();
        if last.as_ref() == Some(failure) {
            *last = None;
        }
    }

    /// Notes what the NameNode of this number last did wrong.
    pub fn note(&self, number: usize, kind: Kind, what: impl fmt::Display) -> Failure {
        self.note_here(kind, format!("NameNode {} {what}", self.namenodes[number]))
    }

    /// Notes what went wrong on this side.
    pub fn note_here(&self, kind: Kind, text: String) -> Failure {
        let failure = Failure { kind, text };
        *self.last() = Some(failure.clone());
        failure
    }

    /// Notes what a connection ended with.
    pub fn note_lost(&self, number: usize, error: &io::Error) -> Failure {
        let (kind, what) = explain(error);
        self.note(number, kind, what)
    }

    pub async fn dial(&self, number: usize) -> Result<Box<dyn Stream>, Failure> {
        let NameNode { host, port } = &self.namenodes[number];
        let within = self.patience.connect;
        let seconds = within.as_secs_f64();
        let connected = async {
            let found = lookup_host((host.as_str(), *port)).await;
            let addresses: Vec<_> = found.map_err(|error| Some((Kind::Unresolved, error)))?.collect();
            connect(&addresses, within).await
        };
        let socket = match timeout(within, connected).await {
            Ok(Ok(socket)) => socket,
            Ok(Err(Some((kind, error)))) => {
                return Err(self.note(number, kind, format_args!("cannot be reached: {error}")));
            }
            Ok(Err(None)) | Err(_) => {
                let what = format_args!("took no connection within {seconds} s");
                return Err(self.note(number, Kind::Timeout, what));
            }
        };
        prepare(&socket);
        let Some(tls) = &self.tls else {
            return Ok(Box::new(socket));
        };
        let name = tls.name(host).map_err(|error| {
            self.note(
                number,
                Kind::Tls,
                format_args!("has no name that a certificate can be for: {error}"),
            )
        })?;
        // Where the files are on a disk that hangs, nothing else is to hang with them.
        let tls = tls.clone();
        let Ok(Ok(config)) = timeout(within, spawn_blocking(move || tls.current())).await else {
            let text = format!("the files of certificates cannot be read within {seconds} s");
            return Err(self.note_here(Kind::Timeout, text));
        };
        match timeout(within, TlsConnector::from(config).connect(name, socket)).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(error)) if tls_error(&error).is_none() => Err(self.note(
                number,
                Kind::Refused,
                format_args!("ended the connection during the TLS handshake ({error}): it may not speak TLS, or not take our certificate"),
            )),
            Ok(Err(error)) => Err(self.note_lost(number, &error)),
            Err(_) => {
                let what = format_args!("did not finish the TLS handshake within {seconds} s: it may not speak TLS");
                Err(self.note(number, Kind::Timeout, what))
            }
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// To the first of the addresses of a host that takes a connection: one that does not answer leaves time for the others.
///
/// # Errors
/// What the last went wrong with that said so; `None` where none said anything in time.
async fn connect(addresses: &[SocketAddr], within: Duration) -> Result<TcpStream, Option<(Kind, io::Error)>> {
    let each = within / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut failure = None;
    for address in addresses {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(error)) => failure = Some((Kind::Unreachable, error)),
            Err(_) => {}
        }
    }
    Err(failure)
}

/// Sends at once, and notices a peer that is gone without a word.
pub fn prepare(socket: &TcpStream) {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10));
    // A socket that does not take the options still works.
    let _ = socket.set_nodelay(true);
    let _ = SockRef::from(socket).set_tcp_keepalive(&keepalive);
}

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn explain(error: &io::Error) -> (Kind, String) {
    let Some(tls) = tls_error(error) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => (Kind::Unreachable, "closed the connection".into()),
            _ => (Kind::Unreachable, format!("lost the connection: {error}")),
        };
    };
    match tls {
        Error::AlertReceived(alert) if is_about_certificates(*alert) => (
            Kind::Tls,
            format!("refused our certificate with the TLS alert {alert:?}"),
        ),
        Error::AlertReceived(alert) if is_about_versions(*alert) => (
            Kind::Tls,
            format!("speaks no TLS that we speak (1.2 or 1.3): it ended TLS with the alert {alert:?}"),
        ),
        Error::AlertReceived(alert) => (Kind::Refused, format!("ended TLS with the alert {alert:?}")),
        Error::InvalidCertificate(error) => (Kind::Tls, distrust(error)),
        Error::InvalidMessage(_) => (Kind::Refused, "does not speak TLS on this port".into()),
        Error::PeerIncompatible(error) => (
            Kind::Tls,
            format!("speaks no TLS that we speak (1.2 or 1.3): {error:?}"),
        ),
        error => (Kind::Refused, format!("broke TLS: {error}")),
    }
}

fn is_about_certificates(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::NoCertificate
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            // What OpenSSL sends where another key of the CA's name has signed it.
            | Alert::DecryptError
            | Alert::AccessDenied
            | Alert::CertificateRequired
    )
}

fn is_about_versions(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::ProtocolVersion | Alert::HandshakeFailure | Alert::InsufficientSecurity
    )
}

fn distrust(error: &CertificateError) -> String {
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
            "shows a certificate for another name ({error}): set server_name to a name that it is for, or verify=\"chain\""
        ),
        CertificateError::UnknownIssuer => "shows a certificate that the given CA did not issue".into(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("shows a certificate that has expired: {error}")
        }
        error => format!("shows a certificate that we do not take: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_does_not_answer_hides_no_other() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        // One whose row is full takes no more connections, and refuses none.
        let full = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        full.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into())
            .unwrap();
        full.listen(0).unwrap();
        let silent = full.local_addr().unwrap().as_socket().unwrap();
        let within = Duration::from_millis(600);
        let mut row = Vec::new();
        while let Ok(Ok(taken)) = timeout(Duration::from_millis(200), TcpStream::connect(silent)).await {
            row.push(taken);
        }
        assert!(connect(&[silent, there], within).await.is_ok());
        assert!(matches!(connect(&[silent], within).await, Err(None)));
        drop(listener);
        let refused = connect(&[there, silent], within).await;
        assert!(matches!(refused, Err(Some((Kind::Unreachable, _)))));
    }

    #[test]
    fn namenodes_are_read_and_written_alike() {
        for text in ["nn1:8020", "10.0.0.1:9000", "[::1]:8020"] {
            assert_eq!(text.parse::<NameNode>().unwrap().to_string(), text);
        }
        for text in ["", "nn1", ":8020", "nn1:", "nn1:0", "nn1:70000", "hdfs://nn1"] {
            assert!(
                text.parse::<NameNode>().unwrap_err().contains("host:port"),
                "{text}"
            );
        }
    }
}
