//! The names that columns and their fields have in a file, and what is made of those that were asked for.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_schema::{DataType, Fields, IntervalUnit, TimeUnit};
use arrow_select::take::take;

use crate::error::{Error, Result};
use crate::plain::{lists, texts};
use crate::schema::{is_variant, type_name};
use crate::widen::widened;

/// The names in a file.
pub struct Names {
    pub path: String,
    /// The file whose columns are asked for of all, if nobody gave a schema.
    pub first: Option<String>,
    /// Whether those that differ in case alone are different names.
    pub case_sensitive: bool,
}

impl Names {
    /// The place of the field of this name; errors name it as shown.
    ///
    /// # Errors
    /// Unsupported: where case does not count, the names of several fields are it.
    pub fn find(&self, fields: &Fields, name: &str, shown: &str) -> Result<Option<usize>> {
        if self.case_sensitive {
            return Ok(fields.iter().position(|field| field.name() == name));
        }
        let lower = name.to_lowercase();
        let alike = |place: &usize| {
            let found = fields[*place].name();
            found == name || found.to_lowercase() == lower
        };
        let mut places = (0..fields.len()).filter(alike);
        match (places.next(), places.next()) {
            (_, Some(_)) => Err(Error::Unsupported(format!(
                "several columns of {} could be '{shown}': their names differ in case alone",
                self.path
            ))),
            (place, None) => Ok(place),
        }
    }

    /// # Errors
    /// Unsupported: a value of the file could be lost, or several fields of a struct could be meant.
    pub fn check(&self, found: &DataType, asked: &DataType, name: &str) -> Result<()> {
        use DataType::*;
        let fits = match (found, asked) {
            (Null, _) => true,
            (Dictionary(_, from), _) => return self.check(from, asked, name),
            (List(from) | LargeList(from) | FixedSizeList(from, _), List(to)) => {
                return self.check(from.data_type(), to.data_type(), &format!("{name}.element"));
            }
            (Map(from, _), Map(to, _)) => match (from.data_type(), to.data_type()) {
                // By place: what a file calls its keys and values is its own affair.
                (Struct(from), Struct(to)) => {
                    return from.iter().zip(to).try_for_each(|(found, asked)| {
                        let name = format!("{name}.{}", asked.name());
                        self.check(found.data_type(), asked.data_type(), &name)
                    });
                }
                _ => false,
            },
            (Struct(from), Struct(to)) if is_variant(to) && from.len() != to.len() => {
                return Err(Error::Unsupported(format!(
                    "the column '{name}' of {} is a VARIANT in parts, as Spark writes it where \
                     spark.sql.variant.writeShredding.enabled is true, which is not read: read it with format(\"parquet\")",
                    self.path
                )));
            }
            (Struct(from), Struct(to)) => {
                return to.iter().try_for_each(|field| {
                    let name = format!("{name}.{}", field.name());
                    match self.find(from, field.name(), &name)? {
                        Some(place) => self.check(from[place].data_type(), field.data_type(), &name),
                        None => Ok(()),
                    }
                });
            }
            (Int8, Int16 | Int32 | Int64) | (Int16, Int32 | Int64) | (Int32, Int64) => true,
            (UInt8, Int16 | Int32 | Int64) | (UInt16, Int32 | Int64) | (UInt32, Int64) => true,
            (UInt64, Decimal128(precision, scale)) => *precision as i16 - *scale as i16 >= 20,
            (Int8 | Int16 | Int32 | UInt8 | UInt16, Float64)
            | (Float16, Float32 | Float64)
            | (Float32, Float64) => true,
            (LargeUtf8 | Utf8View, Utf8) | (FixedSizeBinary(_) | LargeBinary | BinaryView, Binary) => true,
            // What Spark counts, where the file's own type says nothing of it.
            (Int64, Duration(TimeUnit::Microsecond)) | (Int32, Interval(IntervalUnit::YearMonth)) => true,
            (Date64, Date32) | (Duration(_), Duration(TimeUnit::Microsecond)) => true,
            (Timestamp(_, from), Timestamp(TimeUnit::Microsecond, to)) => from.is_some() == to.is_some(),
            (Decimal32(p, s) | Decimal64(p, s) | Decimal128(p, s), Decimal128(precision, scale)) => {
                scale >= s && *precision as i16 - *scale as i16 >= *p as i16 - *s as i16
            }
            _ => found == asked,
        };
        if fits {
            return Ok(());
        }
        let of_which = match &self.first {
            Some(first) if *first != self.path => format!(
                ", which it is in {first}: the option mergeSchema (.option(\"mergeSchema\", \"true\"), in \
                 SQL CREATE TEMPORARY VIEW ... USING arrow OPTIONS (path '...', mergeSchema 'true')) reads both in a type \
                 that holds the values of both, if there is one"
            ),
            _ => String::new(),
        };
        Err(Error::Unsupported(format!(
            "the column '{name}' of {} is of the type {}, and cannot be read as {}{of_which}",
            self.path,
            type_name(found),
            type_name(asked)
        )))
    }

