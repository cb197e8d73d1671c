//! Rows into streams.

use std::sync::Arc;

use pyo3::ffi::{self, PyObject};

use super::column::{Column, Op, Record};
use super::error;
use super::fields::schema;
use super::known::Raised;
use super::layout::Access;
use super::machine::{Code, Key};
use super::push::{Context, Fits, MOST_CONTAINERS, push};
use super::push_container::push_record;
use super::shape::Shape;
use super::source::Source;
use super::write_variant;
use crate::rowcodec::wire::BatchWriter;
use crate::rowcodec::wire::codec::Codec;
use crate::rowcodec::wire::message::{END, Out, Room, put_framed};
use crate::rowcodec::wire::schema::FIELDS;

/// Rows of a batch.
pub const BATCH: usize = 16_384;
/// A batch is written when it has so many bytes.
const BATCH_BYTES: usize = 32 << 20;
/// After so many rows it is looked at how many bytes there are.
const LOOK: usize = 256;
const FETCH: usize = 12;
/// Of so many rows one may be of another shape before a shape for all is looked for.
pub const TOLERATED: usize = 16;
/// What an encoder that is kept for the next rows may hold.
const KEPT_BYTES: usize = 48 << 20;

/// Columns for rows of one shape, and the stream that they are written to.
pub struct Encoder {
    pub shape: Shape,
    /// None where a row is no record, and stands in the only column.
    top: Option<Record>,
    columns: Vec<Column>,
    /// Rows that do not fit into the columns.
    rest: Column,
    pub rest_rows: usize,
    pub rows: usize,
    /// Whether a stream was begun, and what its schema depends on.
    open: bool,
    signature: Vec<u8>,
    rest_in_stream: bool,
    /// The schema that was written last, by its signature.
    schema: (Vec<u8>, Vec<u8>),
    room: Room,
    /// A column has got a type that is not in the shape.
    pub retyped: bool,
    /// Fields that columns of None may have yet when they get a type.
    fields: usize,
}

impl Encoder {
    pub fn new(shape: Shape, coding: bool) -> Self {
        let shape = shape.bounded();
        let fields = FIELDS - shape.fields();
        let whole = Column::new(&shape, coding);
        let (top, columns) = match whole.op {
            Op::Record(record) => (Some(*record), whole.kids),
            _ => (None, vec![whole]),
        };
        Self {
            shape,
            top,
            columns,
            rest: Column::new(&Shape::Variant, false),
            rest_rows: 0,
            rows: 0,
            open: false,
            signature: Vec::new(),
            rest_in_stream: false,
            schema: Default::default(),
            room: Room::default(),
            retyped: false,
            fields,
        }
    }

