//! What goes wrong with a call, by Headrace's codes: what the service says, or what became of the way to it.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

use arrow_flight::error::FlightError;
use serde::Deserialize;
use serde_json::Value;
use tonic::{Code, Status};

use crate::error::Error;
use crate::flight::target::Target;

pub type Result<T> = std::result::Result<T, Failure>;

/// How long a service that says nothing of it is left alone.
const MOMENT: Duration = Duration::from_secs(1);

/// The `ErrorBody` of the protocol, whoever has written it.
#[derive(Debug, Deserialize)]
pub struct Failure {
    pub code: String,
    message: String,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    details: Option<Box<Value>>,
    #[serde(default)]
    pub request_id: Option<String>,
    /// Whether the connection, and not the service, has ended the call.
    #[serde(skip)]
    pub is_of_the_way: bool,
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Failure {
            code: code.into(),
            message: message.into(),
            hint: None,
            details: None,
            request_id: None,
            is_of_the_way: false,
        }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Failure {
            hint: Some(hint.into()),
            ..self
        }
    }

    fn request(self, id: &str) -> Self {
        Failure {
            request_id: self.request_id.or_else(|| Some(id.into())),
            ..self
        }
    }

    pub fn of_the_way(self) -> Self {
        Failure {
            is_of_the_way: true,
            ..self
        }
    }

    /// What became of the call of this id.
    pub fn of(error: FlightError, target: &Target, request_id: &str) -> Self {
        let service = target.service();
        let found = match error {
            FlightError::Tonic(status) => of_status(&status, target),
            other => Failure::new("INTERNAL", format!("{service} sent what cannot be read: {other}")),
        };
        found.request(request_id)
    }

    pub fn unavailable(target: &Target, why: impl fmt::Display) -> Self {
        Failure::new(
            "UNAVAILABLE",
            format!("{} does not answer: {why}", target.service()),
        )
        .hint("see whether headrace serve runs there, and listens at this address")
        .of_the_way()
    }

    /// What a connection that does not come to be, or breaks, tells; TLS tells why.
    pub fn of_connection(error: &(dyn StdError + 'static), target: &Target) -> Self {
        match reasons(error).find_map(|reason| reason.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidCertificate(why)) => Failure::new(
                "TLS_ERROR",
                format!("the certificate of {} is refused: {why}", target.uri),
            )
            .hint(match &target.ca {
                Some(file) => format!(
                    "{} does not hold the CA that signed it for this name",
                    file.display()
                ),
                None => "give the CA that signed it with pems_dir or tls_ca".into(),
            }),
            Some(rustls::Error::AlertReceived(_)) => unwelcome(target),
            Some(why) => Failure::new("TLS_ERROR", format!("no TLS connection to {}: {why}", target.uri))
                .hint("a service without TLS is at grpc://"),
            None => {
                let why = reasons(error).last().map(ToString::to_string);
                Failure::unavailable(target, why.unwrap_or_default())
            }
        }
    }

    /// When to try again what another call has not caused to fail; none if that is of no use.
    pub fn try_after(&self) -> Option<Duration> {
        let told = || self.details.as_ref()?.get("retry_after")?.as_f64();
        match self.code.as_str() {
            "BUSY" => Some(told().map_or(MOMENT, |seconds| {
                Duration::from_secs_f64(seconds.clamp(0.1, 10.0))
            })),
            _ if self.is_of_the_way => Some(MOMENT / 5),
            _ => None,
        }
    }
}

/// How one says to a service who one is.
const WHO: &str =
    "show a token by .option(\"token\", …), or a certificate by pems_dir, or tls_cert and tls_key";

fn of_status(status: &Status, target: &Target) -> Failure {
    let service = target.service();
    if !status.details().is_empty() {
        let told = serde_json::from_slice(status.details());
        let told: Failure = told.unwrap_or_else(|_| {
            Failure::new(
                "INTERNAL",
                format!("{service} sent an error that cannot be read: {status}"),
            )
        });
        // The service's own hint is of Python and the command line, whose ways are not Spark's.
        return match told.code.as_str() {
            "UNAUTHENTICATED" => told.hint(WHO),
            _ => told,
        };
    }
    if let Some(source) = status.source() {
        return Failure::of_connection(source, target);
    }
    match status.code() {
        // It lets go of an address, and begins no call there.
        Code::Cancelled | Code::Unavailable => Failure::unavailable(target, status.message()),
        Code::Unauthenticated => Failure::new("UNAUTHENTICATED", format!("{service}: {}", status.message())),
        Code::PermissionDenied => {
            Failure::new("PERMISSION_DENIED", format!("{service}: {}", status.message()))
        }
        Code::Unimplemented => Failure::new("UNSUPPORTED", format!("{service}: {}", status.message())),
        _ => Failure::new("INTERNAL", format!("{service} failed: {}", status.message())),
    }
}

/// What a service means that closes the connection once it has seen, or not, who calls.
pub fn unwelcome(target: &Target) -> Failure {
    match &target.cert {
        Some(file) => Failure::new(
            "TLS_ERROR",
            format!("{} refuses the certificate in {}", target.service(), file.display()),
        )
        .hint("it trusts the authorities in its --client-ca; and a certificate is good for a time"),
        None => Failure::new(
            "UNAUTHENTICATED",
            format!("{} asks for a certificate of its clients, and none was shown", target.service()),
        )
        .hint("give one with the option pems_dir, or tls_cert and tls_key; a token alone is taken at its --token-listen address"),
    }
}

/// An error and what caused it, the outermost first.
fn reasons<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&reason| {
        // Which tells of what is within its own error, and not of that error.
        let within = reason.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        within
            .map(|inner| inner as &(dyn StdError + 'static))
            .or_else(|| reason.source())
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Missing(_) => "NOT_FOUND",
            Error::Io(_) | Error::Corrupt(_) => "INTERNAL",
            Error::Unsupported(_) => "UNSUPPORTED",
        };
        Failure::new(code, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " [request {id}]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_service_is_asked_again_when_it_says() {
        let told = |details: &str| -> Option<Duration> {
            let body = format!(r#"{{"code": "BUSY", "message": "full", "details": {details}}}"#);
            serde_json::from_str::<Failure>(&body).unwrap().try_after()
        };
        assert_eq!(told(r#"{"retry_after": 2.5}"#), Some(Duration::from_millis(2500)));
        assert_eq!(told(r#"{"retry_after": 1e9}"#), Some(Duration::from_secs(10)));
        assert_eq!(told(r#"{"retry_after": "soon"}"#), Some(MOMENT));
        assert_eq!(told("{}"), Some(MOMENT));
    }

    #[test]
    fn what_would_fail_again_is_not_asked_again() {
        let body = r#"{"code": "NOT_FOUND", "message": "no a", "hint": "look", "request_id": "7"}"#;
        let failure: Failure = serde_json::from_str(body).unwrap();
        assert_eq!(failure.try_after(), None);
        assert_eq!(failure.to_string(), "NOT_FOUND: no a (look) [request 7]");
    }
}
