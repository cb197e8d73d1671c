//! Classes and functions of Python that the codec knows, found once.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyRecursionError, PyTypeError, PyValueError};
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::time;

pub struct Known {
    pub decimal: Py<PyAny>,
    pub uuid: Py<PyAny>,
    pub safe_unknown: Py<PyAny>,
    pub zone_info: Py<PyAny>,
    pub timezone: Py<PyAny>,
    pub utc: Py<PyAny>,
    pub pickle: Py<PyAny>,
    pub unpickle: Py<PyAny>,
    pickling_error: Py<PyAny>,
    pub none: Py<PyAny>,
    pub empty: Py<PyAny>,
    numpy: PyOnceLock<Numpy>,
    /// The zone that was asked for its key last, for it is that of most times that follow.
    zone: Mutex<Option<(Py<PyAny>, Arc<str>)>>,
}

// Kept for the life of the process, as the interpreter's own tables of types are.
static KNOWN: PyOnceLock<Known> = PyOnceLock::new();

pub fn known(py: Python<'_>) -> PyResult<&Known> {
    KNOWN.get_or_try_init(py, || {
        unsafe { ffi::PyDateTime_IMPORT() };
        if unsafe { ffi::PyDateTimeAPI() }.is_null() {
            return Err(PyErr::fetch(py));
        }
        let of = |module: &str, name: &str| -> PyResult<Py<PyAny>> {
            Ok(py.import(module)?.getattr(name)?.unbind())
        };
        Ok(Known {
            decimal: of("decimal", "Decimal")?,
            uuid: of("uuid", "UUID")?,
            safe_unknown: py
                .import("uuid")?
                .getattr("SafeUUID")?
                .getattr("unknown")?
                .unbind(),
            zone_info: of("zoneinfo", "ZoneInfo")?,
            timezone: of("datetime", "timezone")?,
            utc: py
                .import("datetime")?
                .getattr("timezone")?
                .getattr("utc")?
                .unbind(),
            pickle: of("pickle", "dumps")?,
            unpickle: of("pickle", "loads")?,
            pickling_error: of("pickle", "PicklingError")?,
            none: py.None(),
            empty: pyo3::types::PyTuple::empty(py).into_any().unbind(),
            numpy: PyOnceLock::new(),
            zone: Mutex::default(),
        })
    })
}

/// The scalars of numpy that Arrow has types for, by the codes of their types.
pub const NUMPY: [&str; 12] = [
    "|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8",
];

pub struct Numpy {
    pub types: [Py<PyAny>; NUMPY.len()],
    pub dtypes: [Py<PyAny>; NUMPY.len()],
    pub frombuffer: Py<PyAny>,
}

impl Known {
    /// Whether pickle says by an error that it cannot carry a value: of its own, or what it comes upon.
    pub fn is_unpicklable(&self, py: Python<'_>, error: &PyErr) -> bool {
        error.is_instance(py, self.pickling_error.bind(py))
            || error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyAttributeError>(py)
            || error.is_instance_of::<PyRecursionError>(py)
    }

    pub fn numpy(&self, py: Python<'_>) -> PyResult<&Numpy> {
        self.numpy.get_or_try_init(py, || {
            let module = py.import("numpy")?;
            let dtypes = NUMPY
                .iter()
                .map(|code| Ok(module.call_method1("dtype", (*code,))?.unbind()))
                .collect::<PyResult<Vec<_>>>()?;
            let types = dtypes
                .iter()
                .map(|found| found.getattr(py, "type"))
                .collect::<PyResult<Vec<_>>>()?;
            let whole = |_| PyValueError::new_err("numpy lacks a type");
            Ok(Numpy {
                types: types.try_into().map_err(whole)?,
                dtypes: dtypes.try_into().map_err(whole)?,
                frombuffer: module.getattr("frombuffer")?.unbind(),
            })
        })
    }

    /// As `time::zone_key`.
    pub fn zone_key(&self, py: Python<'_>, zone: *mut PyObject) -> Option<Arc<str>> {
        let last = || self.zone.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, key)) = last().as_ref().filter(|(last, _)| last.as_ptr() == zone) {
            return Some(key.clone());
        }
        let key: Arc<str> = time::zone_key(py, zone)?.into();
        let held = unsafe { Bound::from_borrowed_ptr(py, zone) }.unbind();
        let before = last().replace((held, key.clone()));
        drop(before);
        Some(key)
    }

    /// Which of `NUMPY` an object is a scalar of, exactly.
    pub fn numpy_index(&self, py: Python<'_>, o: *mut PyObject) -> Option<u8> {
        let name = unsafe { CStr::from_ptr((*ffi::Py_TYPE(o)).tp_name) };
        if !name.to_bytes().starts_with(b"numpy.") {
            return None;
        }
        let types = &self.numpy(py).ok()?.types;
        types.iter().position(|found| is_type(o, found)).map(|n| n as u8)
    }
}

/// Whether an object is of exactly a class.
pub fn is_type(o: *mut PyObject, class: &Py<PyAny>) -> bool {
    unsafe { ffi::Py_TYPE(o) == class.as_ptr().cast::<PyTypeObject>() }
}

/// A Python exception is set.
#[derive(Debug, Clone, Copy)]
pub struct Raised;

impl Raised {
    pub fn set(py: Python<'_>, error: PyErr) -> Self {
        error.restore(py);
        Self
    }
}
