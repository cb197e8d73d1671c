//! The second tier: rows of one kind, of columns of known types, taken by machine code that is made for them.
//!
//! The code does what `push` does with simple values, and calls it for all others; a row that does not fit is left to
//! the encoder. So both tiers write the same bytes.

mod codes;

#[cfg(all(unix, target_arch = "x86_64"))]
mod code;
#[cfg(all(unix, target_arch = "x86_64"))]
mod frame;
#[cfg(all(unix, target_arch = "x86_64"))]
mod lane;
#[cfg(all(unix, target_arch = "x86_64"))]
mod memory;
#[cfg(all(unix, target_arch = "x86_64"))]
mod rows;
#[cfg(all(unix, target_arch = "x86_64"))]
mod values;
#[cfg(all(unix, target_arch = "x86_64"))]
mod writer;

#[cfg(not(all(unix, target_arch = "x86_64")))]
#[path = "no_code.rs"]
mod code;

use pyo3::ffi::PyObject;

use super::column::{Column, Op, Record};
use super::push::Fits;
use super::record::Kind;
pub use code::Code;
pub use codes::{Advice, Codes, Tier};

/// What a row is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rows {
    /// Or of a class that is laid out as one.
    Tuple,
    List,
    /// The value of the only column.
    Value,
}

/// What the code for a column is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Null,
    Bool,
    Int,
    Float,
    Str,
    Coded,
    Bytes,
    Date,
    /// Without a zone.
    DateTime,
    /// Whatever `push` takes.
    Other,
}

/// All that code depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub rows: Rows,
    pub fields: Vec<Field>,
}

impl Key {
    /// None where rows are of a kind that no code is made for.
    pub fn of(top: Option<&Record>, columns: &[Column]) -> Option<Self> {
        let rows = match top.map(|record| record.kind) {
            None => Rows::Value,
            Some(Kind::Tuple | Kind::Named) => Rows::Tuple,
            Some(Kind::List) => Rows::List,
            Some(Kind::Dict | Kind::Data | Kind::Row) => return None,
        };
        let field = |column: &Column| match column.op {
            Op::Null => Field::Null,
            Op::Bool => Field::Bool,
            Op::Int => Field::Int,
            Op::Float => Field::Float,
            Op::Str => Field::Str,
            Op::Coded(_) => Field::Coded,
            Op::Bytes => Field::Bytes,
            Op::Date => Field::Date,
            Op::DateTime => Field::DateTime,
            _ => Field::Other,
        };
        let fields = columns.iter().map(field).collect();
        Some(Self { rows, fields })
    }
}

/// How far code came.
pub struct Taken {
    pub rows: usize,
    /// The row behind these, if it is not whole in the columns. It is the caller's.
    pub odd: Option<(*mut PyObject, Fits)>,
    /// A column has become another, so that the code is none for it.
    pub outdated: bool,
}
