//! The module as Python sees it; `headrace_native.pyi` tells its types.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use rustls::pki_types::ServerName;

use crate::tls::{self, Identity, Tls, Verify};
use crate::tunnel;
use crate::upstream::{NameNode, Patience, Upstream};

pyo3::create_exception!(
    headrace_native,
    CertificateError,
    PyException,
    "A file of certificates or keys cannot be used."
);

fn raised(py: Python<'_>, error: &tls::CertificateError) -> PyErr {
    let raised = CertificateError::new_err(error.to_string());
    match raised.value(py).setattr("file", error.file.to_string_lossy()) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero() && duration.as_secs() < 1 << 31)
        .ok_or_else(|| {
            PyValueError::new_err(format!("{name} is {seconds}: give a number of seconds above 0"))
        })
}

/// A port on this host through which this process, and no other, reaches the active NameNode.
#[pyclass(frozen, module = "headrace_native")]
struct Tunnel(tunnel::Tunnel);

#[pymethods]
impl Tunnel {
    #[new]
    #[pyo3(signature = (namenodes, *, ca=None, cert=None, key=None, server_name=None, verify="full",
                        connect_timeout=10.0, answer_timeout=30.0, outage_timeout=90.0, idle_timeout=60.0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        namenodes: Vec<String>,
        ca: Option<PathBuf>,
        cert: Option<PathBuf>,
        key: Option<PathBuf>,
        server_name: Option<String>,
        verify: &str,
        connect_timeout: f64,
        answer_timeout: f64,
        outage_timeout: f64,
        idle_timeout: f64,
    ) -> PyResult<Self> {
        let namenodes = namenodes
            .iter()
            .map(|namenode| namenode.parse().map_err(PyValueError::new_err))
            .collect::<PyResult<Vec<NameNode>>>()?;
        if namenodes.is_empty() {
            return Err(PyValueError::new_err(
                "no NameNode is named: give host:port of one at least",
            ));
        }
        let patience = Patience {
            connect: seconds("connect_timeout", connect_timeout)?,
            answer: seconds("answer_timeout", answer_timeout)?,
            outage: seconds("outage_timeout", outage_timeout)?,
            idle: seconds("idle_timeout", idle_timeout)?,
        };
        let verify = match verify {
            "full" => Verify::Full,
            "chain" => Verify::Chain,
            other => {
                return Err(PyValueError::new_err(format!(
                    "verify is {other:?}: give \"full\" or \"chain\""
                )));
            }
        };
        let name = server_name
            .map(|name| {
                ServerName::try_from(name.clone()).map_err(|_| {
                    PyValueError::new_err(format!(
                        "server_name is {name:?}: give a host name or an IP address"
                    ))
                })
            })
            .transpose()?;
        let identity = match (cert, key) {
            (Some(cert), Some(key)) => Some(Identity { cert, key }),
            (None, None) => None,
            _ => {
                return Err(PyValueError::new_err(
                    "cert and key belong together: give both or neither",
                ));
            }
        };
        let tls = match ca {
            Some(ca) => Some(
                py.detach(|| Tls::new(ca, identity, verify, name))
                    .map_err(|error| raised(py, &error))?,
            ),
            None if identity.is_some() || name.is_some() => {
                return Err(PyValueError::new_err(
                    "no ca is given: TLS needs the certificates of the CA to trust",
                ));
            }
            None => None,
        };
        let opened = py.detach(|| tunnel::Tunnel::open(Upstream::new(namenodes, tls, patience)));
        Ok(Self(opened.map_err(|error| {
            PyOSError::new_err(format!("the tunnel cannot listen on 127.0.0.1: {error}"))
        })?))
    }

    #[getter]
    fn port(&self) -> u16 {
        self.0.port
    }

    #[getter]
    fn secure(&self) -> bool {
        self.0.upstream.secure()
    }

    #[getter]
    fn failure(&self) -> Option<String> {
        self.0.upstream.failure().map(|failure| failure.text)
    }

    #[getter]
    fn failure_kind(&self) -> Option<&'static str> {
        self.0.upstream.failure().map(|failure| failure.kind.name())
    }

    fn forget_failure(&self) {
        self.0.upstream.forget();
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

// A build without a global lock takes one once this is imported: objects are read that others could change meanwhile.
#[pymodule(gil_used = true)]
fn headrace_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CertificateError", module.py().get_type::<CertificateError>())?;
    module.add_class::<Tunnel>()?;
    crate::rowcodec::register(module)
}
