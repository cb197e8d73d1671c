//! One value of a column, as filters compare it.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};

/// A value, in Spark's order of its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Boolean(bool),
    /// Numbers without fractions, and days, microseconds, and decimals in units of their last digit.
    Whole(i128),
    /// NaN is equal to NaN and above all other numbers, and -0.0 is 0.0.
    Floating(f64),
    /// Also text, whose order is that of its bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// A value of a type, as `Filters.scala` writes it; none if it is no value of that type.
    pub fn parse(text: &str, kind: &DataType) -> Option<Value> {
        Some(match kind {
            DataType::Boolean => Value::Boolean(text.parse().ok()?),
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                Value::Whole(text.parse().ok()?)
            }
            DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Value::Whole(text.parse().ok()?)
            }
            DataType::Decimal128(_, scale) => Value::Whole(unscaled(text, usize::try_from(*scale).ok()?)?),
            // Of 32 bits to 64: the shortest text of one is not that of the other.
            DataType::Float32 => Value::Floating(text.parse::<f32>().ok()?.into()),
            DataType::Float64 => Value::Floating(text.parse().ok()?),
            DataType::Utf8 => Value::Bytes(text.as_bytes().to_vec()),
            DataType::Binary => {
                let digits = text.as_bytes().chunks(2).map(std::str::from_utf8);
                let bytes = digits.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok());
                Value::Bytes(bytes.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    /// The value in a row of an array of Spark's types; none if it is null, or its type has no order here.
    pub fn of(array: &dyn Array, row: usize) -> Option<Value> {
        fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
            array.as_primitive::<T>().value(row)
        }
        if array.is_null(row) {
            return None;
        }
        Some(match array.data_type() {
            DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
            DataType::Int8 => Value::Whole(at::<Int8Type>(array, row).into()),
            DataType::Int16 => Value::Whole(at::<Int16Type>(array, row).into()),
            DataType::Int32 => Value::Whole(at::<Int32Type>(array, row).into()),
            DataType::Int64 => Value::Whole(at::<Int64Type>(array, row).into()),
            DataType::Date32 => Value::Whole(at::<Date32Type>(array, row).into()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Value::Whole(at::<TimestampMicrosecondType>(array, row).into())
            }
            DataType::Decimal128(..) => Value::Whole(at::<Decimal128Type>(array, row)),
            DataType::Float32 => Value::Floating(at::<Float32Type>(array, row).into()),
            DataType::Float64 => Value::Floating(at::<Float64Type>(array, row)),
            DataType::Utf8 => Value::Bytes(array.as_string::<i32>().value(row).into()),
            DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).into()),
            _ => return None,
        })
    }

    pub fn is_nan(&self) -> bool {
        matches!(self, Value::Floating(value) if value.is_nan())
    }

    /// The order of two values of one type.
    pub fn compared(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Boolean(one), Value::Boolean(other)) => one.cmp(other),
            (Value::Whole(one), Value::Whole(other)) => one.cmp(other),
            (Value::Floating(one), Value::Floating(other)) => one
                .partial_cmp(other)
                .unwrap_or_else(|| one.is_nan().cmp(&other.is_nan())),
            (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
            _ => unreachable!("values of one column are of one type"),
        }
    }
}

/// A decimal in units of its last digit; none if it has more digits behind the point than `scale`.
fn unscaled(text: &str, scale: usize) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale {
        return None;
    }
    format!("{whole}{fraction:0<scale$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str, kind: DataType) -> Option<i128> {
        match Value::parse(text, &kind)? {
            Value::Whole(value) => Some(value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn decimals_are_counted_in_their_last_digit() {
        let kind = DataType::Decimal128(10, 3);
        assert_eq!(whole("-1.25", kind.clone()), Some(-1250));
        assert_eq!(whole("-0.5", kind.clone()), Some(-500));
        assert_eq!(whole("7", kind.clone()), Some(7000));
        assert_eq!(whole("0.1000", kind.clone()), Some(100));
        assert_eq!(whole("0.0001", kind), None);
        assert_eq!(
            whole(&"9".repeat(38), DataType::Decimal128(38, 0)),
            Some(10_i128.pow(38) - 1)
        );
        assert_eq!(whole(&"9".repeat(38), DataType::Decimal128(38, 2)), None);
    }

    #[test]
    fn nan_is_above_all_and_zero_has_no_sign() {
        let value = |value| Value::Floating(value);
        assert_eq!(value(f64::NAN).compared(&value(f64::INFINITY)), Ordering::Greater);
        assert_eq!(value(1.0).compared(&value(f64::NAN)), Ordering::Less);
        assert_eq!(value(f64::NAN).compared(&value(-f64::NAN)), Ordering::Equal);
        assert_eq!(value(-0.0).compared(&value(0.0)), Ordering::Equal);
    }

    #[test]
    fn bytes_are_written_in_hexadecimal() {
        assert_eq!(
            Value::parse("00ff1a", &DataType::Binary),
            Some(Value::Bytes(vec![0, 255, 26]))
        );
        assert_eq!(Value::parse("0g", &DataType::Binary), None);
        assert_eq!(
            Value::parse("", &DataType::Binary),
            Some(Value::Bytes(Vec::new()))
        );
    }
}
