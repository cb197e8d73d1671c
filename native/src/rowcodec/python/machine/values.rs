//! Code for values: how each is pushed to its column.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I8X16, I16, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value};
use pyo3::ffi::{self, PyObject};

use super::super::layout::{AFTER_SIZE, AFTER_TYPE, ASCII, ASCII_DATA, COMPACT, DIGIT_BITS, STATE};
use super::Field;
use super::frame::{push_bytes, push_coded, push_date, push_datetime, push_text};
use super::lane::Lane;
use super::rows::RowWriter;
use super::writer::OB_TYPE;

/// A text of at most so many bytes is copied as if it had them all.
const COPIED: i64 = 48;
const PAGE: i64 = 4096;

/// A function that pushes a value of the type that its column has.
type Push = unsafe extern "C" fn(*mut Lane, *mut PyObject, usize) -> u32;

/// One field of one row.
pub struct Place {
    /// Where its lane is among those given.
    pub lane: i32,
    pub o: Value,
    pub at: Value,
    /// Where it goes on, and where a value goes that is not simple.
    pub next: Block,
    pub slow: Block,
}

macro_rules! lane {
    ($place:expr, $field:ident) => {
        $place.lane + std::mem::offset_of!(Lane, $field) as i32
    };
}

impl RowWriter<'_, '_> {
    /// Push a value, and go on; or leave it to others.
    pub fn value(&mut self, field: Field, place: &Place) {
        match field {
            Field::Null => self.null(place),
            Field::Bool => self.truth(place),
            Field::Int => self.int(place),
            Field::Float => self.float(place),
            Field::Str => self.text(place),
            Field::Coded => self.coded(place),
            Field::Bytes => self.bytes(place),
            Field::Date => self.time(place, unsafe { (*ffi::PyDateTimeAPI()).DateType }, push_date),
            Field::DateTime => self.time(
                place,
                unsafe { (*ffi::PyDateTimeAPI()).DateTimeType },
                push_datetime,
            ),
            Field::Other => {
                self.w.b.ins().jump(place.slow, &[]);
            }
        }
    }

    fn null(&mut self, place: &Place) {
        let none = self.w.number(unsafe { ffi::Py_None() } as i64);
        let fits = self.w.same(place.o, none);
        self.w.goes_on(fits, place.slow, &[]);
        self.count_null(place);
        self.w.b.ins().jump(place.next, &[]);
    }

    fn truth(&mut self, place: &Place) {
        let (yes, no) = unsafe { (ffi::Py_True(), ffi::Py_False()) };
        let yes = self.w.number(yes as i64);
        let no = self.w.number(no as i64);
        let is_true = self.w.same(place.o, yes);
        let is_false = self.w.same(place.o, no);
        let fits = self.w.b.ins().bor(is_true, is_false);
        let other = self.w.block();
        self.w.goes_on(fits, other, &[]);
        let values = self.w.load(I64, self.lanes, lane!(place, values));
        let to = self.w.b.ins().iadd(values, place.at);
        self.w.store(is_true, to, 0);
        self.w.b.ins().jump(place.next, &[]);
        self.none_or_slow(place, other, |row| {
            let zero = row.w.b.ins().iconst(I8, 0);
            let values = row.w.load(I64, row.lanes, lane!(place, values));
            let to = row.w.b.ins().iadd(values, place.at);
            row.w.store(zero, to, 0);
        });
    }

