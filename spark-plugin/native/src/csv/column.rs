//! A column of Arrow, filled with values of text.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};

use super::dialect::Dialect;
use super::number;
use super::rows::Rows;
use super::time::{self, Wrong};

enum Values {
    Boolean(BooleanBuilder),
    Byte(PrimitiveBuilder<Int8Type>),
    Short(PrimitiveBuilder<Int16Type>),
    Integer(PrimitiveBuilder<Int32Type>),
    Long(PrimitiveBuilder<Int64Type>),
    Float(PrimitiveBuilder<Float32Type>),
    Double(PrimitiveBuilder<Float64Type>),
    Decimal(PrimitiveBuilder<Decimal128Type>, u8, i8),
    Date(PrimitiveBuilder<Date32Type>),
    Moment(PrimitiveBuilder<TimestampMicrosecondType>),
    Clock(PrimitiveBuilder<TimestampMicrosecondType>),
    Text(StringBuilder),
    Binary(BinaryBuilder),
}

/// A value that is none of its column's type.
pub struct Fault {
    pub row: usize,
    pub wrong: Wrong,
}

pub struct Column(Values);

/// What values are taken from.
pub struct Given<'a> {
    pub rows: &'a Rows,
    pub text: &'a [u8],
    /// Whether the text is UTF-8 throughout.
    pub utf8: bool,
    pub dialect: &'a Dialect,
}

impl Column {
    /// None if CSV holds no values of this type.
    pub fn new(kind: &DataType) -> Option<Self> {
        Some(Column(match kind {
            DataType::Boolean => Values::Boolean(BooleanBuilder::new()),
            DataType::Int8 => Values::Byte(builder(kind)),
            DataType::Int16 => Values::Short(builder(kind)),
            DataType::Int32 => Values::Integer(builder(kind)),
            DataType::Int64 => Values::Long(builder(kind)),
            DataType::Float32 => Values::Float(builder(kind)),
            DataType::Float64 => Values::Double(builder(kind)),
            DataType::Decimal128(precision, scale) => Values::Decimal(builder(kind), *precision, *scale),
            DataType::Date32 => Values::Date(builder(kind)),
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => Values::Moment(builder(kind)),
            DataType::Timestamp(TimeUnit::Microsecond, None) => Values::Clock(builder(kind)),
            DataType::Utf8 => Values::Text(StringBuilder::new()),
            DataType::Binary => Values::Binary(BinaryBuilder::new()),
            _ => return None,
        }))
    }

    /// Adds the values of some rows; what is none of the type is null, and comes back.
    pub fn extend(&mut self, given: &Given, column: usize) -> Vec<Fault> {
        let dialect = given.dialect;
        match &mut self.0 {
            Values::Byte(to) => fill(to, given, column, number::whole),
            Values::Short(to) => fill(to, given, column, number::whole),
            Values::Integer(to) => fill(to, given, column, number::whole),
            Values::Long(to) => fill(to, given, column, number::whole),
            Values::Float(to) => fill(to, given, column, |text| number::single(text, dialect)),
            Values::Double(to) => fill(to, given, column, |text| number::double(text, dialect)),
            Values::Decimal(to, precision, scale) => fill(to, given, column, |text| {
                number::decimal(text, *precision, *scale)
            }),
            Values::Date(to) if dialect.strict_dates => fill(to, given, column, time::iso_date),
            Values::Date(to) => fill(to, given, column, time::date),
            Values::Moment(to) => each(given, column, |text| {
                append(to, text, |text| {
                    time::moment(text, &dialect.zone, &dialect.zone_names)
                })
            }),
            Values::Clock(to) => fill(to, given, column, time::clock),
            Values::Boolean(to) => each(given, column, |text| {
                let found = text.map(number::boolean);
                to.append_option(found.flatten());
                if found == Some(None) {
                    Err(Wrong::Malformed)
                } else {
                    Ok(())
                }
            }),
            Values::Text(to) => each(given, column, |text| {
                match text {
                    // SAFETY: between delimiters, which are ASCII, text is UTF-8 if it is so as a whole.
                    Some(text) if given.utf8 => {
                        to.append_value(unsafe { std::str::from_utf8_unchecked(text) })
                    }
                    text => to.append_option(text.map(String::from_utf8_lossy)),
                }
                Ok(())
            }),
            Values::Binary(to) => each(given, column, |text| {
                to.append_option(text.map(|text| String::from_utf8_lossy(text).into_owned()));
                Ok(())
            }),
        }
    }

    /// Adds texts to a column of them.
    pub fn push(&mut self, text: Option<Cow<str>>) {
        if let Values::Text(to) = &mut self.0 {
            to.append_option(text);
        }
    }

    /// Bytes of values that differ in length.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Values::Text(to) => to.values_slice().len(),
            Values::Binary(to) => to.values_slice().len(),
            _ => 0,
        }
    }

    /// The values; none is left.
    pub fn finish(&mut self) -> ArrayRef {
        match &mut self.0 {
            Values::Boolean(values) => Arc::new(values.finish()),
            Values::Byte(values) => Arc::new(values.finish()),
            Values::Short(values) => Arc::new(values.finish()),
            Values::Integer(values) => Arc::new(values.finish()),
            Values::Long(values) => Arc::new(values.finish()),
            Values::Float(values) => Arc::new(values.finish()),
            Values::Double(values) => Arc::new(values.finish()),
            Values::Decimal(values, ..) => Arc::new(values.finish()),
            Values::Date(values) => Arc::new(values.finish()),
            Values::Moment(values) => Arc::new(values.finish()),
            Values::Clock(values) => Arc::new(values.finish()),
            Values::Text(values) => Arc::new(values.finish()),
            Values::Binary(values) => Arc::new(values.finish()),
        }
    }
}

fn builder<T: ArrowPrimitiveType>(kind: &DataType) -> PrimitiveBuilder<T> {
    PrimitiveBuilder::new().with_data_type(kind.clone())
}

fn fill<T: ArrowPrimitiveType>(
    to: &mut PrimitiveBuilder<T>,
    given: &Given,
    column: usize,
    parse: impl Fn(&[u8]) -> Option<T::Native>,
) -> Vec<Fault> {
    each(given, column, |text| {
        append(to, text, |text| parse(text).ok_or(Wrong::Malformed))
    })
}

#[inline(always)]
fn append<T: ArrowPrimitiveType>(
    to: &mut PrimitiveBuilder<T>,
    text: Option<&[u8]>,
    parse: impl Fn(&[u8]) -> Result<T::Native, Wrong>,
) -> Result<(), Wrong> {
    match text.map(parse) {
        Some(Ok(value)) => to.append_value(value),
        None => to.append_null(),
        Some(Err(wrong)) => {
            to.append_null();
            return Err(wrong);
        }
    }
    Ok(())
}

#[inline(always)]
fn each(given: &Given, column: usize, mut add: impl FnMut(Option<&[u8]>) -> Result<(), Wrong>) -> Vec<Fault> {
    let null = given.dialect.null_value.as_bytes();
    let mut faults = Vec::new();
    for row in 0..given.rows.len() {
        let value = given
            .rows
            .value(given.text, row, column)
            .filter(|value| *value != null);
        if let Err(wrong) = add(value) {
            faults.push(Fault { row, wrong });
        }
    }
    faults
}
