//! Code in memory, and how rows are put before it.

use std::ffi::c_void;

use pyo3::ffi;

use super::super::column::{Column, Record};
use super::super::known::Raised;
use super::super::layout::Direct;
use super::super::push::Context;
use super::super::source::Source;
use super::frame::{DONE, Frame};
use super::lane::Lane;
use super::memory::Memory;
use super::rows::functions;
use super::{Key, Rows, Taken};

pub struct Code {
    memory: Memory,
    rows: Rows,
    /// Where its functions begin.
    functions: Vec<*const c_void>,
}

// Nothing writes to it.
unsafe impl Send for Code {}
unsafe impl Sync for Code {}

type Entry = unsafe extern "C" fn(*mut Frame, *mut Lane) -> u32;

impl Code {
    /// None where this processor has none, or the system lets no memory be executable.
    pub fn of(key: &Key) -> Option<Self> {
        if !Memory::is_allowed() {
            return None;
        }
        let made = functions(key)?;
        let memory = Memory::of(&made.code)?;
        let functions = made.starts.iter().map(|start| memory.at(*start)).collect();
        let rows = key.rows;
        Some(Self {
            memory,
            rows,
            functions,
        })
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.memory.size()
    }

    /// Take rows from the n-th of a source on, as the columns' values from `at` to `limit`.
    ///
    /// Safety: the code is made for these columns, which have `at` values each; the source is held, and Python's lock
    /// is, too; objects lie as `layout` expects.
    pub unsafe fn take(
        &self,
        top: Option<&Record>,
        columns: &mut [Column],
        source: &Source,
        n: usize,
        (at, limit): (usize, usize),
        context: &mut Context<'_, '_>,
    ) -> Taken {
        let first = context.row;
        let mut lanes: Vec<Lane> = columns.iter_mut().map(|column| Lane::of(column, limit)).collect();
        let mut frame = Frame::new((at, limit), n, lanes.len(), context);
        frame.functions = self.functions.as_ptr();
        frame.class = match (self.rows, top.and_then(|record| record.class.as_ref())) {
            (Rows::List, _) => &raw mut ffi::PyList_Type,
            (_, Some(class)) => class.object.as_ptr().cast(),
            _ => &raw mut ffi::PyTuple_Type,
        };
        let items;
        match source {
            Source::List(list) => unsafe {
                (frame.len, frame.items) = (Direct::size_at(*list), Direct::list_items_at(*list));
            },
            Source::Tuple(tuple) => unsafe {
                items = Direct::items(*tuple);
                (frame.len, frame.items) = (Direct::size_at(*tuple), &items);
            },
        }
        let entry: Entry = unsafe { std::mem::transmute(self.functions[0]) };
        let done = unsafe { entry(&mut frame, lanes.as_mut_ptr()) } == DONE;
        unsafe { frame.close(&mut lanes) };
        drop(lanes);
        if let Some(panic) = frame.panicked.take() {
            unsafe { ffi::Py_XDECREF(frame.held) };
            std::panic::resume_unwind(panic);
        }
        let rows = frame.at - at;
        context.row = first + rows;
        let odd = (!done).then(|| {
            unsafe { ffi::Py_INCREF(frame.row) };
            (frame.row, if frame.raised { Err(Raised) } else { Ok(false) })
        });
        unsafe { ffi::Py_XDECREF(frame.held) };
        Taken {
            rows,
            odd,
            outdated: frame.limit != limit,
        }
    }
}