    pub fn capacity(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::capacity).sum();
        columns + self.rest.capacity() + self.room.capacity()
    }

    pub fn can_be_kept(&self) -> bool {
        !self.retyped && self.capacity() <= KEPT_BYTES
    }

    /// As new, but with the room that it had; None where that is too much to be kept.
    pub fn reset(mut self, coding: bool) -> Option<Self> {
        if !self.can_be_kept() {
            return None;
        }
        self.columns.iter_mut().for_each(|column| column.reset(coding));
        self.rest.reset(false);
        (self.rest_rows, self.rows, self.open, self.rest_in_stream) = (0, 0, false, false);
        Some(self)
    }

    /// Have integers be as wide as those that another one of this shape has taken.
    pub fn expect(&mut self, other: &Encoder) {
        let pairs = self.columns.iter_mut().zip(&other.columns);
        pairs.for_each(|(column, other)| column.expect(other));
    }

    /// So many rows are all that there will be.
    pub fn expect_rows(&mut self, rows: usize) {
        self.columns
            .iter_mut()
            .for_each(|column| column.expect_values(rows));
    }

    /// About how many bytes the rows that were taken are in the stream.
    pub fn wire_size(&mut self) -> usize {
        let signature = self.settle();
        let columns: usize = self.columns.iter().map(Column::wire_size).sum();
        let size = columns + self.rest.size();
        // Besides, the schema, and what tells of each array.
        size + size / 16 + 512 * signature.len()
    }

    /// Whether the rows that were taken can follow in the stream that was begun.
    pub fn fits_stream(&mut self) -> bool {
        !self.open || self.settle() == self.signature
    }

    /// Begin again, with what was learnt of the columns.
    pub fn restart(&mut self) {
        self.columns.iter_mut().for_each(Column::restart);
        self.forget();
        self.open = false;
    }

    /// Go on with the rows that follow.
    pub fn forget(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.rest.clear();
        (self.rows, self.rest_rows) = (0, 0);
    }

    /// Have this encoder's rows written to the stream that another has begun.
    pub fn follow(&mut self, before: &Encoder, out: &mut impl Out) {
        if before.open {
            out.put(&END);
        }
    }

    /// Take rows from a source, as many as go into a batch; gives the first that it did not take.
    ///
    /// Safety: the source is held, and Python's lock is, too.
    pub unsafe fn take<A: Access>(
        &mut self,
        source: &Source,
        from: usize,
        context: &mut Context<'_, '_>,
    ) -> Result<usize, Raised> {
        let mut n = from;
        let mut code = self.code::<A>(unsafe { source.len::<A>() }.saturating_sub(n), context);
        while self.rows < BATCH && n < unsafe { source.len::<A>() } {
            let (taken, room) = match code.clone() {
                None => unsafe { self.take_row::<A>(source, n, context) }?,
                Some(made) => unsafe { self.take_block::<A>(&mut code, &made, source, n, context) }?,
            };
            n += taken;
            if !room || self.rows.is_multiple_of(LOOK) && self.is_large() {
                break;
            }
        }
        Ok(n)
    }

    /// The rows taken, one at most, and whether there may be room for more.
    #[inline(always)]
    unsafe fn take_row<A: Access>(
        &mut self,
        source: &Source,
        n: usize,
        context: &mut Context<'_, '_>,
    ) -> Result<(usize, bool), Raised> {
        let row = unsafe {
            if n + FETCH < source.len::<A>() {
                A::prefetch(source.item::<A>(n + FETCH));
                A::prefetch_items(source.item::<A>(n + FETCH / 2));
            }
            let row = source.item::<A>(n);
            ffi::Py_INCREF(row);
            row
        };
        let pushed = unsafe { self.push::<A>(row, context) };
        unsafe { ffi::Py_DECREF(row) };
        pushed.map(|pushed| (usize::from(pushed), pushed))
    }

    /// As `take_row`, up to where it is looked at how many bytes there are.
    #[inline(never)]
    unsafe fn take_block<A: Access>(
        &mut self,
        code: &mut Option<Arc<Code>>,
        made: &Code,
        source: &Source,
        n: usize,
        context: &mut Context<'_, '_>,
    ) -> Result<(usize, bool), Raised> {
        let block = (self.rows, (self.rows + 1).next_multiple_of(LOOK));
        context.room = self.fields;
        let taken = unsafe { made.take(self.top.as_ref(), &mut self.columns, source, n, block, context) };
        self.fields = context.room;
        self.rows += taken.rows;
        context.machine_rows += taken.rows;
        if taken.outdated {
            let more = unsafe { source.len::<A>() }.saturating_sub(n + taken.rows);
            *code = self.code::<A>(more, context);
        }
        let Some((row, fits)) = taken.odd else {
            return Ok((taken.rows, true));
        };
        let pushed = unsafe { self.push_rest::<A>(fits, row, context) };
        unsafe { ffi::Py_DECREF(row) };
        pushed.map(|pushed| (taken.rows + usize::from(pushed), pushed))
    }

    /// Code for the rows that follow, of which there are so many, where there is some or it is time to make it.
    fn code<A: Access>(&self, rows: usize, context: &Context<'_, '_>) -> Option<Arc<Code>> {
        let rows = rows.min(BATCH - self.rows);
        if !A::DIRECT || !context.tier.may_run(rows) {
            return None;
        }
        let key = Key::of(self.top.as_ref(), &self.columns)?;
        super::state(context.py).code(key, rows, context.tier)
    }

    pub fn is_large(&mut self) -> bool {
        self.columns.iter_mut().map(Column::size).sum::<usize>() + self.rest.size() > BATCH_BYTES
    }

    /// Add a row; false where the batch has no room for it. After an error the row is not there.
    pub unsafe fn push<A: Access>(
        &mut self,
        row: *mut PyObject,
        context: &mut Context<'_, '_>,
    ) -> Result<bool, Raised> {
        (context.left, context.room) = (MOST_CONTAINERS, self.fields);
        let pushed = unsafe { self.push_columns::<A>(row, context) };
        self.fields = context.room;
        match pushed {
            Ok(true) => {
                self.rows += 1;
                context.row += 1;
                Ok(true)
            }
            other => unsafe { self.push_rest::<A>(other, row, context) },
        }
    }

    #[inline(always)]
    unsafe fn push_columns<A: Access>(&mut self, row: *mut PyObject, context: &mut Context<'_, '_>) -> Fits {
        match &self.top {
            Some(record) => unsafe { push_record::<A>(record, &mut self.columns, row, context) },
            None => unsafe { push::<A>(&mut self.columns[0], row, context) },
        }
    }

    #[cold]
    unsafe fn push_rest<A: Access>(
        &mut self,
        fits: Fits,
        row: *mut PyObject,
        context: &mut Context<'_, '_>,
    ) -> Result<bool, Raised> {
        self.columns
            .iter_mut()
            .for_each(|column| column.truncate(self.rows));
        fits?;
        let (full, beyond) = (
            std::mem::take(&mut context.full),
            std::mem::take(&mut context.beyond),
        );
        // Alone in a batch, what a column counts too many of may stand beside the columns.
        if !full || self.rows == 0 && !beyond {
            context.left = MOST_CONTAINERS;
            while self.rest.len < self.rows {
                self.rest.push_null();
            }
            write_variant::write_row::<A>(context, row, &mut self.rest.bytes).inspect_err(|_| {
                self.rest
                    .bytes
                    .truncate(self.rest.offsets[self.rest.len] as usize);
            })?;
            if let Ok(end) = i32::try_from(self.rest.bytes.len()) {
                self.rest.offsets.push(end);
                self.rest.len += 1;
                self.columns.iter_mut().for_each(Column::push_null);
                self.rows += 1;
                self.rest_rows += 1;
                context.row += 1;
                return Ok(true);
            }
            self.rest
                .bytes
                .truncate(self.rest.offsets[self.rest.len] as usize);
        }
        if self.rows == 0 {
            let what = format!(
                "row {} has more than a batch can hold, which are 2 GiB of a column",
                context.row
            );
            return Err(Raised::set(context.py, error::too_large(what)));
        }
        Ok(false)
    }

    /// Write the rows as a batch; before it a schema, where the stream has none or another.
    pub fn flush(&mut self, out: &mut impl Out, codec: Option<Codec>) {
        if self.rows == 0 {
            return;
        }
        let signature = self.settle();
        if !self.open || signature != self.signature {
            if self.open {
                out.put(&END);
            }
            self.begin(out, signature);
        }
        let mut room = std::mem::take(&mut self.room);
        for column in &mut self.columns {
            column.dictionaries(&mut |coded| {
                let sent = coded.sent.replace(coded.len());
                if sent == Some(coded.len()) {
                    return;
                }
                let mut batch = BatchWriter::new(std::mem::take(&mut room));
                coded.texts(sent.unwrap_or(0), &mut batch);
                let values = coded.len() - sent.unwrap_or(0);
                room = batch.write_dictionary(out, values, codec, coded.id, sent.is_some());
            });
        }
        if self.rest_in_stream {
            while self.rest.len < self.rows {
                self.rest.push_null();
            }
            self.rest.settle(&mut Vec::new());
        }
        let mut batch = BatchWriter::new(room);
        self.columns.iter().for_each(|column| column.arrays(&mut batch));
        if self.rest_in_stream {
            self.rest.arrays(&mut batch);
        }
        self.room = batch.write_batch(out, self.rows, codec);
        self.forget();
    }

    /// Find what the stream of the rows so far needs; gives what its schema depends on.
    pub fn settle(&mut self) -> Vec<u8> {
        let mut signature = Vec::with_capacity(self.columns.len() + 1);
        self.columns
            .iter_mut()
            .for_each(|column| column.settle(&mut signature));
        self.rest_in_stream |= self.rest_rows > 0;
        signature.push(u8::from(self.rest_in_stream));
        signature
    }

    fn begin(&mut self, out: &mut impl Out, signature: Vec<u8>) {
        let mut ids = 0;
        for column in &mut self.columns {
            column.begin_stream();
            column.dictionaries(&mut |coded| {
                coded.id = ids;
                ids += 1;
            });
        }
        if self.retyped || self.schema.0 != signature {
            let schema = schema(self.top.as_ref(), &self.columns, self.rest_in_stream);
            self.schema = (signature.clone(), schema.write());
        }
        put_framed(out, &self.schema.1);
        self.signature = signature;
        self.open = true;
    }

    /// Write what is left, and end the stream; one without rows has a schema all the same.
    pub fn finish(&mut self, out: &mut impl Out, codec: Option<Codec>) {
        self.flush(out, codec);
        if !self.open {
            let signature = self.settle();
            self.begin(out, signature);
        }
        out.put(&END);
        self.open = false;
    }
}