    /// An array of the type that was asked for; [`Names::check`] has let it pass.
    pub fn array(&self, found: &ArrayRef, asked: &DataType, name: &str) -> Result<ArrayRef> {
        if found.data_type() == asked {
            return Ok(found.clone());
        }
        let path = &self.path;
        let corrupt = |why| Error::corrupt(path, format!("the column '{name}': {why}"));
        Ok(match (found.data_type(), asked) {
            (DataType::Struct(from), DataType::Struct(to)) => {
                let whole = found.as_struct();
                let children = to
                    .iter()
                    .map(|field| match self.find(from, field.name(), name)? {
                        Some(place) => self.array(whole.column(place), field.data_type(), field.name()),
                        None => Ok(new_null_array(field.data_type(), whole.len())),
                    })
                    .collect::<Result<Vec<_>>>()?;
                let made = StructArray::try_new_with_length(
                    to.clone(),
                    children,
                    whole.nulls().cloned(),
                    whole.len(),
                );
                Arc::new(made.map_err(corrupt)?)
            }
            (DataType::Null, _) => new_null_array(asked, found.len()),
            (DataType::Dictionary(..), _) => {
                let coded = found.as_any_dictionary();
                let flat = take(coded.values(), coded.keys(), None).map_err(corrupt)?;
                self.array(&flat, asked, name)?
            }
            (_, DataType::List(to)) => {
                let (offsets, items) = lists(found).ok_or_else(|| too_long(name, path))?;
                let items = self.array(&items, to.data_type(), name)?;
                let made = ListArray::try_new(to.clone(), offsets, items, found.nulls().cloned());
                Arc::new(made.map_err(corrupt)?)
            }
            (_, DataType::Utf8 | DataType::Binary) => texts(found).ok_or_else(|| too_long(name, path))?,
            (DataType::Map(..), DataType::Map(to, sorted)) => {
                let whole = found.as_map();
                let DataType::Struct(pair) = to.data_type() else {
                    unreachable!("the entries of a map are structs")
                };
                let entries = whole.entries().columns().iter().zip(pair);
                let entries = entries
                    .map(|(column, field)| self.array(column, field.data_type(), name))
                    .collect::<Result<_>>()?;
                let entries = StructArray::try_new(pair.clone(), entries, None).map_err(corrupt)?;
                let made = MapArray::try_new(
                    to.clone(),
                    whole.offsets().clone(),
                    entries,
                    whole.nulls().cloned(),
                    *sorted,
                );
                Arc::new(made.map_err(corrupt)?)
            }
            _ => widened(found, asked).ok_or_else(|| {
                let found = found.data_type();
                Error::corrupt(
                    path,
                    format!("the column '{name}' holds a {found} beyond what {asked} holds"),
                )
            })?,
        })
    }
}

fn too_long(name: &str, path: &str) -> Error {
    Error::Unsupported(format!(
        "a batch of the column '{name}' of {path} is larger than Spark's vectors can be: read it with smaller batchRows"
    ))
}
