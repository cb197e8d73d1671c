//! Values that tell their own type, made.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFloat, PyList, PyTuple};

use super::error;
use super::known::{Known, NUMPY};
use super::record::{Kind, resolve};
use super::time;
use crate::rowcodec::variant::{Build, Zone};
use crate::rowcodec::wire::Damage;

pub struct Builder<'a, 'py> {
    pub py: Python<'py>,
    pub known: &'a Known,
    pub allow_pickle: bool,
}

/// An error on the way to a value.
pub struct Failed(pub PyErr);

impl From<Damage> for Failed {
    fn from(damage: Damage) -> Self {
        Python::attach(|py| Self(error::damaged(py, damage)))
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

type Made = Result<Py<PyAny>, Failed>;

impl Builder<'_, '_> {
    fn owned(&self, object: *mut PyObject) -> Made {
        Ok(unsafe { Bound::from_owned_ptr_or_err(self.py, object) }?.unbind())
    }

    /// A UUID of sixteen bytes. Its class forbids to set what it is made of, but not to those who ask no leave.
    pub fn new_uuid(&self, bytes: &[u8; 16]) -> PyResult<*mut PyObject> {
        let py = self.py;
        let value = u128::from_be_bytes(*bytes).into_pyobject(py)?;
        unsafe {
            let class = self.known.uuid.as_ptr().cast::<ffi::PyTypeObject>();
            let Some(new) = ffi::PyBaseObject_Type.tp_new else {
                return Err(PyErr::fetch(py));
            };
            let object = new(class, self.known.empty.as_ptr(), std::ptr::null_mut());
            let object = Bound::from_owned_ptr_or_err(py, object)?;
            let safe = self.known.safe_unknown.as_ptr();
            let (int, is_safe) = (intern!(py, "int").as_ptr(), intern!(py, "is_safe").as_ptr());
            if ffi::PyObject_GenericSetAttr(object.as_ptr(), int, value.as_ptr()) != 0
                || ffi::PyObject_GenericSetAttr(object.as_ptr(), is_safe, safe) != 0
            {
                return Err(PyErr::fetch(py));
            }
            Ok(object.into_ptr())
        }
    }

    fn timezone(&self, offset: i64, name: Option<&str>, at: usize) -> Made {
        let offset = time::new_delta(offset).ok_or_else(|| Damage::new(at, "an offset is out of range"))?;
        let offset = self.owned(offset)?;
        let made = match name {
            Some(name) => self.known.timezone.call1(self.py, (offset, name)),
            None => self.known.timezone.call1(self.py, (offset,)),
        };
        Ok(made.map_err(|_| Damage::new(at, "an offset is out of range"))?)
    }
}

impl Build for Builder<'_, '_> {
    type Value = Py<PyAny>;
    type Error = Failed;

    fn none(&mut self) -> Made {
        Ok(self.known.none.clone_ref(self.py))
    }

    fn bool(&mut self, value: bool) -> Made {
        Ok(value
            .into_pyobject(self.py)
            .map(|found| found.to_owned().into_any().unbind())
            .unwrap_or_else(|e| match e {}))
    }

    fn int(&mut self, bytes: &[u8]) -> Made {
        if bytes.len() <= 8 {
            let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
            let mut eight = if negative { [0xff; 8] } else { [0; 8] };
            eight[..bytes.len()].copy_from_slice(bytes);
            return self.owned(unsafe { ffi::PyLong_FromLongLong(i64::from_le_bytes(eight)) });
        }
        let py = self.py;
        let options = PyDict::new(py);
        options.set_item(intern!(py, "signed"), true)?;
        let class = py.get_type::<pyo3::types::PyInt>();
        let made = class.call_method(
            intern!(py, "from_bytes"),
            (PyBytes::new(py, bytes), "little"),
            Some(&options),
        )?;
        Ok(made.unbind())
    }

    fn float(&mut self, value: f64) -> Made {
        Ok(PyFloat::new(self.py, value).into_any().unbind())
    }

    fn text(&mut self, bytes: &[u8], at: usize) -> Made {
        let made = unsafe {
            ffi::PyUnicode_DecodeUTF8(
                bytes.as_ptr().cast(),
                bytes.len() as isize,
                c"surrogatepass".as_ptr(),
            )
        };
        self.owned(made).map_err(|error| {
            match error
                .0
                .is_instance_of::<pyo3::exceptions::PyUnicodeDecodeError>(self.py)
            {
                true => Damage::new(at, "a text is not UTF-8").into(),
                false => error,
            }
        })
    }

    fn bytes(&mut self, bytes: &[u8]) -> Made {
        Ok(PyBytes::new(self.py, bytes).into_any().unbind())
    }

    fn bytearray(&mut self, bytes: &[u8]) -> Made {
        Ok(PyByteArray::new(self.py, bytes).into_any().unbind())
    }

    fn date(&mut self, days: i32, at: usize) -> Made {
        let made = time::new_date(days.into());
        self.owned(made.ok_or_else(|| Damage::new(at, "a date is beyond those of Python"))?)
    }

    fn datetime(&mut self, micros: i64, fold: bool, zone: Zone<'_>, at: usize) -> Made {
        let zone = match zone {
            Zone::None => self.known.none.clone_ref(self.py),
            Zone::Offset(offset) => self.timezone(offset, None, at)?,
            Zone::NamedOffset(offset, name) => self.timezone(offset, Some(name), at)?,
            Zone::Named(key) => self
                .known
                .zone_info
                .call1(self.py, (key,))
                .map_err(|_| Damage::unsupported(at, format!("no zone {key:?} is known here")))?,
        };
        let made = time::new_datetime(micros, fold, zone.as_ptr());
        self.owned(made.ok_or_else(|| Damage::new(at, "a time is beyond those of Python"))?)
    }

    fn timedelta(&mut self, days: i32, seconds: i32, micros: i32, at: usize) -> Made {
        let made = self.owned(time::delta_of_parts(days, seconds, micros));
        made.map_err(|_| Damage::new(at, "a duration is beyond those of Python").into())
    }

    fn decimal(&mut self, text: &str, at: usize) -> Made {
        let made = self.known.decimal.call1(self.py, (text,));
        Ok(made.map_err(|_| Damage::new(at, "a decimal is no number"))?)
    }

    fn uuid(&mut self, bytes: &[u8; 16]) -> Made {
        let made = self.new_uuid(bytes)?;
        self.owned(made)
    }

    fn numpy(&mut self, code: &str, bytes: &[u8], at: usize) -> Made {
        let index = NUMPY
            .iter()
            .position(|known| *known == code)
            .filter(|index| super::numpy::width(*index as u8) == bytes.len())
            .ok_or_else(|| Damage::new(at, "a scalar of numpy is of an unknown type"))?;
        let numpy = self.known.numpy(self.py)?;
        let bytes = PyBytes::new(self.py, bytes);
        let array = numpy
            .frombuffer
            .call1(self.py, (bytes, numpy.dtypes[index].clone_ref(self.py)))?;
        self.owned(unsafe { ffi::PySequence_GetItem(array.as_ptr(), 0) })
    }

    fn list(&mut self, values: Vec<Py<PyAny>>) -> Made {
        Ok(PyList::new(self.py, values)?.into_any().unbind())
    }

    fn tuple(&mut self, values: Vec<Py<PyAny>>) -> Made {
        Ok(PyTuple::new(self.py, values)?.into_any().unbind())
    }

    fn dict(&mut self, pairs: Vec<(Py<PyAny>, Py<PyAny>)>, at: usize) -> Made {
        let dict = PyDict::new(self.py);
        for (key, value) in pairs {
            if let Err(error) = dict.set_item(key, value) {
                return Err(if error.is_instance_of::<PyTypeError>(self.py) {
                    Damage::new(at, "a key of a dict has no hash").into()
                } else {
                    error.into()
                });
            }
        }
        Ok(dict.into_any().unbind())
    }

    fn record(&mut self, kind: &str, class: &str, fields: Vec<(&str, Py<PyAny>)>, at: usize) -> Made {
        let py = self.py;
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let of = Kind::of(kind).filter(|kind| kind.has_names() && *kind != Kind::Dict);
        let of = of.ok_or_else(|| Damage::new(at, "a record is of an unknown kind"))?;
        let class = resolve(py, kind, class, &names, self.allow_pickle)
            .map_err(|cause| error::no_class(py, cause.value(py).to_string(), at))?;
        let names: Vec<Py<PyAny>> = names
            .iter()
            .map(|name| pyo3::types::PyString::intern(py, name).into_any().unbind())
            .collect();
        if of == Kind::Data {
            let Some(new) = (unsafe { ffi::PyBaseObject_Type.tp_new }) else {
                return Err(PyErr::fetch(py).into());
            };
            let empty = self.known.empty.as_ptr();
            let made = self.owned(unsafe { new(class.as_ptr().cast(), empty, std::ptr::null_mut()) })?;
            let dict = unsafe { ffi::PyObject_GenericGetDict(made.as_ptr(), std::ptr::null_mut()) };
            let dict = self.owned(dict)?;
            let dict = dict.bind(py).cast::<PyDict>().map_err(PyErr::from)?;
            for (name, (_, value)) in names.iter().zip(fields) {
                dict.set_item(name, value)?;
            }
            return Ok(made);
        }
        let Some(allocate) = (unsafe { (*class.as_ptr().cast::<ffi::PyTypeObject>()).tp_alloc }) else {
            return Err(PyErr::fetch(py).into());
        };
        let made = self.owned(unsafe { allocate(class.as_ptr().cast(), fields.len() as isize) })?;
        for (place, (_, value)) in fields.into_iter().enumerate() {
            unsafe { ffi::PyTuple_SET_ITEM(made.as_ptr(), place as isize, value.into_ptr()) };
        }
        if of == Kind::Row {
            made.setattr(py, intern!(py, "__fields__"), PyList::new(py, names)?)?;
        }
        Ok(made)
    }

    fn pickle(&mut self, bytes: &[u8], at: usize) -> Made {
        let py = self.py;
        if !self.allow_pickle {
            return Err(error::refused_at(py, "a value is pickled".into(), at).into());
        }
        Ok(self.known.unpickle.call1(py, (PyBytes::new(py, bytes),))?)
    }
}
