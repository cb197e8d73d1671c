//! Code for rows: a loop over them, and each of their fields.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::super::layout::{AFTER_SIZE, AFTER_TYPE};
use super::frame::{DONE, Frame, NOT, fetch, push_other, push_value};
use super::lane::Lane;
use super::values::Place;
use super::writer::{Functions, OB_TYPE, Writer};
use super::{Field, Key, Rows};

/// Columns of a function: what it takes to compile one grows faster than they do.
pub const FIELDS: usize = 16;

/// First the function that takes rows, and then those that it calls for the fields behind the first.
pub fn functions(key: &Key) -> Option<Functions> {
    let mut functions = Functions::new()?;
    let (first, others) = key.fields.split_at(key.fields.len().min(FIELDS));
    functions.add(2, |w, given| {
        let mut rows = RowWriter {
            w,
            rows: key.rows,
            frame: given[0],
            lanes: given[1],
        };
        rows.all(first, others.len().div_ceil(FIELDS), key.fields.len());
    })?;
    for (n, fields) in others.chunks(FIELDS).enumerate() {
        functions.add(4, |w, given| {
            let mut rows = RowWriter {
                w,
                rows: key.rows,
                frame: given[0],
                lanes: given[1],
            };
            rows.part(n + 1, fields, given[2], given[3]);
        })?;
    }
    Some(functions)
}

/// Writes a function that takes rows, or fields of one.
pub struct RowWriter<'a, 'b> {
    pub w: &'a mut Writer<'b>,
    rows: Rows,
    frame: Value,
    pub lanes: Value,
}

macro_rules! frame {
    ($field:ident) => {
        std::mem::offset_of!(Frame, $field) as i32
    };
}

impl RowWriter<'_, '_> {
    /// A loop over rows: as many as there are, or until one does not fit. Args: `parts` are other functions' fields.
    fn all(&mut self, fields: &[Field], parts: usize, width: usize) {
        let (head, done, not) = (self.w.block(), self.w.block(), self.w.cold_block());
        let at = self.w.b.append_block_param(head, I64);
        let [row, field] = [(); 2].map(|()| self.w.b.append_block_param(not, I64));
        let first = self.w.load(I64, self.frame, frame!(at));
        let shift = self.w.load(I64, self.frame, frame!(shift));
        self.w.b.ins().jump(head, &[first.into()]);

        self.w.b.switch_to_block(head);
        let limit = self.w.load(I64, self.frame, frame!(limit));
        let within = self.w.b.ins().icmp(IntCC::UnsignedLessThan, at, limit);
        self.w.goes_on(within, done, &[]);
        let len = self.w.load(I64, self.frame, frame!(len));
        let len = self.w.load(I64, len, 0);
        let n = self.w.b.ins().iadd(at, shift);
        let within = self.w.b.ins().icmp(IntCC::UnsignedLessThan, n, len);
        self.w.goes_on(within, done, &[]);
        self.fetch(at, 0);
        let items = self.w.load(I64, self.frame, frame!(items));
        let items = self.w.load(I64, items, 0);
        let item = self.w.scaled(items, n, 3);
        let item = self.w.load(I64, item, 0);
        let zero = self.w.number(0);
        if self.rows != Rows::Value {
            let class = self.w.load(I64, item, OB_TYPE);
            let expected = self.w.load(I64, self.frame, frame!(class));
            let fits = self.w.same(class, expected);
            self.w.goes_on(fits, not, &[item.into(), zero.into()]);
        }
        if self.rows == Rows::Tuple {
            let size = self.w.load(I64, item, AFTER_TYPE as i32);
            let fits = self.w.b.ins().icmp_imm(IntCC::Equal, size, width as i64);
            self.w.goes_on(fits, not, &[item.into(), zero.into()]);
        }
        for (n, field) in fields.iter().enumerate() {
            let failed = self.w.cold_block();
            self.field(*field, (n, n), item, at, failed);
            self.w.aside(failed, |w| {
                let n = w.number(n as i64);
                w.b.ins().jump(not, &[item.into(), n.into()]);
            });
        }
        for part in 1..=parts {
            let functions = self.w.load(I64, self.frame, frame!(functions));
            let function = self.w.load(I64, functions, 8 * part as i32);
            let lanes = (part * FIELDS * size_of::<Lane>()) as i64;
            let lanes = self.w.b.ins().iadd_imm(self.lanes, lanes);
            let answer = self
                .w
                .call_at(function, &[self.frame, lanes, item, at], Some(I32));
            let answer = answer.expect("it answers");
            let fits = self.w.b.ins().icmp_imm(IntCC::Equal, answer, i64::from(DONE));
            let field = self.w.b.ins().uextend(I64, answer);
            let field = self.w.b.ins().iadd_imm(field, -1);
            self.w.goes_on(fits, not, &[item.into(), field.into()]);
        }
        if self.rows == Rows::List {
            // Each field has looked whether it is there; the row may have grown.
            let size = self.w.load(I64, item, AFTER_TYPE as i32);
            let fits = self.w.b.ins().icmp_imm(IntCC::Equal, size, width as i64);
            let width = self.w.number(width as i64);
            self.w.goes_on(fits, not, &[item.into(), width.into()]);
        }
        let next = self.w.b.ins().iadd_imm(at, 1);
        self.w.b.ins().jump(head, &[next.into()]);

        self.w.b.switch_to_block(not);
        self.w.store(at, self.frame, frame!(at));
        self.w.store(row, self.frame, frame!(row));
        self.w.store(field, self.frame, frame!(field));
        self.w.answer(NOT);
        self.w.b.switch_to_block(done);
        self.w.store(at, self.frame, frame!(at));
        self.w.answer(DONE);
    }

