//! Days and times of Parquet files that Spark counted by two calendars: that of Julius Caesar before 15 October 1582.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, ListArray, MapArray, PrimitiveArray, RecordBatch, StructArray,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use parquet::basic::Type as Physical;
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::SchemaDescriptor;
use serde::Deserialize;

use crate::error::{self, Error};

/// 15 October 1582, in days since 1970: the first that both calendars count alike.
pub const GREGORIAN_DAY: i32 = -141_427;

/// The start of 1900, in microseconds: from then on times are the same in all zones, too, as Spark counted them.
const SAME_MICROS: i64 = -2_208_988_800_000_000;

const VERSION: &str = "org.apache.spark.version";

/// Whether old values of a file are taken as they are, counted anew, or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    Corrected,
    Legacy,
    Exception,
}

/// How Parquet is read: what the files that Spark did not write count by, which say nothing of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parquet {
    pub days: Mode,
    pub int96: Mode,
    /// In which times of two calendars were counted, where the file does not say so.
    pub zone: String,
}

impl Default for Parquet {
    fn default() -> Self {
        Parquet {
            days: Mode::Corrected,
            int96: Mode::Corrected,
            zone: "UTC".into(),
        }
    }
}

/// Who knows the calendars, and the clocks of all zones in them.
pub trait Calendars: Send + Sync {
    /// Counts microseconds anew, as clocks of a zone showed them; or days, without a zone.
    ///
    /// # Errors
    /// What is wrong with them.
    fn rebase(&self, zone: Option<&str>, values: &mut [i64]) -> Result<(), String>;
}

/// By which calendar a file counts.
pub struct Calendar {
    days: Mode,
    int96: Mode,
    zone: String,
    known: Option<Arc<dyn Calendars>>,
}

impl Calendar {
    pub fn of(file: &FileMetaData, otherwise: &Parquet, known: Option<Arc<dyn Calendars>>) -> Self {
        let told = |key: &str| {
            let pairs = file.key_value_metadata().into_iter().flatten();
            let mut found = pairs.filter(|pair| pair.key == key);
            found.find_map(|pair| pair.value.as_deref())
        };
        let mode = |first: &str, legacy: &str, otherwise| match told(VERSION) {
            None => otherwise,
            // As texts, which is how Spark compares them.
            Some(version) if version < first || told(legacy).is_some() => Mode::Legacy,
            Some(_) => Mode::Corrected,
        };
        Calendar {
            days: mode("3.0.0", "org.apache.spark.legacyDateTime", otherwise.days),
            int96: mode("3.1.0", "org.apache.spark.legacyINT96", otherwise.int96),
            zone: told("org.apache.spark.timeZone")
                .unwrap_or(&otherwise.zone)
                .into(),
            known,
        }
    }

    /// Whether all values of a column with this least one are taken as they are.
    pub fn keeps(&self, physical: Physical, found: &DataType, least: Option<i128>) -> bool {
        let first = match found {
            DataType::Date32 => i128::from(GREGORIAN_DAY),
            DataType::Timestamp(_, Some(_)) => i128::from(SAME_MICROS),
            _ => return true,
        };
        self.mode(physical) == Mode::Corrected || least.is_some_and(|least| least >= first)
    }

    /// A batch of some columns of the file, as the calendar of Gregory counts its days and times.
    ///
    /// # Errors
    /// Unsupported: by which calendar they are counted is not told.
    pub fn counted(
        &self,
        batch: RecordBatch,
        roots: &[usize],
        file: &SchemaDescriptor,
        path: &str,
    ) -> error::Result<RecordBatch> {
        let kept = self.days == Mode::Corrected && self.int96 == Mode::Corrected;
        // Rows without columns have nothing to count, and only the batch knows how many they are.
        if kept || roots.is_empty() {
            return Ok(batch);
        }
        let columns = batch.columns().iter().zip(roots).map(|(column, root)| {
            let leaves = (0..file.num_columns()).filter(|leaf| file.get_column_root_idx(*leaf) == *root);
            let mut modes = leaves.map(|leaf| self.mode(file.column(leaf).physical_type()));
            self.array(column, &mut modes).map_err(|why| {
                let name = file.root_schema().get_fields()[*root].name();
                Error::Unsupported(format!("{path} cannot be read: the column '{name}': {why}"))
            })
        });
        let columns = columns.collect::<error::Result<_>>()?;
        RecordBatch::try_new(batch.schema(), columns).map_err(|why| Error::corrupt(path, why))
    }

