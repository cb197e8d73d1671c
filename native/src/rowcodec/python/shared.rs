//! Values that stand in many rows.

use std::collections::HashSet;

use pyo3::ffi::{self, PyObject};

use super::layout::Access;
use super::source::Source;

/// Rows that are looked at.
const ROWS: usize = 16;
/// What is within a row is looked at so deep.
const DEPTH: usize = 3;
/// Items of a container that are looked at.
const ITEMS: usize = 32;
/// Containers of so many items are large, and bytes and texts of so many.
const LARGE: usize = 16;
const LARGE_BYTES: usize = 256;
const LARGE_TEXT: usize = 4096;

/// Whether rows hold one large value several times, as far as some of them show: pickle writes it once, but columns as often
/// as it stands in rows.
pub unsafe fn is_shared<A: Access>(source: &Source) -> bool {
    let len = unsafe { source.len::<A>() };
    let rows = len.min(ROWS);
    let mut seen = Vec::new();
    (0..rows).any(|n| {
        let row = unsafe { source.item::<A>((len - 1) * n / (rows - 1).max(1)) };
        unsafe { look::<A>(row, DEPTH, &mut seen) }
    })
}

/// Whether a large value in this one was seen before.
unsafe fn look<A: Access>(o: *mut PyObject, depth: usize, seen: &mut Vec<*mut PyObject>) -> bool {
    let ty = unsafe { ffi::Py_TYPE(o) };
    let mut is_seen = |size: usize, large: usize| {
        let found = size >= large && seen.contains(&o);
        if size >= large && !found {
            seen.push(o);
        }
        found
    };
    unsafe {
        if ty == &raw mut ffi::PyTuple_Type {
            let len = A::tuple_len(o);
            is_seen(len, LARGE)
                || depth > 0 && (0..len.min(ITEMS)).any(|n| look::<A>(A::tuple_item(o, n), depth - 1, seen))
        } else if ty == &raw mut ffi::PyList_Type {
            let len = A::list_len(o);
            is_seen(len, LARGE)
                || depth > 0 && (0..len.min(ITEMS)).any(|n| look::<A>(A::list_item(o, n), depth - 1, seen))
        } else if ty == &raw mut ffi::PyDict_Type {
            if is_seen(ffi::PyDict_Size(o) as usize, LARGE) {
                return true;
            }
            let (mut position, mut value) = (0, std::ptr::null_mut());
            for _ in 0..ITEMS {
                if depth == 0 || ffi::PyDict_Next(o, &mut position, std::ptr::null_mut(), &mut value) == 0 {
                    break;
                }
                if look::<A>(value, depth - 1, seen) {
                    return true;
                }
            }
            false
        } else if ty == &raw mut ffi::PyBytes_Type {
            is_seen(ffi::PyBytes_Size(o) as usize, LARGE_BYTES)
        } else if ty == &raw mut ffi::PyByteArray_Type {
            is_seen(ffi::PyByteArray_Size(o) as usize, LARGE_BYTES)
        } else if ty == &raw mut ffi::PyUnicode_Type {
            is_seen(ffi::PyUnicode_GetLength(o) as usize, LARGE_TEXT)
        } else {
            false
        }
    }
}

/// Rows are deeper than this where columns cannot hold them.
const DEEPEST: usize = 64;

/// Whether rows hold a list, dict or bytearray twice: who changes it in one place would see that in the other, and would
/// not once columns have made two of it.
pub unsafe fn has_changeable_twice<A: Access>(source: &Source) -> bool {
    let mut seen = HashSet::new();
    (0..unsafe { source.len::<A>() })
        .any(|n| unsafe { meets_again::<A>(source.item::<A>(n), DEEPEST, &mut seen) })
}

unsafe fn meets_again<A: Access>(o: *mut PyObject, depth: usize, seen: &mut HashSet<*mut PyObject>) -> bool {
    let mut met = || !seen.insert(o) || depth == 0;
    unsafe {
        if ffi::PyTuple_Check(o) == 1 {
            depth == 0 || (0..A::tuple_len(o)).any(|n| meets_again::<A>(A::tuple_item(o, n), depth - 1, seen))
        } else if ffi::PyList_Check(o) == 1 {
            met() || (0..A::list_len(o)).any(|n| meets_again::<A>(A::list_item(o, n), depth - 1, seen))
        } else if ffi::PyDict_Check(o) == 1 {
            if met() {
                return true;
            }
            let (mut position, mut value) = (0, std::ptr::null_mut());
            while ffi::PyDict_Next(o, &mut position, std::ptr::null_mut(), &mut value) == 1 {
                if meets_again::<A>(value, depth - 1, seen) {
                    return true;
                }
            }
            false
        } else {
            ffi::PyByteArray_Check(o) == 1 && met()
        }
    }
}
