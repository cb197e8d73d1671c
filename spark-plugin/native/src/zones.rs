//! Times of clocks as the moments at which a clock of some zone shows them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, PrimitiveArray, StructArray};
use arrow_schema::DataType;
use chrono::{DateTime, MappedLocalTime, TimeZone};
use chrono_tz::Tz;

use crate::calendar::GREGORIAN_DAY;

const DAY_MICROS: i64 = 86_400_000_000;

/// How the times of a file are to be taken.
pub struct Clock {
    /// Of the clocks; none if it is unknown here.
    pub zone: Option<Tz>,
    /// Whether days before October 1582 are counted as we do.
    pub proleptic: bool,
}

impl Clock {
    /// A column as one of a type that has moments where the column has times of clocks.
    ///
    /// # Errors
    /// What is wrong, of a value whose moment cannot be told.
    pub fn read(&self, found: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, String> {
        Ok(match (found.data_type(), wanted) {
            (DataType::Struct(_), DataType::Struct(fields)) => {
                let whole = found.as_struct();
                let children = whole.columns().iter().zip(fields);
                let children = children.map(|(column, field)| self.read(column, field.data_type()));
                let children = children.collect::<Result<_, _>>()?;
                let nulls = whole.nulls().cloned();
                let made = StructArray::try_new_with_length(fields.clone(), children, nulls, whole.len());
                Arc::new(made.map_err(|why| why.to_string())?)
            }
            (DataType::List(_), DataType::List(item)) => {
                let whole = found.as_list::<i32>();
                let items = self.read(whole.values(), item.data_type())?;
                let nulls = whole.nulls().cloned();
                let made = ListArray::try_new(item.clone(), whole.offsets().clone(), items, nulls);
                Arc::new(made.map_err(|why| why.to_string())?)
            }
            (DataType::Map(..), DataType::Map(entries, sorted)) => {
                let whole = found.as_map();
                let pairs: ArrayRef = Arc::new(whole.entries().clone());
                let pairs = self.read(&pairs, entries.data_type())?.as_struct().clone();
                let nulls = whole.nulls().cloned();
                let made = MapArray::try_new(entries.clone(), whole.offsets().clone(), pairs, nulls, *sorted);
                Arc::new(made.map_err(|why| why.to_string())?)
            }
            (DataType::Date32, _) => {
                let days = found.as_primitive::<Date32Type>();
                if !self.proleptic && days.iter().flatten().any(|day| day < GREGORIAN_DAY) {
                    return Err(OLD.into());
                }
                found.clone()
            }
            (DataType::Timestamp(_, None), DataType::Timestamp(_, zone)) => {
                let clocks = found.as_primitive::<TimestampMicrosecondType>();
                let old = i64::from(GREGORIAN_DAY) * DAY_MICROS;
                if !self.proleptic && clocks.iter().flatten().any(|time| time < old) {
                    return Err(OLD.into());
                }
                let read: PrimitiveArray<TimestampMicrosecondType> = match zone {
                    None => clocks.clone(),
                    Some(_) => clocks.try_unary(|time| self.moment(time))?,
                };
                Arc::new(read.with_timezone_opt(zone.clone()))
            }
            (DataType::Int32, DataType::Interval(_))
            | (DataType::Int64, DataType::Duration(_) | DataType::Timestamp(..)) => {
                let data = found.to_data().into_builder().data_type(wanted.clone());
                arrow_array::make_array(data.build().map_err(|why| why.to_string())?)
            }
            _ => found.clone(),
        })
    }

    fn moment(&self, time: i64) -> Result<i64, String> {
        let zone = self
            .zone
            .ok_or("the zone of this JVM is not known to this reader: start it with -Duser.timezone=UTC")?;
        let shown = DateTime::from_timestamp_micros(time)
            .ok_or("a time is beyond all calendars")?
            .naive_utc();
        match zone.from_local_datetime(&shown) {
            MappedLocalTime::Single(moment) => Ok(moment.timestamp_micros()),
            _ => Err(format!(
                "clocks of {zone} show {shown} twice, or never, so that its moment cannot be told: start the JVM with \
                 -Duser.timezone=UTC, or read it with Spark's own reader"
            )),
        }
    }
}

const OLD: &str = "it has days before October 1582, of which it is not told by which calendar they are counted: read it \
                   with Spark's own reader";

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::TimestampMicrosecondArray;
    use arrow_schema::TimeUnit;

    const SECOND: i64 = 1_000_000;

    fn read(zone: &str, seconds: i64) -> Result<i64, String> {
        let clock = Clock {
            zone: zone.parse().ok(),
            proleptic: false,
        };
        let found: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
            Some(seconds * SECOND),
            None,
        ]));
        let wanted = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let read = clock.read(&found, &wanted)?;
        assert!(read.is_null(1));
        Ok(read.as_primitive::<TimestampMicrosecondType>().value(0) / SECOND)
    }

    #[test]
    fn a_clock_shows_a_moment_by_its_zone() {
        let noon = 1_357_041_600; // 1 January 2013
        assert_eq!(read("UTC", noon), Ok(noon));
        assert_eq!(read("Europe/Stockholm", noon), Ok(noon - 3_600));
        assert_eq!(read("America/New_York", noon), Ok(noon + 5 * 3_600));
    }

    #[test]
    fn an_hour_that_is_shown_twice_is_refused() {
        let half_past_two = 1_382_841_000; // 27 October 2013
        assert!(
            read("Europe/Stockholm", half_past_two)
                .unwrap_err()
                .contains("twice")
        );
        assert_eq!(read("UTC", half_past_two), Ok(half_past_two));
    }

    #[test]
    fn days_of_another_calendar_are_refused() {
        assert!(read("UTC", -14_831_769_600).unwrap_err().contains("1582")); // 1500
    }

    #[test]
    fn a_zone_that_is_not_known_is_refused() {
        assert!(read("Mars/Olympus", 0).unwrap_err().contains("user.timezone"));
    }
}
