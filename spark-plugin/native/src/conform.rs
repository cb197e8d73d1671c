//! Columns of a file brought to just the columns that Spark asked for.

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::names::Names;
use crate::read::Part;

/// Where each column that was asked for is found in the file.
pub struct Columns {
    names: Names,
    asked: SchemaRef,
    /// By column that was asked for: its place in the file, or none where the file has no such column.
    places: Vec<Option<usize>>,
    /// The columns of the file that are read, each once, in the file's order.
    roots: Vec<usize>,
}

impl Columns {
    /// # Errors
    /// Unsupported: a column of the file is of a type whose values the one asked for cannot hold, or two of its
    /// columns could be meant.
    pub fn find(file: &Schema, part: &Part) -> Result<Self> {
        let names = Names {
            path: part.file.path.clone(),
            first: part.first.clone(),
            case_sensitive: part.case_sensitive,
        };
        Columns::named(file, part.schema.clone(), names)
    }

    /// As [`Columns::find`], where there is no part of a file.
    pub fn among(found: &Schema, asked: SchemaRef, path: &str, case_sensitive: bool) -> Result<Self> {
        let names = Names {
            path: path.into(),
            first: None,
            case_sensitive,
        };
        Columns::named(found, asked, names)
    }

    fn named(found: &Schema, asked: SchemaRef, names: Names) -> Result<Self> {
        let places = asked
            .fields()
            .iter()
            .map(|field| {
                let place = names.find(found.fields(), field.name(), field.name())?;
                if let Some(place) = place {
                    names.check(found.field(place).data_type(), field.data_type(), field.name())?;
                }
                Ok(place)
            })
            .collect::<Result<Vec<_>>>()?;
        let mut roots: Vec<_> = places.iter().flatten().copied().collect();
        roots.sort_unstable();
        roots.dedup();
        Ok(Columns {
            names,
            asked,
            places,
            roots,
        })
    }

    /// What is to be read of the file.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The type that was asked for of a column, or of a field in it; none if it was not asked for.
    pub fn asked(&self, path: &[String]) -> Option<&DataType> {
        within(self.asked.fields(), path).map(Field::data_type)
    }

    /// The place of a column in the file; none if it was not asked for, or is not there.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places[self.asked.index_of(name).ok()?]
    }

    /// What the file has for a column that was asked for, or a field in it, from the column on down to the field itself;
    /// none if it is not there.
    pub fn found<'a>(&self, path: &[String], file: &'a Schema) -> Option<Vec<&'a Field>> {
        let (first, deeper) = path.split_first()?;
        let mut found = vec![file.field(self.place(first)?)];
        for name in deeper {
            let DataType::Struct(fields) = found[found.len() - 1].data_type() else {
                return None;
            };
            found.push(&fields[self.names.find(fields, name, name).ok()??]);
        }
        Some(found)
    }

    /// A batch of [`Columns::roots`], as what was asked for.
    pub fn conform(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let columns = self
            .asked
            .fields()
            .iter()
            .zip(&self.places)
            .map(|(field, place)| match place {
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
                Some(place) => {
                    let column = batch.column(self.roots.partition_point(|root| root < place));
                    self.names.array(column, field.data_type(), field.name())
                }
            })
            .collect::<Result<Vec<_>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.asked.clone(), columns, &rows)
            .map_err(|why| Error::corrupt(&self.names.path, why))
    }
}

