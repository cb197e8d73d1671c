//! A column as machine code fills it.

use super::super::column::{Column, Op};
use super::super::push::MOST;

/// It is opened before code runs, and closed after: between, it knows what is there, and the lengths of the column's
/// vectors are behind.
#[repr(C)]
pub struct Lane {
    /// One for each value: numbers, times, truths, codes; of texts and bytes the ends, after the zero that they begin with.
    pub values: *mut u8,
    pub valid: *mut u8,
    /// Of these: what they are made of, where these end, and where they must end at last.
    pub bytes: *mut u8,
    pub end: usize,
    pub room: usize,
    pub bits: u64,
    /// Since it was opened.
    pub nulls: usize,
    pub column: *mut Column,
}

impl Lane {
    /// An open lane, with room for values up to so many rows.
    pub fn of(column: &mut Column, rows: usize) -> Self {
        let none = std::ptr::null_mut();
        let mut lane = Self {
            values: none,
            valid: none,
            bytes: none,
            end: 0,
            room: 0,
            bits: 0,
            nulls: 0,
            column,
        };
        unsafe { lane.open(rows) };
        lane
    }

    /// Safety: nothing else refers to the column.
    pub unsafe fn open(&mut self, rows: usize) {
        let column = unsafe { &mut *self.column };
        let more = rows.saturating_sub(column.len);
        self.bits = column.bits;
        self.values = match &mut column.op {
            Op::Int | Op::Float | Op::Date | Op::DateTime => {
                column.longs.reserve(more);
                column.longs.as_mut_ptr().cast()
            }
            Op::Bool => {
                column.bytes.reserve(more);
                column.bytes.as_mut_ptr()
            }
            Op::Str | Op::Bytes => {
                column.offsets.reserve(more);
                self.end = column.bytes.len();
                self.see_bytes();
                column.offsets.as_mut_ptr().cast()
            }
            Op::Coded(coded) => {
                coded.codes.reserve(more);
                coded.codes.as_mut_ptr().cast()
            }
            _ => return,
        };
        if column.valid.len() < rows.div_ceil(8) {
            column.valid.resize(rows.div_ceil(8), 0xff);
        }
        self.valid = column.valid.as_mut_ptr();
    }

    /// The room for texts has moved.
    pub fn see_bytes(&mut self) {
        let bytes = unsafe { &mut (*self.column).bytes };
        self.bytes = bytes.as_mut_ptr();
        self.room = bytes.capacity().min(MOST);
    }

    /// Have the column know of its values.
    ///
    /// Safety: so many are there, and the lane was open for as many; nothing else refers to the column.
    pub unsafe fn close(&mut self, rows: usize) {
        unsafe {
            let column = &mut *self.column;
            match &mut column.op {
                Op::Int | Op::Float | Op::Date | Op::DateTime => column.longs.set_len(rows),
                Op::Bool => column.bytes.set_len(rows),
                Op::Str | Op::Bytes => {
                    column.offsets.set_len(rows + 1);
                    column.bytes.set_len(self.end);
                }
                Op::Coded(coded) => coded.codes.set_len(rows),
                Op::Null => {}
                // Only `push` fills it.
                _ => return,
            }
            column.bits = self.bits;
            column.nulls += std::mem::take(&mut self.nulls);
            column.len = rows;
        }
    }
}