    /// More fields of a row. Answers one more than the number of the first that does not fit, or that it is done.
    fn part(&mut self, part: usize, fields: &[Field], row: Value, at: Value) {
        self.fetch(at, part);
        for (n, field) in fields.iter().enumerate() {
            let failed = self.w.cold_block();
            let number = part * FIELDS + n;
            self.field(*field, (number, n), row, at, failed);
            self.w.aside(failed, |w| w.answer(number as u32 + 1));
        }
        self.w.answer(DONE);
    }

    fn fetch(&mut self, at: Value, part: usize) {
        let part = self.w.number(part as i64);
        self.w
            .call(fetch as *const () as usize, &[self.frame, at, part], None);
    }

    /// The n-th field of a row. Args: `lane` counts from those given; `failed` is where it does not fit.
    fn field(&mut self, field: Field, (n, lane): (usize, usize), row: Value, at: Value, failed: Block) {
        let o = match self.rows {
            Rows::Value => row,
            Rows::Tuple => self.w.load(I64, row, (AFTER_SIZE + 8 * n) as i32),
            Rows::List => {
                let size = self.w.load(I64, row, AFTER_TYPE as i32);
                let there = self
                    .w
                    .b
                    .ins()
                    .icmp_imm(IntCC::UnsignedGreaterThan, size, n as i64);
                self.w.goes_on(there, failed, &[]);
                let items = self.w.load(I64, row, AFTER_SIZE as i32);
                self.w.load(I64, items, 8 * n as i32)
            }
        };
        let lane = (lane * size_of::<Lane>()) as i32;
        let (next, slow) = (self.w.block(), self.w.cold_block());
        self.value(
            field,
            &Place {
                lane,
                o,
                at,
                next,
                slow,
            },
        );
        self.w.b.switch_to_block(slow);
        let push = match field {
            Field::Other => push_other,
            _ => push_value,
        };
        let lane = self.w.b.ins().iadd_imm(self.lanes, i64::from(lane));
        let given = [self.frame, lane, row, o, at];
        let answer = self.w.call(push as *const () as usize, &given, Some(I32));
        self.w
            .b
            .ins()
            .brif(answer.expect("it answers"), failed, &[], next, &[]);
        self.w.b.switch_to_block(next);
    }
}