/// The field that a path of names leads to, through structs.
fn within<'a>(fields: &'a Fields, path: &[String]) -> Option<&'a Field> {
    let (_, field) = fields.find(path.first()?)?;
    match (&path[1..], field.data_type()) {
        ([], _) => Some(field),
        (deeper, DataType::Struct(fields)) => within(fields, deeper),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Int64Type, TimestampMicrosecondType};
    use arrow_array::{
        Array, ArrayRef, Int32Array, ListArray, StringArray, StructArray, TimestampNanosecondArray,
        UInt64Array,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::TimeUnit;
    use std::io;
    use std::sync::Arc;

    use crate::calendar::Parquet;
    use crate::input::{Input, Source};
    use crate::read::{DataFile, Format};

    struct Nothing;

    impl Source for Nothing {
        fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            unreachable!("nothing is read to find columns")
        }
    }

    fn part(fields: Vec<Field>, case_sensitive: bool) -> Part {
        let schema = Arc::new(Schema::new(fields));
        let file = DataFile {
            path: "f".into(),
            input: Input::new(Nothing, 0),
        };
        Part {
            file,
            format: Format::Parquet(Parquet::default()),
            start: 0,
            length: u64::MAX,
            schema,
            first: None,
            case_sensitive,
            batch_rows: 10,
            batch_bytes: usize::MAX,
            limit: None,
            filters: Vec::new(),
            calendars: None,
        }
    }

    fn conformed(name: &str, column: ArrayRef, asked: DataType) -> Result<ArrayRef> {
        let file = Schema::new(vec![Field::new(name, column.data_type().clone(), true)]);
        let columns = Columns::find(&file, &part(vec![Field::new("a", asked, true)], false))?;
        let batch = RecordBatch::try_new(Arc::new(file), vec![column]).unwrap();
        columns
            .conform(batch.project(columns.roots()).unwrap())
            .map(|batch| batch.column(0).clone())
    }

    #[test]
    fn numbers_become_wider() {
        let found = conformed(
            "a",
            Arc::new(Int32Array::from(vec![Some(-7), None])),
            DataType::Int64,
        )
        .unwrap();
        assert_eq!(
            found.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
            [Some(-7), None]
        );
        let large = conformed(
            "a",
            Arc::new(UInt64Array::from(vec![u64::MAX])),
            DataType::Decimal128(20, 0),
        )
        .unwrap();
        assert_eq!(large.as_primitive::<Decimal128Type>().value(0), u64::MAX as i128);
    }

    #[test]
    fn numbers_never_become_narrower() {
        let error = conformed("a", Arc::new(Int32Array::from(vec![1])), DataType::Int16).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the column 'a' of f is of the type INT, and cannot be read as SMALLINT"
        );
    }

    #[test]
    fn nanoseconds_before_1970_are_rounded_down() {
        let zone = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let times = TimestampNanosecondArray::from(vec![-1, 1_999]).with_timezone("UTC");
        let found = conformed("a", Arc::new(times), zone).unwrap();
        assert_eq!(
            found.as_primitive::<TimestampMicrosecondType>().values(),
            &[-1, 1]
        );
    }

    #[test]
    fn names_are_found_in_whatever_case() {
        let found = conformed("A", Arc::new(StringArray::from(vec!["x"])), DataType::Utf8).unwrap();
        assert_eq!(found.as_string::<i32>().value(0), "x");
    }

    fn one(name: &str, column: ArrayRef) -> ArrayRef {
        let field = Arc::new(Field::new(name, column.data_type().clone(), true));
        Arc::new(StructArray::from(vec![(field, column)]))
    }

    fn list(items: ArrayRef) -> ArrayRef {
        let field = Arc::new(Field::new("element", items.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([items.len()]);
        Arc::new(ListArray::new(field, offsets, items, None))
    }

    #[test]
    fn names_of_fields_are_found_in_whatever_case_within_whatever() {
        let column = |outer: &str, inner: &str| {
            one(
                outer,
                list(one(inner, Arc::new(Int32Array::from(vec![Some(1), None])))),
            )
        };
        let asked = column("Outer", "inner");
        let found = conformed("a", column("OUTER", "Inner"), asked.data_type().clone()).unwrap();
        assert_eq!(&found, &asked);
        let wider = one(
            "outer",
            list(one("INNER", Arc::new(StringArray::from(vec!["x"])))),
        );
        let told = conformed("a", wider, asked.data_type().clone()).unwrap_err();
        assert!(told.to_string().contains("'a.Outer.element.inner'"), "{told}");

        let file = Schema::new(vec![Field::new(
            "a",
            column("OUTER", "Inner").data_type().clone(),
            true,
        )]);
        let part = part(vec![Field::new("a", asked.data_type().clone(), true)], true);
        let batch = RecordBatch::try_new(Arc::new(file.clone()), vec![column("OUTER", "Inner")]).unwrap();
        let found = Columns::find(&file, &part).unwrap().conform(batch).unwrap();
        assert_eq!(found.column(0).as_struct().column(0).null_count(), 1);
    }

    #[test]
    fn two_fields_that_could_be_meant_are_refused() {
        let twice = |one: &str, other: &str| {
            let fields = [one, other].map(|name| Field::new(name, DataType::Int32, true));
            DataType::Struct(fields.to_vec().into())
        };
        let file = Schema::new(vec![Field::new("s", twice("b", "B"), true)]);
        let asked = one("b", Arc::new(Int32Array::from(vec![1])));
        let asked = vec![Field::new("s", asked.data_type().clone(), true)];
        let told = Columns::find(&file, &part(asked.clone(), false)).err().unwrap();
        assert!(
            told.to_string().contains("several columns of f could be 's.b'"),
            "{told}"
        );
        assert!(Columns::find(&file, &part(asked, true)).is_ok());
    }

    #[test]
    fn a_column_that_the_file_has_not_is_null() {
        let found = conformed("b", Arc::new(StringArray::from(vec!["x"])), DataType::Utf8).unwrap();
        assert_eq!((found.len(), found.null_count()), (1, 1));
    }

    #[test]
    fn two_columns_that_could_be_meant_are_refused() {
        let file = Schema::new(vec![
            Field::new("A", DataType::Utf8, true),
            Field::new("Á", DataType::Utf8, true),
        ]);
        assert!(Columns::find(&file, &part(vec![Field::new("a", DataType::Utf8, true)], false)).is_ok());
        let file = Schema::new(vec![
            Field::new("aB", DataType::Utf8, true),
            Field::new("Ab", DataType::Utf8, true),
        ]);
        let asked = vec![Field::new("ab", DataType::Utf8, true)];
        assert!(matches!(
            Columns::find(&file, &part(asked.clone(), false)),
            Err(Error::Unsupported(_))
        ));
        assert!(Columns::find(&file, &part(asked, true)).is_ok());
    }
}