    fn mode(&self, physical: Physical) -> Mode {
        match physical {
            Physical::INT96 => self.int96,
            _ => self.days,
        }
    }

    /// The modes are those of the leaves, in their order.
    fn array(&self, found: &ArrayRef, modes: &mut impl Iterator<Item = Mode>) -> Result<ArrayRef, String> {
        let broken = |why: ArrowError| why.to_string();
        match found.data_type() {
            DataType::Struct(fields) => {
                let whole = found.as_struct();
                let children = whole.columns().iter().map(|column| self.array(column, modes));
                let children = children.collect::<Result<_, _>>()?;
                let nulls = whole.nulls().cloned();
                let made = StructArray::try_new_with_length(fields.clone(), children, nulls, whole.len());
                Ok(Arc::new(made.map_err(broken)?))
            }
            DataType::List(item) => {
                let whole = found.as_list::<i32>();
                let items = self.array(whole.values(), modes)?;
                let nulls = whole.nulls().cloned();
                let made = ListArray::try_new(item.clone(), whole.offsets().clone(), items, nulls);
                Ok(Arc::new(made.map_err(broken)?))
            }
            DataType::Map(pair, sorted) => {
                let whole = found.as_map();
                let entries: ArrayRef = Arc::new(whole.entries().clone());
                let entries = self.array(&entries, modes)?.as_struct().clone();
                let nulls = whole.nulls().cloned();
                let made = MapArray::try_new(pair.clone(), whole.offsets().clone(), entries, nulls, *sorted);
                Ok(Arc::new(made.map_err(broken)?))
            }
            kind => match (modes.next().unwrap_or(Mode::Corrected), kind) {
                (Mode::Corrected, _) => Ok(found.clone()),
                (mode, DataType::Date32) => self.plain::<Date32Type>(found, mode, Unit::Day),
                (mode, DataType::Timestamp(unit, Some(_))) => match unit {
                    TimeUnit::Second => self.plain::<TimestampSecondType>(found, mode, Unit::Of(1_000_000)),
                    TimeUnit::Millisecond => {
                        self.plain::<TimestampMillisecondType>(found, mode, Unit::Of(1_000))
                    }
                    TimeUnit::Microsecond => self.plain::<TimestampMicrosecondType>(found, mode, Unit::Of(1)),
                    TimeUnit::Nanosecond => self.plain::<TimestampNanosecondType>(found, mode, Unit::Nano),
                },
                _ => Ok(found.clone()),
            },
        }
    }

    fn plain<T>(&self, found: &ArrayRef, mode: Mode, unit: Unit) -> Result<ArrayRef, String>
    where
        T: ArrowPrimitiveType,
        T::Native: Into<i64> + TryFrom<i64>,
    {
        let whole = found.as_primitive::<T>();
        let mut places = Vec::new();
        let mut old = Vec::new();
        for (place, value) in whole.iter().enumerate() {
            let Some(value) = value.map(|value| unit.common(value.into())) else {
                continue;
            };
            if value < unit.first() {
                places.push(place);
                old.push(i64::try_from(value).map_err(|_| BEYOND)?);
            }
        }
        if old.is_empty() {
            return Ok(found.clone());
        }
        if mode == Mode::Exception {
            return Err(format!(
                "it has {} of which it is not told by which calendar they are counted: read it with the option \
                 datetimeRebaseMode (of INT96, int96RebaseMode) CORRECTED if by ours, or LEGACY if by Spark 2's",
                match unit {
                    Unit::Day => "days before October 1582",
                    _ => "times before 1900",
                }
            ));
        }
        let known = self
            .known
            .as_ref()
            .ok_or("its calendar is known to a JVM alone")?;
        let mut new = old.clone();
        let zone = Some(self.zone.as_str()).filter(|_| unit != Unit::Day);
        known.rebase(zone, &mut new)?;
        let mut values = whole.values().to_vec();
        for (place, (old, new)) in places.into_iter().zip(old.into_iter().zip(new)) {
            let moved = unit.own(i128::from(new) - i128::from(old)) + i128::from(values[place].into());
            let moved = i64::try_from(moved).ok().and_then(|moved| moved.try_into().ok());
            values[place] = moved.ok_or(BEYOND)?;
        }
        let made = PrimitiveArray::<T>::new(values.into(), whole.nulls().cloned());
        Ok(Arc::new(made.with_data_type(found.data_type().clone())))
    }
}