    fn int(&mut self, place: &Place) {
        let other = self.typed(place, &raw mut ffi::PyLong_Type);
        let tag = self.w.load(I64, place.o, AFTER_TYPE as i32);
        let low = self.w.load_unsigned(place.o, AFTER_SIZE as i32);
        let (one, long) = (self.w.block(), self.w.block());
        let two = self.w.block();
        let put = self.w.block();
        let value = self.w.b.append_block_param(put, I64);
        // One digit at most; or two; and the sign.
        let (few, both, sign);
        if cfg!(Py_3_12) {
            few = self.w.b.ins().icmp_imm(IntCC::UnsignedLessThan, tag, 16);
            both = self.w.b.ins().icmp_imm(IntCC::UnsignedLessThan, tag, 24);
            let bits = self.w.b.ins().band_imm(tag, 3);
            sign = self.w.b.ins().irsub_imm(bits, 1);
        } else {
            let above = self.w.b.ins().iadd_imm(tag, 1);
            few = self.w.b.ins().icmp_imm(IntCC::UnsignedLessThan, above, 3);
            let above = self.w.b.ins().iadd_imm(tag, 2);
            both = self.w.b.ins().icmp_imm(IntCC::UnsignedLessThan, above, 5);
            let negative = self.w.b.ins().sshr_imm(tag, 63);
            sign = self.w.b.ins().bor_imm(negative, 1);
        }
        self.w.b.ins().brif(few, one, &[], long, &[]);
        self.w.b.switch_to_block(long);
        self.w.b.ins().brif(both, two, &[], place.slow, &[]);
        self.w.b.switch_to_block(two);
        let high = self.w.load_unsigned(place.o, AFTER_SIZE as i32 + 4);
        let high = self.w.b.ins().ishl_imm(high, i64::from(DIGIT_BITS));
        let all = self.w.b.ins().bor(low, high);
        let all = self.w.b.ins().imul(all, sign);
        self.w.b.ins().jump(put, &[all.into()]);
        self.w.b.switch_to_block(one);
        let factor = if cfg!(Py_3_12) { sign } else { tag };
        let all = self.w.b.ins().imul(low, factor);
        self.w.b.ins().jump(put, &[all.into()]);

        self.w.b.switch_to_block(put);
        let bits = self.w.load(I64, self.lanes, lane!(place, bits));
        let negative = self.w.b.ins().sshr_imm(value, 63);
        let magnitude = self.w.b.ins().bxor(value, negative);
        let bits = self.w.b.ins().bor(bits, magnitude);
        self.w.store(bits, self.lanes, lane!(place, bits));
        self.put_long(place, value);
        self.w.b.ins().jump(place.next, &[]);
        self.long_none(place, other);
    }

    fn float(&mut self, place: &Place) {
        let other = self.typed(place, &raw mut ffi::PyFloat_Type);
        let value = self.w.load(I64, place.o, AFTER_TYPE as i32);
        self.put_long(place, value);
        self.w.b.ins().jump(place.next, &[]);
        self.long_none(place, other);
    }

    fn text(&mut self, place: &Place) {
        let other = self.typed(place, &raw mut ffi::PyUnicode_Type);
        let hard = self.w.cold_block();
        let state = self.w.load(I32, place.o, STATE as i32);
        let state = self.w.b.ins().band_imm(state, i64::from(COMPACT | ASCII));
        let ascii = self
            .w
            .b
            .ins()
            .icmp_imm(IntCC::Equal, state, i64::from(COMPACT | ASCII));
        self.w.goes_on(ascii, hard, &[]);
        let length = self.w.load(I64, place.o, AFTER_TYPE as i32);
        let before = self.w.load(I64, self.lanes, lane!(place, end));
        let end = self.w.b.ins().iadd(before, length);
        let beyond = self.w.b.ins().iadd_imm(end, COPIED);
        let room = self.w.load(I64, self.lanes, lane!(place, room));
        let fits = self.w.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, beyond, room);
        self.w.goes_on(fits, hard, &[]);
        let from = self.w.b.ins().iadd_imm(place.o, ASCII_DATA as i64);
        let short = self
            .w
            .b
            .ins()
            .icmp_imm(IntCC::UnsignedLessThanOrEqual, length, COPIED);
        self.w.goes_on(short, hard, &[]);
        // What is read beyond its end lies within its page.
        let in_page = self.w.b.ins().band_imm(from, PAGE - 1);
        let within = self
            .w
            .b
            .ins()
            .icmp_imm(IntCC::UnsignedLessThanOrEqual, in_page, PAGE - COPIED);
        self.w.goes_on(within, hard, &[]);
        let bytes = self.w.load(I64, self.lanes, lane!(place, bytes));
        let to = self.w.b.ins().iadd(bytes, before);
        for offset in (0..COPIED as i32).step_by(16) {
            let some = self
                .w
                .b
                .ins()
                .load(I8X16, MemFlags::new().with_notrap(), from, offset);
            self.w
                .b
                .ins()
                .store(MemFlags::new().with_notrap(), some, to, offset);
        }
        self.w.store(end, self.lanes, lane!(place, end));
        self.put_end(place, end);
        self.w.b.ins().jump(place.next, &[]);

