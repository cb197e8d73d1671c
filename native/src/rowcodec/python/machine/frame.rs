//! What machine code works on, and the functions that it calls.

use std::any::Any;
use std::ffi::c_void;
use std::mem::discriminant;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::ffi::{self, PyObject, PyTypeObject};

use super::super::column::{Column, Op};
use super::super::known::Raised;
use super::super::layout::{Access, Direct};
use super::super::push::{Context, MOST, MOST_CONTAINERS, copy, push, push_slowly};
use super::super::time;
use super::lane::Lane;
use super::rows::FIELDS;

/// How the code, or a function that it calls, answers: it is done, or a row, or value, does not fit.
pub const DONE: u32 = 0;
pub const NOT: u32 = 1;

/// Values that come within so many are fetched; rows within twice as many.
const AHEAD: usize = 54;

/// A block of rows.
#[repr(C)]
pub struct Frame {
    /// The row's place in the batch, and the first place behind the block.
    pub at: usize,
    pub limit: usize,
    /// From a place in the batch to that in the source.
    pub shift: isize,
    /// Of the source, read anew for each row: it may be changed by what runs meanwhile.
    pub len: *const usize,
    pub items: *const *const *mut PyObject,
    /// Of rows.
    pub class: *mut PyTypeObject,
    /// A row that was not taken, and the first of its fields that is not in its column.
    pub row: *mut PyObject,
    pub field: usize,
    pub functions: *const *const c_void,
    fields: usize,
    ahead: usize,
    /// The number of the row that is the batch's first; it need not have been of this call.
    first: usize,
    context: *mut c_void,
    /// A row during which code of others may have run, so that nobody else need hold it any more.
    pub held: *mut PyObject,
    /// Where the block ends, whatever `limit` has become.
    end: usize,
    /// `push` has not been called yet.
    fresh: bool,
    pub raised: bool,
    pub panicked: Option<Box<dyn Any + Send>>,
}

impl Lane {
    /// The bytes of a value are there.
    unsafe fn ended(&mut self, at: usize) -> u32 {
        self.see_bytes();
        let end = unsafe { (*self.column).bytes.len() };
        if end > MOST {
            return NOT;
        }
        self.end = end;
        unsafe { self.values.cast::<i32>().add(at + 1).write(end as i32) };
        DONE
    }
}

impl Frame {
    /// Args: `block` is where it begins and ends in the batch, `from` where it begins in the source.
    pub fn new(block: (usize, usize), from: usize, fields: usize, context: &mut Context<'_, '_>) -> Self {
        let (at, limit) = block;
        Self {
            at,
            limit,
            shift: from.wrapping_sub(at) as isize,
            len: std::ptr::null(),
            items: std::ptr::null(),
            class: std::ptr::null_mut(),
            row: std::ptr::null_mut(),
            field: 0,
            functions: std::ptr::null(),
            fields,
            ahead: (AHEAD / fields.max(1)).clamp(1, 6),
            first: context.row.wrapping_sub(at),
            context: (&raw mut *context).cast(),
            held: std::ptr::null_mut(),
            end: limit,
            fresh: true,
            raised: false,
            panicked: None,
        }
    }

    /// Close the lanes: the fields before the one that did not take the row have it already.
    ///
    /// Safety: as of `Lane::close`.
    pub unsafe fn close(&self, lanes: &mut [Lane]) {
        for (n, lane) in lanes.iter_mut().enumerate() {
            unsafe { lane.close(self.at + usize::from(n < self.field)) };
        }
    }

    #[inline]
    unsafe fn push<const SIMPLE: bool>(
        &mut self,
        column: *mut Column,
        row: *mut PyObject,
        o: *mut PyObject,
        at: usize,
    ) -> u32 {
        let mut before = std::ptr::null_mut();
        if self.held != row {
            unsafe { ffi::Py_INCREF(row) };
            before = std::mem::replace(&mut self.held, row);
        }
        let pushed = catch_unwind(AssertUnwindSafe(|| unsafe {
            let context = &mut *self.context.cast::<Context<'_, '_>>();
            let number = self.first.wrapping_add(at);
            if std::mem::replace(&mut context.row, number) != number || self.fresh {
                context.left = MOST_CONTAINERS;
                self.fresh = false;
            }
            match SIMPLE {
                true => push::<Direct>(&mut *column, o, context),
                false => push_slowly::<Direct>(&mut *column, o, context),
            }
        }));
        // Only now, for the end of a row may run code of others, too.
        unsafe { ffi::Py_XDECREF(before) };
        match pushed {
            Ok(Ok(true)) => return DONE,
            Ok(Ok(false)) => {}
            Ok(Err(Raised)) => self.raised = true,
            Err(panic) => self.panicked = Some(panic),
        }
        NOT
    }
}

