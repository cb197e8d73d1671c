//! The scalars of numpy that Arrow has types for.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::known::{Known, NUMPY};
use crate::rowcodec::wire::{Column, Data, Type};

pub fn width(index: u8) -> usize {
    match index {
        0 | 1 | 5 => 1,
        2 | 6 | 9 => 2,
        3 | 7 | 10 => 4,
        _ => 8,
    }
}

pub fn type_of(index: u8) -> Type {
    let bits = 8 * width(index) as u8;
    match index {
        0 => Type::Bool,
        1..=4 => Type::Int { bits, signed: true },
        5..=8 => Type::Int { bits, signed: false },
        _ => Type::Float { bits },
    }
}

/// Which of `known::NUMPY` has an Arrow type.
pub fn index_of(ty: &Type) -> Option<u8> {
    (0..12).find(|index| type_of(*index) == *ty)
}

/// A view of a column's values.
pub fn array(py: Python<'_>, known: &Known, index: u8, column: &Column<'_>) -> PyResult<Py<PyAny>> {
    let numpy = known.numpy(py)?;
    let bytes = match &column.data {
        Data::Bits(bits) => (0..column.len).map(|n| bits[n / 8] >> (n % 8) & 1).collect(),
        Data::Fixed { width, bytes } => bytes[..width * column.len].to_vec(),
        _ => Vec::new(),
    };
    debug_assert!(usize::from(index) < NUMPY.len());
    numpy.frombuffer.call1(
        py,
        (
            PyBytes::new(py, &bytes),
            numpy.dtypes[usize::from(index)].clone_ref(py),
        ),
    )
}
