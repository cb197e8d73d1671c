//! Records: values whose fields have places or names.

use std::collections::HashMap;
use std::ffi::CString;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyString};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Tuple,
    List,
    Dict,
    Named,
    Data,
    Row,
}

impl Kind {
    /// What the metadata say.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Tuple => "tuple",
            Kind::List => "list",
            Kind::Dict => "dict",
            Kind::Named => "namedtuple",
            Kind::Data => "dataclass",
            Kind::Row => "row",
        }
    }

    pub fn of(word: &str) -> Option<Self> {
        let kinds = [
            Kind::Tuple,
            Kind::List,
            Kind::Dict,
            Kind::Named,
            Kind::Data,
            Kind::Row,
        ];
        kinds.into_iter().find(|kind| kind.word() == word)
    }

    pub fn has_names(self) -> bool {
        !matches!(self, Kind::Tuple | Kind::List)
    }
}

pub struct Name {
    pub text: String,
    /// Interned, as names of attributes and most keys are.
    pub object: Py<PyAny>,
}

impl Name {
    /// None where it cannot be a name in Arrow.
    pub fn of(py: Python<'_>, o: *mut PyObject) -> Option<Self> {
        if unsafe { ffi::Py_TYPE(o) } != &raw mut ffi::PyUnicode_Type {
            return None;
        }
        let text = unsafe { Bound::from_borrowed_ptr(py, o) }
            .cast_into::<PyString>()
            .ok()?;
        let text = text.to_str().ok()?.to_owned();
        Some(Self {
            object: PyString::intern(py, &text).into_any().unbind(),
            text,
        })
    }
}

#[derive(Clone)]
pub struct Names(pub Arc<[Name]>);

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.len() == other.0.len() && self.0.iter().zip(&*other.0).all(|(a, b)| a.text == b.text)
    }
}

impl Eq for Names {}

impl Hash for Names {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|name| name.text.hash(state));
    }
}

/// A class of records, held so that it stays.
#[derive(Clone)]
pub struct Class {
    pub object: Arc<Py<PyAny>>,
    pub path: Arc<str>,
}

impl Class {
    pub fn is_of(&self, o: *mut PyObject) -> bool {
        unsafe { ffi::Py_TYPE(o) == self.object.as_ptr().cast::<PyTypeObject>() }
    }
}

impl PartialEq for Class {
    fn eq(&self, other: &Self) -> bool {
        self.object.as_ptr() == other.object.as_ptr()
    }
}

impl Eq for Class {}

impl Hash for Class {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.object.as_ptr() as usize).hash(state);
    }
}

/// What all records of a class have in common.
#[derive(Clone)]
pub struct Described {
    pub kind: Kind,
    pub class: Class,
    /// None of a `Row`, each of which has its own.
    pub names: Option<Names>,
}

const MOST_CLASSES: usize = 1024;

/// Classes that were looked at before, held so that no other takes their place.
#[derive(Default)]
pub struct Classes {
    records: HashMap<usize, Described>,
    others: HashMap<usize, Py<PyAny>>,
}

impl Classes {
    /// A class that was a record need not be one any more: its module may be another now, or tell how it is pickled. One that
    /// was none may be taken for none: whoever pickles its instances looks again.
    pub fn forget_records(&mut self) {
        self.records.clear();
    }

    pub fn describe(&mut self, py: Python<'_>, o: *mut PyObject) -> PyResult<Option<Described>> {
        self.describe_class(py, unsafe { ffi::Py_TYPE(o) })
    }

    /// Whether it is what it was taken for.
    pub fn is_still(&mut self, py: Python<'_>, class: &Class, names: Option<&Names>) -> PyResult<bool> {
        let found = self.describe_class(py, class.object.as_ptr().cast())?;
        // A Row's names are its own.
        Ok(found.is_some_and(|found| found.names.is_none() || found.names.as_ref() == names))
    }

    fn describe_class(&mut self, py: Python<'_>, ty: *mut PyTypeObject) -> PyResult<Option<Described>> {
        let key = ty as usize;
        if let Some(found) = self.records.get(&key) {
            return Ok(Some(found.clone()));
        }
        if self.others.contains_key(&key) {
            return Ok(None);
        }
        let object: Py<PyAny> = unsafe { Bound::from_borrowed_ptr(py, ty.cast()) }.unbind();
        let found = code(py)?.getattr("describe")?.call1((object.bind(py),))?;
        if self.records.len() + self.others.len() >= MOST_CLASSES {
            self.records.clear();
            self.others.clear();
        }
        if found.is_none() {
            self.others.insert(key, object);
            return Ok(None);
        }
        let (kind, names, path): (String, Option<Vec<Bound<'_, PyAny>>>, String) = found.extract()?;
        let names = names.map(|names| {
            names
                .iter()
                .filter_map(|name| Name::of(py, name.as_ptr()))
                .collect()
        });
        let described = Described {
            kind: Kind::of(&kind).expect("classes.py names kinds as metadata do"),
            class: Class {
                object: Arc::new(object),
                path: path.into(),
            },
            names: names.map(Names),
        };
        self.records.insert(key, described.clone());
        Ok(Some(described))
    }
}

/// The class that a path stands for, or a LookupError.
pub fn resolve(
    py: Python<'_>,
    kind: &str,
    path: &str,
    names: &[&str],
    importing: bool,
) -> PyResult<Py<PyAny>> {
    Ok(code(py)?
        .getattr("resolve")?
        .call1((kind, path, names.to_vec(), importing))?
        .unbind())
}

fn code(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static CODE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = CODE.get_or_try_init(py, || {
        let source = CString::new(include_str!("classes.py")).expect("the source has no zero byte");
        Ok::<_, PyErr>(
            PyModule::from_code(
                py,
                &source,
                c"headrace_native/classes.py",
                c"headrace_native.classes",
            )?
            .unbind(),
        )
    })?;
    Ok(module.bind(py))
}