        self.w.b.switch_to_block(hard);
        self.by_call(place, push_text);
        self.end_none(place, other);
    }

    fn bytes(&mut self, place: &Place) {
        let other = self.typed(place, &raw mut ffi::PyBytes_Type);
        self.by_call(place, push_bytes);
        self.end_none(place, other);
    }

    fn time(&mut self, place: &Place, class: *mut ffi::PyTypeObject, push: Push) {
        let other = self.typed(place, class);
        self.by_call(place, push);
        self.long_none(place, other);
    }

    fn coded(&mut self, place: &Place) {
        let other = self.typed(place, &raw mut ffi::PyUnicode_Type);
        self.by_call(place, push_coded);
        self.none_or_slow(place, other, |row| {
            let values = row.w.load(I64, row.lanes, lane!(place, values));
            let to = row.w.scaled(values, place.at, 1);
            let zero = row.w.b.ins().iconst(I16, 0);
            row.w.store(zero, to, 0);
        });
    }

    /// Go on if the value is of a type; else in the block that is given.
    fn typed(&mut self, place: &Place, class: *mut ffi::PyTypeObject) -> Block {
        let found = self.w.load(I64, place.o, OB_TYPE);
        let expected = self.w.number(class as i64);
        let fits = self.w.same(found, expected);
        let other = self.w.block();
        self.w.goes_on(fits, other, &[]);
        other
    }

    fn by_call(&mut self, place: &Place, push: Push) {
        let lane = self.w.b.ins().iadd_imm(self.lanes, i64::from(place.lane));
        let given = [lane, place.o, place.at];
        let answer = self.w.call(push as *const () as usize, &given, Some(I32));
        let answer = answer.expect("it answers");
        self.w.b.ins().brif(answer, place.slow, &[], place.next, &[]);
    }

    fn put_long(&mut self, place: &Place, value: Value) {
        let values = self.w.load(I64, self.lanes, lane!(place, values));
        let to = self.w.scaled(values, place.at, 3);
        self.w.store(value, to, 0);
    }

    fn put_end(&mut self, place: &Place, end: Value) {
        let values = self.w.load(I64, self.lanes, lane!(place, values));
        let to = self.w.scaled(values, place.at, 2);
        let end = self.w.b.ins().ireduce(I32, end);
        self.w.store(end, to, 4);
    }

    fn long_none(&mut self, place: &Place, other: Block) {
        self.none_or_slow(place, other, |row| {
            let zero = row.w.number(0);
            row.put_long(place, zero);
        });
    }

    fn end_none(&mut self, place: &Place, other: Block) {
        self.none_or_slow(place, other, |row| {
            let end = row.w.load(I64, row.lanes, lane!(place, end));
            row.put_end(place, end);
        });
    }

    /// A value that is None; or one that goes to precompiled code.
    fn none_or_slow(&mut self, place: &Place, other: Block, put: impl FnOnce(&mut Self)) {
        self.w.b.switch_to_block(other);
        let none = self.w.number(unsafe { ffi::Py_None() } as i64);
        let fits = self.w.same(place.o, none);
        self.w.goes_on(fits, place.slow, &[]);
        let valid = self.w.load(I64, self.lanes, lane!(place, valid));
        let byte = self.w.b.ins().ushr_imm(place.at, 3);
        let byte = self.w.b.ins().iadd(valid, byte);
        let bits = self.w.load(I8, byte, 0);
        let bit = self.w.b.ins().band_imm(place.at, 7);
        let one = self.w.b.ins().iconst(I8, 1);
        let bit = self.w.b.ins().ishl(one, bit);
        let bits = self.w.b.ins().band_not(bits, bit);
        self.w.store(bits, byte, 0);
        self.count_null(place);
        put(self);
        self.w.b.ins().jump(place.next, &[]);
    }

    fn count_null(&mut self, place: &Place) {
        let nulls = self.w.load(I64, self.lanes, lane!(place, nulls));
        let nulls = self.w.b.ins().iadd_imm(nulls, 1);
        self.w.store(nulls, self.lanes, lane!(place, nulls));
    }
}
