//! Columns of plain values in the wider types that Spark asked for.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};

const DAY_MILLIS: i64 = 86_400_000;

/// A column of plain values in a wider type; None if a value does not fit, which the check of types has ruled out.
pub fn widened(found: &ArrayRef, asked: &DataType) -> Option<ArrayRef> {
    use DataType::*;
    Some(match (found.data_type(), asked) {
        (same, _) if same == asked => found.clone(),
        (Int8, Int16) => lossless::<Int8Type, Int16Type>(found),
        (Int8, Int32) => lossless::<Int8Type, Int32Type>(found),
        (Int8, Int64) => lossless::<Int8Type, Int64Type>(found),
        (Int16, Int32) => lossless::<Int16Type, Int32Type>(found),
        (Int16, Int64) => lossless::<Int16Type, Int64Type>(found),
        (Int32, Int64) => lossless::<Int32Type, Int64Type>(found),
        (UInt8, Int16) => lossless::<UInt8Type, Int16Type>(found),
        (UInt8, Int32) => lossless::<UInt8Type, Int32Type>(found),
        (UInt8, Int64) => lossless::<UInt8Type, Int64Type>(found),
        (UInt16, Int32) => lossless::<UInt16Type, Int32Type>(found),
        (UInt16, Int64) => lossless::<UInt16Type, Int64Type>(found),
        (UInt32, Int64) => lossless::<UInt32Type, Int64Type>(found),
        (Int8, Float64) => lossless::<Int8Type, Float64Type>(found),
        (Int16, Float64) => lossless::<Int16Type, Float64Type>(found),
        (Int32, Float64) => lossless::<Int32Type, Float64Type>(found),
        (UInt8, Float64) => lossless::<UInt8Type, Float64Type>(found),
        (UInt16, Float64) => lossless::<UInt16Type, Float64Type>(found),
        (Float32, Float64) => lossless::<Float32Type, Float64Type>(found),
        (Float16, Float32) => Arc::new(
            found
                .as_primitive::<Float16Type>()
                .unary::<_, Float32Type>(|v| v.to_f32()),
        ),
        (Float16, Float64) => Arc::new(
            found
                .as_primitive::<Float16Type>()
                .unary::<_, Float64Type>(|v| v.to_f64()),
        ),
        (UInt64, Decimal128(..)) => decimal(found.as_primitive::<UInt64Type>(), 0, asked)?,
        (Decimal32(_, scale), Decimal128(..)) => {
            decimal(found.as_primitive::<Decimal32Type>(), *scale, asked)?
        }
        (Decimal64(_, scale), Decimal128(..)) => {
            decimal(found.as_primitive::<Decimal64Type>(), *scale, asked)?
        }
        (Decimal128(_, scale), Decimal128(..)) => {
            decimal(found.as_primitive::<Decimal128Type>(), *scale, asked)?
        }
        (Timestamp(unit, _), Timestamp(_, zone)) => {
            let moments = match unit {
                TimeUnit::Second => {
                    micros::<_, TimestampMicrosecondType>(found.as_primitive::<TimestampSecondType>(), |v| {
                        v.checked_mul(1_000_000)
                    })
                }
                TimeUnit::Millisecond => micros(found.as_primitive::<TimestampMillisecondType>(), |v| {
                    v.checked_mul(1_000)
                }),
                TimeUnit::Microsecond => micros(found.as_primitive::<TimestampMicrosecondType>(), Some),
                TimeUnit::Nanosecond => micros(found.as_primitive::<TimestampNanosecondType>(), |v| {
                    Some(v.div_euclid(1_000))
                }),
            };
            Arc::new(moments?.with_timezone_opt(zone.clone()))
        }
        (Int64, Duration(_)) => Arc::new(
            found
                .as_primitive::<Int64Type>()
                .reinterpret_cast::<DurationMicrosecondType>(),
        ),
        (Int32, Interval(_)) => Arc::new(
            found
                .as_primitive::<Int32Type>()
                .reinterpret_cast::<IntervalYearMonthType>(),
        ),
        (Date64, Date32) => Arc::new(
            found
                .as_primitive::<Date64Type>()
                .try_unary::<_, Date32Type, _>(|v| {
                    i32::try_from(v.div_euclid(DAY_MILLIS)).map_err(|_| overflow())
                })
                .ok()?,
        ),
        (Duration(unit), Duration(_)) => Arc::new(match unit {
            TimeUnit::Second => {
                micros::<_, DurationMicrosecondType>(found.as_primitive::<DurationSecondType>(), |v| {
                    v.checked_mul(1_000_000)
                })
            }
            TimeUnit::Millisecond => micros(found.as_primitive::<DurationMillisecondType>(), |v| {
                v.checked_mul(1_000)
            }),
            TimeUnit::Microsecond => micros(found.as_primitive::<DurationMicrosecondType>(), Some),
            TimeUnit::Nanosecond => micros(found.as_primitive::<DurationNanosecondType>(), |v| {
                Some(v.div_euclid(1_000))
            }),
        }?),
        _ => return None,
    })
}

fn lossless<F, T>(found: &ArrayRef) -> ArrayRef
where
    F: ArrowPrimitiveType,
    T: ArrowPrimitiveType,
    T::Native: From<F::Native>,
{
    Arc::new(found.as_primitive::<F>().unary::<_, T>(T::Native::from))
}

fn decimal<F>(found: &PrimitiveArray<F>, scale: i8, asked: &DataType) -> Option<ArrayRef>
where
    F: ArrowPrimitiveType,
    i128: From<F::Native>,
{
    let DataType::Decimal128(precision, to) = asked else {
        return None;
    };
    let factor = 10_i128.checked_pow(u32::try_from(to - scale).ok()?)?;
    let values = found
        .try_unary::<_, Decimal128Type, _>(|value| i128::from(value).mul_checked(factor))
        .ok()?;
    Some(Arc::new(values.with_precision_and_scale(*precision, *to).ok()?))
}

fn micros<F, T>(found: &PrimitiveArray<F>, turn: impl Fn(i64) -> Option<i64>) -> Option<PrimitiveArray<T>>
where
    F: ArrowPrimitiveType<Native = i64>,
    T: ArrowPrimitiveType<Native = i64>,
{
    let turned = |value| turn(value).ok_or_else(overflow);
    found.try_unary::<_, T, _>(turned).ok()
}

fn overflow() -> ArrowError {
    ArrowError::ArithmeticOverflow(String::new())
}
