//! What an ORC file says of its columns, in Arrow's types and as Spark takes them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{CalendarKind, Footer, Type};

use crate::error::{Error, Result};
use crate::schema::{SPARK_TYPE, ZONE};

/// Whether days before October 1582 are counted as we do.
pub fn is_proleptic(footer: &Footer) -> bool {
    footer.calendar() == CalendarKind::ProlepticGregorian
}

/// The columns, as Spark takes them: times of TIMESTAMP are moments; those of clocks are its own.
pub fn schema(footer: &Footer, path: &str) -> Result<Schema> {
    match kind(footer, 0) {
        Some(DataType::Struct(fields)) => Ok(Schema::new(fields)),
        Some(other) => Err(Error::Unsupported(format!(
            "{path} holds {other}, and no columns"
        ))),
        None => Err(Error::corrupt(path, "its types are damaged")),
    }
}

fn kind(footer: &Footer, place: usize) -> Option<DataType> {
    let found = footer.types.get(place)?;
    let field = |name: &str, i: usize, nullable| {
        let place = *found.subtypes.get(i)? as usize;
        let field = Field::new(name, kind(footer, place)?, nullable);
        let own = spark_type(&footer.types[place]);
        // One type of Arrow stands for intervals of all units.
        let told = own
            .starts_with("interval")
            .then(|| (SPARK_TYPE.to_string(), own.to_string()));
        Some(field.with_metadata(HashMap::from_iter(told)))
    };
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()));
    Some(match found.kind() {
        Kind::Boolean => DataType::Boolean,
        Kind::Byte => DataType::Int8,
        Kind::Short => DataType::Int16,
        Kind::Int if spark_type(found).starts_with("interval") => DataType::Interval(IntervalUnit::YearMonth),
        Kind::Int => DataType::Int32,
        Kind::Long if spark_type(found).starts_with("interval") => DataType::Duration(TimeUnit::Microsecond),
        Kind::Long if spark_type(found) == "timestamp_ntz" => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        Kind::Long => DataType::Int64,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::String | Kind::Varchar | Kind::Char => DataType::Utf8,
        Kind::Binary => DataType::Binary,
        Kind::Date => DataType::Date32,
        Kind::Timestamp | Kind::TimestampInstant => moment,
        Kind::Decimal => {
            DataType::Decimal128(found.precision().try_into().ok()?, found.scale().try_into().ok()?)
        }
        Kind::List => DataType::List(Arc::new(field("element", 0, true)?)),
        Kind::Map => {
            let pair = vec![field("key", 0, false)?, field("value", 1, true)?];
            let entries = Field::new("entries", DataType::Struct(pair.into()), false);
            DataType::Map(Arc::new(entries), false)
        }
        Kind::Struct => {
            let names = found.field_names.iter().enumerate();
            let fields = names.map(|(i, name)| field(name, i, true));
            DataType::Struct(fields.collect::<Option<Fields>>()?)
        }
        Kind::Union => DataType::Union(
            arrow_schema::UnionFields::empty(),
            arrow_schema::UnionMode::Sparse,
        ),
    })
}

fn spark_type(found: &Type) -> &str {
    let pair = found.attributes.iter().find(|pair| pair.key() == SPARK_TYPE);
    pair.map_or("", |pair| pair.value())
}
