//! Rows that are given at once.

use pyo3::ffi::PyObject;

use super::layout::Access;

/// Where rows are taken from; it may be changed by code that runs meanwhile.
pub enum Source {
    List(*mut PyObject),
    Tuple(*mut PyObject),
}

impl Source {
    pub unsafe fn len<A: Access>(&self) -> usize {
        match self {
            Source::List(list) => unsafe { A::list_len(*list) },
            Source::Tuple(tuple) => unsafe { A::tuple_len(*tuple) },
        }
    }

    pub unsafe fn item<A: Access>(&self, n: usize) -> *mut PyObject {
        match self {
            Source::List(list) => unsafe { A::list_item(*list, n) },
            Source::Tuple(tuple) => unsafe { A::tuple_item(*tuple, n) },
        }
    }
}
