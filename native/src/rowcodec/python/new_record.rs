//! Records of Python, made of columns.

use pyo3::ffi::{self, PyObject};

use super::bound::{Bound_, Context};
use super::plan::RecordPlan;
use super::record::Kind;

/// A new record of the n-th values; null where it cannot be made, as the context or an exception then tells.
///
/// Safety: n is below the columns' length.
#[inline(always)]
pub unsafe fn new_record(
    plan: &RecordPlan,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> *mut PyObject {
    unsafe {
        match plan.kind {
            Kind::Tuple => {
                let tuple = ffi::PyTuple_New(columns.len() as isize);
                if !tuple.is_null() && !fill_tuple(tuple, columns, n, context) {
                    ffi::Py_DECREF(tuple);
                    return std::ptr::null_mut();
                }
                tuple
            }
            Kind::List => {
                let list = ffi::PyList_New(columns.len() as isize);
                for (place, column) in columns.iter().enumerate() {
                    if list.is_null() {
                        return list;
                    }
                    let item = column.value(n, context);
                    if item.is_null() {
                        ffi::Py_DECREF(list);
                        return item;
                    }
                    ffi::PyList_SET_ITEM(list, place as isize, item);
                }
                list
            }
            Kind::Dict => {
                let dict = ffi::PyDict_New();
                if !dict.is_null() && !fill_dict(dict, plan, columns, n, context) {
                    ffi::Py_DECREF(dict);
                    return std::ptr::null_mut();
                }
                dict
            }
            Kind::Named | Kind::Data | Kind::Row => new_instance(plan, columns, n, context),
        }
    }
}

unsafe fn fill_tuple(
    tuple: *mut PyObject,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> bool {
    for (place, column) in columns.iter().enumerate() {
        unsafe {
            let item = column.value(n, context);
            if item.is_null() {
                return false;
            }
            ffi::PyTuple_SET_ITEM(tuple, place as isize, item);
        }
    }
    true
}

unsafe fn fill_dict(
    dict: *mut PyObject,
    plan: &RecordPlan,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> bool {
    for (name, column) in plan.names.iter().zip(columns) {
        unsafe {
            let value = column.value(n, context);
            if value.is_null() {
                return false;
            }
            let set = ffi::PyDict_SetItem(dict, name.as_ptr(), value);
            ffi::Py_DECREF(value);
            if set != 0 {
                return false;
            }
        }
    }
    true
}

/// Neither `__new__` nor `__init__` of the class is called, as unpickling would not call the latter.
#[inline(never)]
unsafe fn new_instance(
    plan: &RecordPlan,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> *mut PyObject {
    unsafe {
        let Some(class) = &plan.class else {
            return context.fail("a record has no class");
        };
        if plan.kind == Kind::Data {
            let Some(new) = ffi::PyBaseObject_Type.tp_new else {
                return std::ptr::null_mut();
            };
            let instance = new(
                class.as_ptr().cast(),
                context.known.empty.as_ptr(),
                std::ptr::null_mut(),
            );
            if instance.is_null() {
                return instance;
            }
            let dict = ffi::PyObject_GenericGetDict(instance, std::ptr::null_mut());
            let filled = !dict.is_null() && fill_dict(dict, plan, columns, n, context);
            ffi::Py_XDECREF(dict);
            if !filled {
                ffi::Py_DECREF(instance);
                return std::ptr::null_mut();
            }
            return instance;
        }
        let Some(allocate) = (*class.as_ptr().cast::<ffi::PyTypeObject>()).tp_alloc else {
            return std::ptr::null_mut();
        };
        let tuple = allocate(class.as_ptr().cast(), columns.len() as isize);
        if tuple.is_null() {
            return tuple;
        }
        let mut filled = fill_tuple(tuple, columns, n, context);
        if let (true, Some(names)) = (filled, &plan.list) {
            filled = ffi::PyObject_SetAttrString(tuple, c"__fields__".as_ptr(), names.as_ptr()) == 0;
        }
        if !filled {
            ffi::Py_DECREF(tuple);
            return std::ptr::null_mut();
        }
        tuple
    }
}
