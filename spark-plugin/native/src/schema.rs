//! Schemas of Arrow in the words of Spark, and back: the JSON of `StructType.json`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// Digits that Spark's decimals have at most.
const MAX_PRECISION: u8 = 38;

/// The zone that Spark's timestamps are of, which are moments.
pub const ZONE: &str = "UTC";

/// Under this name a field keeps Spark's own name of its type, where that says more than Arrow's.
pub const SPARK_TYPE: &str = "spark.sql.catalyst.type";

/// What Spark calls the columns of a file.
///
/// # Errors
/// Unsupported: a column is of a type that Spark has not.
pub fn to_json(schema: &Schema, path: &str) -> Result<Value> {
    struct_json(schema.fields(), path, "")
}

/// The Arrow types that Spark's vectors are laid over, for a schema that Spark asks for.
pub fn from_json(value: &Value) -> Result<Schema> {
    Ok(Schema::new(struct_fields(value)?))
}

/// What Spark calls a type, as its SQL writes it; of what Spark has not, what Arrow calls it.
pub fn type_name(kind: &DataType) -> String {
    type_json(kind, "", "").map_or_else(|_| kind.to_string(), |json| sql(&json))
}

fn sql(kind: &Value) -> String {
    let part = |name: &str| sql(&kind[name]);
    match kind["type"].as_str() {
        Some("array") => format!("ARRAY<{}>", part("elementType")),
        Some("map") => format!("MAP<{}, {}>", part("keyType"), part("valueType")),
        Some(_) => {
            let fields = kind["fields"].as_array().into_iter().flatten();
            let fields = fields.map(|field| {
                let name = field["name"].as_str().unwrap_or_default();
                format!("{name}: {}", sql(&field["type"]))
            });
            format!("STRUCT<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        None => match kind.as_str().unwrap_or_default() {
            "byte" => "TINYINT".into(),
            "short" => "SMALLINT".into(),
            "integer" => "INT".into(),
            "long" => "BIGINT".into(),
            name => name.to_uppercase(),
        },
    }
}

fn struct_json(fields: &Fields, path: &str, within: &str) -> Result<Value> {
    let fields = fields
        .iter()
        .map(|field| {
            let name = format!("{within}{}", field.name());
            let kind = field_json(field, path, &name)?;
            Ok(json!({"name": field.name(), "type": kind, "nullable": true, "metadata": {}}))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({"type": "struct", "fields": fields}))
}

fn field_json(field: &Field, path: &str, name: &str) -> Result<Value> {
    match field.metadata().get(SPARK_TYPE) {
        Some(own) => Ok(json!(own)),
        None => type_json(field.data_type(), path, name),
    }
}

fn type_json(kind: &DataType, path: &str, name: &str) -> Result<Value> {
    Ok(match kind {
        DataType::Boolean => json!("boolean"),
        DataType::Int8 => json!("byte"),
        DataType::Int16 | DataType::UInt8 => json!("short"),
        DataType::Int32 | DataType::UInt16 => json!("integer"),
        DataType::Int64 | DataType::UInt32 => json!("long"),
        DataType::UInt64 => json!("decimal(20,0)"),
        DataType::Float16 | DataType::Float32 => json!("float"),
        DataType::Float64 => json!("double"),
        DataType::Null => json!("void"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => json!("string"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            json!("binary")
        }
        DataType::Date32 | DataType::Date64 => json!("date"),
        DataType::Duration(_) => json!("interval day to second"),
        DataType::Interval(IntervalUnit::YearMonth) => json!("interval year to month"),
        DataType::Timestamp(_, Some(_)) => json!("timestamp"),
        DataType::Timestamp(_, None) => json!("timestamp_ntz"),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if *precision <= MAX_PRECISION && *scale >= 0 =>
        {
            json!(format!("decimal({precision},{scale})"))
        }
        DataType::Dictionary(_, value) => type_json(value, path, name)?,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let element = field_json(item, path, &format!("{name}.element"))?;
            json!({"type": "array", "elementType": element, "containsNull": true})
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                let key = field_json(&pair[0], path, &format!("{name}.key"))?;
                let value = field_json(&pair[1], path, &format!("{name}.value"))?;
                json!({"type": "map", "keyType": key, "valueType": value, "valueContainsNull": true})
            }
            _ => return Err(foreign(kind, path, name)),
        },
        DataType::Struct(fields) => struct_json(fields, path, &format!("{name}."))?,
        _ => return Err(foreign(kind, path, name)),
    })
}

fn foreign(kind: &DataType, path: &str, name: &str) -> Error {
    Error::Unsupported(format!(
        "the column '{name}' of {path} is of the type {kind}, which Spark has not"
    ))
}

fn struct_fields(value: &Value) -> Result<Fields> {
    let fields = value["fields"].as_array().ok_or_else(|| unknown(value))?;
    fields
        .iter()
        .map(|field| {
            let name = field["name"].as_str().ok_or_else(|| unknown(field))?;
            Ok(Field::new(name, arrow_type(&field["type"])?, true))
        })
        .collect()
}

/// The parts of a `VARIANT`. Neither is ever null, by which it is told from a struct, whose fields all can be.
fn variant_fields() -> Fields {
    let part = |name| Field::new(name, DataType::Binary, false);
    vec![part("value"), part("metadata")].into()
}

pub fn is_variant(fields: &Fields) -> bool {
    *fields == variant_fields()
}

fn arrow_type(value: &Value) -> Result<DataType> {
    if let Some(name) = value.as_str() {
        return simple_type(name).ok_or_else(|| unknown(value));
    }
    Ok(match value["type"].as_str() {
        Some("struct") => DataType::Struct(struct_fields(value)?),
        Some("array") => DataType::List(Arc::new(Field::new(
            "element",
            arrow_type(&value["elementType"])?,
            true,
        ))),
        Some("map") => {
            let key = Field::new("key", arrow_type(&value["keyType"])?, false);
            let item = Field::new("value", arrow_type(&value["valueType"])?, true);
            let entries = DataType::Struct(vec![key, item].into());
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        _ => return Err(unknown(value)),
    })
}

fn simple_type(name: &str) -> Option<DataType> {
    Some(match name {
        "void" => DataType::Null,
        "boolean" => DataType::Boolean,
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "variant" => DataType::Struct(variant_fields()),
        "interval day to second" => DataType::Duration(TimeUnit::Microsecond),
        "interval year to month" => DataType::Interval(IntervalUnit::YearMonth),
        _ => {
            let (precision, scale) = name
                .strip_prefix("decimal(")?
                .strip_suffix(')')?
                .split_once(',')?;
            DataType::Decimal128(precision.parse().ok()?, scale.parse().ok()?)
        }
    })
}

fn unknown(value: &Value) -> Error {
    Error::Unsupported(format!("the type {value} of Spark is not read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice(schema: &Schema) -> Schema {
        from_json(&to_json(schema, "a file").unwrap()).unwrap()
    }

    #[test]
    fn types_that_both_know_come_back() {
        let pair = Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", DataType::Int32, true),
        ]);
        let fields = [
            DataType::Boolean,
            DataType::Int8,
            DataType::Int16,
            DataType::Int32,
            DataType::Int64,
            DataType::Float32,
            DataType::Float64,
            DataType::Utf8,
            DataType::Binary,
            DataType::Date32,
            DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Decimal128(38, 6),
            DataType::List(Arc::new(Field::new("element", DataType::Int64, true))),
            DataType::Map(
                Arc::new(Field::new("entries", DataType::Struct(pair), false)),
                false,
            ),
        ];
        let fields: Vec<_> = fields
            .into_iter()
            .enumerate()
            .map(|(i, kind)| Field::new(format!("c{i}"), kind, true))
            .collect();
        let schema = Schema::new(vec![Field::new("all", DataType::Struct(fields.into()), true)]);
        assert_eq!(twice(&schema), schema);
    }

    #[test]
    fn unsigned_numbers_take_the_next_wider_type() {
        let schema = Schema::new(vec![
            Field::new("a", DataType::UInt8, true),
            Field::new("b", DataType::UInt32, true),
            Field::new("c", DataType::UInt64, true),
        ]);
        let kinds: Vec<_> = twice(&schema)
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        assert_eq!(
            kinds,
            [DataType::Int16, DataType::Int64, DataType::Decimal128(20, 0)]
        );
    }

    #[test]
    fn types_have_the_names_that_sql_has() {
        let item = |kind| Arc::new(Field::new("element", kind, true));
        let inner = Field::new("a", DataType::List(item(DataType::Int64)), true);
        let kind = DataType::Struct(vec![inner, Field::new("b", DataType::Int8, true)].into());
        assert_eq!(type_name(&kind), "STRUCT<a: ARRAY<BIGINT>, b: TINYINT>");
        assert_eq!(type_name(&DataType::Decimal128(9, 2)), "DECIMAL(9,2)");
    }

    #[test]
    fn a_type_that_spark_has_not_is_refused_by_its_column() {
        let deep = Field::new("at", DataType::Time64(TimeUnit::Microsecond), true);
        let schema = Schema::new(vec![Field::new("s", DataType::Struct(vec![deep].into()), true)]);
        let error = to_json(&schema, "/lake/part.parquet").unwrap_err().to_string();
        assert_eq!(
            error,
            "the column 's.at' of /lake/part.parquet is of the type Time64(µs), which Spark has not"
        );
    }
}