/// Push a value to a column that code could not fill with it.
pub unsafe extern "C" fn push_value(
    frame: *mut Frame,
    lane: *mut Lane,
    row: *mut PyObject,
    o: *mut PyObject,
    at: usize,
) -> u32 {
    unsafe {
        let (frame, lane) = (&mut *frame, &mut *lane);
        lane.close(at);
        let before = discriminant(&(*lane.column).op);
        let answer = frame.push::<true>(lane.column, row, o, at);
        if discriminant(&(*lane.column).op) != before {
            // The code is for what the column was: this row is the last.
            frame.limit = 0;
        }
        lane.open(frame.end);
        answer
    }
}

/// Push a value to a column that code never fills.
pub unsafe extern "C" fn push_other(
    frame: *mut Frame,
    lane: *mut Lane,
    row: *mut PyObject,
    o: *mut PyObject,
    at: usize,
) -> u32 {
    unsafe { (*frame).push::<false>((*lane).column, row, o, at) }
}

/// Push a text that is long, or not ASCII, or that there is no room for yet. Nothing of Python runs.
pub unsafe extern "C" fn push_text(lane: *mut Lane, o: *mut PyObject, at: usize) -> u32 {
    unsafe {
        let lane = &mut *lane;
        let column = &mut *lane.column;
        column.bytes.set_len(lane.end);
        let whole = match Direct::ascii(o) {
            Some(text) => {
                copy(text, &mut column.bytes);
                true
            }
            None => Direct::is_compact(o) && Direct::utf8(o, &mut column.bytes),
        };
        if whole {
            return lane.ended(at);
        }
        lane.see_bytes();
        NOT
    }
}

/// Push bytes. Nothing of Python runs.
pub unsafe extern "C" fn push_bytes(lane: *mut Lane, o: *mut PyObject, at: usize) -> u32 {
    unsafe {
        let lane = &mut *lane;
        let column = &mut *lane.column;
        let (start, length) = (ffi::PyBytes_AsString(o), ffi::PyBytes_Size(o) as usize);
        column.bytes.set_len(lane.end);
        copy(
            std::slice::from_raw_parts(start.cast(), length),
            &mut column.bytes,
        );
        lane.ended(at)
    }
}

pub unsafe extern "C" fn push_date(lane: *mut Lane, o: *mut PyObject, at: usize) -> u32 {
    unsafe { (*lane).values.cast::<i64>().add(at).write(time::date(o).into()) };
    DONE
}

pub unsafe extern "C" fn push_datetime(lane: *mut Lane, o: *mut PyObject, at: usize) -> u32 {
    unsafe {
        if ffi::PyDateTime_DATE_GET_TZINFO(o) != ffi::Py_None() || time::fold(o) {
            return NOT;
        }
        (*lane).values.cast::<i64>().add(at).write(time::wall(o));
    }
    DONE
}

/// Push a text to a dictionary. Nothing of Python runs.
pub unsafe extern "C" fn push_coded(lane: *mut Lane, o: *mut PyObject, at: usize) -> u32 {
    unsafe {
        let column = &mut *(*lane).column;
        let Op::Coded(coded) = &mut column.op else {
            return NOT;
        };
        coded.codes.set_len(at);
        let done = match Direct::ascii(o) {
            Some(text) => coded.push(text),
            None => {
                column.bytes.clear();
                let whole = Direct::is_compact(o) && Direct::utf8(o, &mut column.bytes);
                whole && coded.push(&column.bytes)
            }
        };
        if done { DONE } else { NOT }
    }
}

/// Have the processor fetch what comes soon: rows, and of one row the values that a part of the code takes.
pub unsafe extern "C" fn fetch(frame: *const Frame, at: usize, part: usize) {
    unsafe {
        let frame = &*frame;
        let n = at.wrapping_add_signed(frame.shift);
        let (len, items) = (*frame.len, *frame.items);
        if part == 0 && n + 2 * frame.ahead < len {
            Direct::prefetch(*items.add(n + 2 * frame.ahead));
        }
        if n + frame.ahead >= len {
            return;
        }
        let row = *items.add(n + frame.ahead);
        if (*row).ob_type != frame.class || Direct::tuple_len(row) != frame.fields {
            return;
        }
        let values = match frame.class == &raw mut ffi::PyList_Type {
            true => *Direct::list_items_at(row),
            false => Direct::items(row),
        };
        let first = part * FIELDS;
        for n in first..frame.fields.min(first + FIELDS) {
            Direct::fetch_value(values, n);
        }
    }
}