const BEYOND: &str = "a time is beyond all calendars";

/// What a value counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    /// So many microseconds.
    Of(i64),
    Nano,
}

impl Unit {
    /// The first value in days, or microseconds, that all calendars count alike.
    fn first(self) -> i128 {
        match self {
            Unit::Day => GREGORIAN_DAY.into(),
            _ => SAME_MICROS.into(),
        }
    }

    /// A value in days, or microseconds.
    fn common(self, value: i64) -> i128 {
        match self {
            Unit::Day => value.into(),
            Unit::Of(micros) => i128::from(value) * i128::from(micros),
            Unit::Nano => value.div_euclid(1_000).into(),
        }
    }

    /// A distance, which is one of whole seconds, in its own unit.
    fn own(self, distance: i128) -> i128 {
        match self {
            Unit::Day => distance,
            Unit::Of(micros) => distance / i128::from(micros),
            Unit::Nano => distance * 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array, TimestampMillisecondArray, TimestampNanosecondArray};
    use arrow_schema::Field;
    use parquet::file::metadata::KeyValue;
    use parquet::schema::parser::parse_message_type;

    /// Days move by 10; times, by as many seconds as the name of the zone has letters.
    struct Moving;

    impl Calendars for Moving {
        fn rebase(&self, zone: Option<&str>, values: &mut [i64]) -> Result<(), String> {
            let by = zone.map_or(10, |zone| 1_000_000 * zone.len() as i64);
            values.iter_mut().for_each(|value| *value += by);
            Ok(())
        }
    }

    fn calendar(told: &[(&str, &str)], otherwise: Mode) -> Calendar {
        let schema = parse_message_type("message m { optional int32 a (DATE); }").unwrap();
        let pairs = told
            .iter()
            .map(|(key, value)| KeyValue::new((*key).into(), value.to_string()));
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let file = FileMetaData::new(1, 0, None, Some(pairs.collect()), schema, None);
        let otherwise = Parquet {
            days: otherwise,
            ..Parquet::default()
        };
        Calendar::of(&file, &otherwise, Some(Arc::new(Moving)))
    }

    fn modes(told: &[(&str, &str)]) -> (Mode, Mode) {
        let calendar = calendar(told, Mode::Exception);
        (calendar.days, calendar.int96)
    }

    #[test]
    fn a_file_of_spark_says_by_which_calendar_it_counts() {
        use Mode::*;
        assert_eq!(modes(&[]), (Exception, Corrected));
        assert_eq!(modes(&[(VERSION, "2.4.8")]), (Legacy, Legacy));
        assert_eq!(modes(&[(VERSION, "3.0.3")]), (Corrected, Legacy));
        assert_eq!(modes(&[(VERSION, "3.5.9")]), (Corrected, Corrected));
        let days = "org.apache.spark.legacyDateTime";
        assert_eq!(modes(&[(VERSION, "3.5.9"), (days, "")]), (Legacy, Corrected));
        assert_eq!(modes(&[(days, "")]), (Exception, Corrected));
    }

    #[test]
    fn old_values_alone_are_counted_anew() {
        let zone = ("org.apache.spark.timeZone", "ab");
        let legacy = calendar(&[(VERSION, "2.4.0"), zone], Mode::Corrected);
        let counted = |column: ArrayRef| {
            legacy
                .array(&column, &mut std::iter::repeat(Mode::Legacy))
                .unwrap()
        };
        let days = Date32Array::from(vec![Some(-141_428), None, Some(-141_427)]);
        let found = counted(Arc::new(days));
        assert_eq!(
            found.as_primitive::<Date32Type>(),
            &Date32Array::from(vec![Some(-141_418), None, Some(-141_427)])
        );
        let old = SAME_MICROS / 1_000 - 1;
        let times = TimestampMillisecondArray::from(vec![old, old + 1]).with_timezone("UTC");
        let found = counted(Arc::new(times));
        assert_eq!(
            found.as_primitive::<TimestampMillisecondType>().values(),
            &[old + 2_000, old + 1]
        );
        let old = SAME_MICROS * 1_000 - 1;
        let times = TimestampNanosecondArray::from(vec![old, old + 1]).with_timezone("UTC");
        let found = counted(Arc::new(times));
        assert_eq!(
            found.as_primitive::<TimestampNanosecondType>().values(),
            &[old + 2_000_000_000, old + 1]
        );
    }

    #[test]
    fn clocks_are_of_one_calendar() {
        let legacy = calendar(&[(VERSION, "2.4.0")], Mode::Corrected);
        let clocks: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![i64::MIN]));
        let found = legacy.array(&clocks, &mut std::iter::once(Mode::Legacy)).unwrap();
        assert_eq!(&found, &clocks);
    }

    #[test]
    fn each_leaf_has_a_mode_of_its_own() {
        let legacy = calendar(&[(VERSION, "2.4.0")], Mode::Corrected);
        let day = || Arc::new(Date32Array::from(vec![-200_000])) as ArrayRef;
        let field =
            |name: &str, column: &ArrayRef| Arc::new(Field::new(name, column.data_type().clone(), true));
        let other: ArrayRef = Arc::new(Int64Array::from(vec![-200_000]));
        let columns = [day(), other, day()].map(|column| (field("a", &column), column));
        let whole: ArrayRef = Arc::new(StructArray::from(columns.to_vec()));
        let mut modes = [Mode::Corrected, Mode::Legacy, Mode::Legacy].into_iter();
        let found = legacy.array(&whole, &mut modes).unwrap();
        let days = |place| {
            found
                .as_struct()
                .column(place)
                .as_primitive::<Date32Type>()
                .value(0)
        };
        assert_eq!((days(0), days(2)), (-200_000, -199_990));
    }

    #[test]
    fn rows_without_columns_stay_as_many() {
        let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(3));
        let none = Arc::new(arrow_schema::Schema::empty());
        let batch = RecordBatch::try_new_with_options(none, vec![], &rows).unwrap();
        let schema = parse_message_type("message m { optional int32 a (DATE); }").unwrap();
        let file = SchemaDescriptor::new(Arc::new(schema));
        let legacy = calendar(&[(VERSION, "2.4.0")], Mode::Corrected);
        assert_eq!(legacy.counted(batch, &[], &file, "f").unwrap().num_rows(), 3);
    }

    #[test]
    fn what_is_not_told_is_refused_where_it_matters() {
        let untold = calendar(&[], Mode::Exception);
        let read = |day| {
            let days: ArrayRef = Arc::new(Date32Array::from(vec![day]));
            untold.array(&days, &mut std::iter::once(untold.days))
        };
        assert!(read(-141_428).unwrap_err().contains("days before October 1582"));
        assert!(read(-141_427).is_ok());
    }

    #[test]
    fn bounds_count_where_no_value_below_is_counted_anew() {
        let legacy = calendar(&[(VERSION, "2.4.0")], Mode::Corrected);
        let keeps = |least| legacy.keeps(Physical::INT32, &DataType::Date32, least);
        assert!(keeps(Some(-141_427)) && !keeps(Some(-141_428)) && !keeps(None));
        assert!(legacy.keeps(Physical::INT32, &DataType::Int32, None));
    }
}
