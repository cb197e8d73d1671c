//! The columns of a file: their names, and the types that fit all their values, by the rules of Spark's own inference.

use serde::{Deserialize, Serialize};

use super::dialect::Dialect;
use super::number;
use super::time;

/// What the values of a column are, so far as they have been seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// There was none.
    Unknown,
    Integer,
    Long,
    /// Whole, of so many digits.
    Whole(u8),
    Double,
    Date,
    Timestamp,
    TimestampNtz,
    Boolean,
    String,
}

/// Digits that Spark's decimals have at most.
const MOST_DIGITS: u8 = 38;

impl Kind {
    /// What Spark calls the type.
    pub fn name(self) -> String {
        match self {
            Kind::Integer => "integer".into(),
            Kind::Long => "long".into(),
            Kind::Whole(digits) => format!("decimal({digits},0)"),
            Kind::Double => "double".into(),
            Kind::Date => "date".into(),
            Kind::Timestamp => "timestamp".into(),
            Kind::TimestampNtz => "timestamp_ntz".into(),
            Kind::Boolean => "boolean".into(),
            Kind::Unknown | Kind::String => "string".into(),
        }
    }

    /// What holds the values of both.
    pub fn with(self, other: Kind) -> Kind {
        use Kind::*;
        match (self, other) {
            (one, other) if one == other => one,
            (Unknown, kind) | (kind, Unknown) => kind,
            (Integer, Long) | (Long, Integer) => Long,
            (Integer | Long | Whole(_), Double) | (Double, Integer | Long | Whole(_)) => Double,
            (Whole(one), Whole(other)) => Whole(one.max(other)),
            (Integer, Whole(digits)) | (Whole(digits), Integer) => Whole(digits.max(10)),
            (Long, Whole(digits)) | (Whole(digits), Long) => Whole(digits.max(20)),
            (Date | Timestamp | TimestampNtz, Timestamp) | (Timestamp, Date | TimestampNtz) => Timestamp,
            (Date, TimestampNtz) | (TimestampNtz, Date) => TimestampNtz,
            _ => String,
        }
    }

    /// What holds one more value besides: types that it has outgrown are not tried again.
    pub fn and(self, text: &[u8], dialect: &Dialect) -> Kind {
        use Kind::*;
        let found = match self {
            String => return String,
            Unknown | Integer => integer(text, dialect),
            Long => long(text, dialect),
            Whole(_) => whole(text, dialect),
            Double => double(text, dialect),
            Date => date(text, dialect),
            TimestampNtz => clock(text, dialect),
            Timestamp => moment(text, dialect),
            Boolean => boolean(text),
        };
        self.with(found)
    }
}

fn integer(text: &[u8], dialect: &Dialect) -> Kind {
    match number::whole::<i64>(text) {
        Some(value) if i32::try_from(value).is_ok() => Kind::Integer,
        Some(_) => Kind::Long,
        None => whole(text, dialect),
    }
}

fn long(text: &[u8], dialect: &Dialect) -> Kind {
    match number::whole::<i64>(text) {
        Some(_) => Kind::Long,
        None => whole(text, dialect),
    }
}

fn whole(text: &[u8], dialect: &Dialect) -> Kind {
    match number::Long::strictly(text) {
        Some(found) if found.scale == 0 && found.precision() <= usize::from(MOST_DIGITS) => {
            Kind::Whole(found.precision() as u8)
        }
        _ => double(text, dialect),
    }
}

fn double(text: &[u8], dialect: &Dialect) -> Kind {
    match number::double(text, dialect) {
        Some(_) => Kind::Double,
        None if dialect.prefer_date => date(text, dialect),
        None => clock(text, dialect),
    }
}

fn date(text: &[u8], dialect: &Dialect) -> Kind {
    match time::iso_date(text) {
        Some(_) => Kind::Date,
        None => clock(text, dialect),
    }
}

fn clock(text: &[u8], dialect: &Dialect) -> Kind {
    if dialect.clocks && time::clock(text).is_some() {
        return Kind::TimestampNtz;
    }
    moment(text, dialect)
}

fn moment(text: &[u8], dialect: &Dialect) -> Kind {
    match time::strict_moment(text, &dialect.zone, &dialect.zone_names) {
        Ok(_) => Kind::Timestamp,
        Err(_) => boolean(text),
    }
}

fn boolean(text: &[u8]) -> Kind {
    match number::boolean(text) {
        Some(_) => Kind::Boolean,
        None => Kind::String,
    }
}

/// The names of columns, from the values of the first row: as they are, numbered where they are empty or not unique.
pub fn names(row: &[Option<String>], dialect: &Dialect) -> Vec<String> {
    let folded = |name: &str| {
        if dialect.case_sensitive {
            name.to_string()
        } else {
            name.to_lowercase()
        }
    };
    let found: Vec<_> = row.iter().map(|name| name.as_deref().map(folded)).collect();
    let named = |(place, name): (usize, &Option<String>)| match name {
        Some(name) if dialect.header && !name.is_empty() && *name != dialect.null_value => {
            let alike = found.iter().filter(|other| **other == found[place]).count();
            if alike > 1 {
                format!("{name}{place}")
            } else {
                name.clone()
            }
        }
        _ => format!("_c{place}"),
    };
    row.iter().enumerate().map(named).collect()
}
