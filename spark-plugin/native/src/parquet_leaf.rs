//! A column of plain values in a Parquet file, one of each row, that a filter names.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, Type as Physical};

use crate::calendar::Calendar;
use crate::filter::Facts;
use crate::parquet_groups::Group;
use crate::value::Value;
use crate::widen::widened;

/// What a file has under a name.
pub enum Named<'a> {
    /// No such column, which is read as nulls.
    Nulls,
    Leaf(Leaf<'a>),
}

pub struct Leaf<'a> {
    /// Its place among the leaves of the file.
    pub index: usize,
    found: &'a Field,
    asked: &'a DataType,
    physical: Physical,
    calendar: &'a Calendar,
}

impl<'a> Leaf<'a> {
    /// None where the column was not asked for, or is not one of plain values.
    pub fn named(column: &[String], group: &Group<'a>) -> Option<Named<'a>> {
        let (columns, metadata) = (group.columns, group.metadata);
        let asked = columns.asked(column)?;
        let Some(trace) = columns.found(column, metadata.schema()) else {
            return Some(Named::Nulls);
        };
        let names = || trace.iter().map(|field| field.name());
        let parquet = metadata.parquet_schema();
        let root = columns.place(&column[0])?;
        let index = (0..parquet.num_columns()).find(|leaf| {
            let (place, leaf) = (parquet.get_column_root_idx(*leaf), parquet.column(*leaf));
            place == root && leaf.path().parts().iter().eq(names()) && leaf.max_rep_level() == 0
        })?;
        Some(Named::Leaf(Leaf {
            index,
            found: *trace.last()?,
            asked,
            physical: parquet.column(index).physical_type(),
            calendar: group.calendar,
        }))
    }

    pub fn converter(&self, metadata: &'a ArrowReaderMetadata) -> Option<StatisticsConverter<'a>> {
        StatisticsConverter::from_column_index(self.index, self.found, metadata.parquet_schema()).ok()
    }

    /// Bounds that the converter gave, as values of the type that was asked for.
    pub fn values(&self, bounds: ArrayRef) -> Option<Vec<Option<Value>>> {
        let bounds = widened(&bounds, self.asked)?;
        Some((0..bounds.len()).map(|row| Value::of(&bounds, row)).collect())
    }

    /// Whether bounds are in the order of the column's type: writers of old compared all bytes with a sign, and what orders
    /// nobody has defined are good for nothing.
    pub fn ordered(&self, metadata: &ArrowReaderMetadata, deprecated: bool) -> bool {
        use DataType::*;
        let plain = matches!(
            self.found.data_type(),
            Boolean | Int8 | Int16 | Int32 | Int64 | Date32 | Float32 | Float64 | Timestamp(..)
        );
        let file = metadata.metadata().file_metadata();
        match file.column_orders().map(|orders| orders[self.index]) {
            _ if self.physical == Physical::INT96 => false,
            Some(ColumnOrder::TYPE_DEFINED_ORDER(_) | ColumnOrder::IEEE_754_TOTAL_ORDER) => {
                plain || !deprecated
            }
            Some(_) => false,
            None => plain,
        }
    }

    /// Facts of rows, by what the file says of them.
    pub fn facts(
        &self,
        least: Option<Value>,
        greatest: Option<Value>,
        rows: usize,
        nulls: Option<u64>,
        nans: Option<u64>,
    ) -> Facts {
        let first = match &least {
            Some(Value::Whole(least)) => Some(*least),
            _ => None,
        };
        // Where one is NaN, neither is in order; and days that are counted anew need not be within.
        let sound = ![&least, &greatest].into_iter().flatten().any(Value::is_nan)
            && self.calendar.keeps(self.physical, self.found.data_type(), first);
        Facts {
            least: least.filter(|_| sound),
            greatest: greatest.filter(|_| sound),
            values: nulls != Some(rows as u64),
            nulls: nulls != Some(0),
            nans: matches!(self.asked, DataType::Float32 | DataType::Float64) && nans != Some(0),
        }
    }

    /// The bytes of a value in the file, as Bloom filters take them; none where they are not just those of the type.
    pub fn written(&self, value: &Value) -> Option<Vec<u8>> {
        use DataType::*;
        let found = self.found.data_type();
        let same = matches!(found, Int8 | Int16 | Int32 | Int64)
            || found == self.asked && self.calendar.keeps(self.physical, found, None);
        match (value, self.physical) {
            (Value::Whole(value), Physical::INT32) if same => {
                Some(i32::try_from(*value).ok()?.to_le_bytes().to_vec())
            }
            (Value::Whole(value), Physical::INT64) if same => {
                Some(i64::try_from(*value).ok()?.to_le_bytes().to_vec())
            }
            (Value::Bytes(bytes), Physical::BYTE_ARRAY) => Some(bytes.clone()),
            _ => None,
        }
    }
}
