//! How a CSV file is written, and what becomes of its rows: options of Spark's reader, by their names.

use std::collections::HashSet;

use serde::Deserialize;

use super::zone::Zone;

/// What becomes of a row that is not as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// What cannot be read is null.
    Permissive,
    /// The row is left out.
    DropMalformed,
    /// The read ends.
    FailFast,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dialect {
    pub delimiter: u8,
    /// 0 where there are no quotes.
    pub quote: u8,
    /// 0 where nothing is escaped.
    pub escape: u8,
    pub comment: Option<u8>,
    pub header: bool,
    pub null_value: String,
    /// What quotes with nothing in them mean.
    pub empty_value: String,
    pub nan_value: String,
    pub positive_inf: String,
    pub negative_inf: String,
    pub ignore_leading_white_space: bool,
    pub ignore_trailing_white_space: bool,
    pub multi_line: bool,
    pub mode: Mode,
    /// Whether dates are of the form 2013-01-31 alone, and of no shorter one.
    pub strict_dates: bool,
    /// Whether what looks like a date is taken for one, and not for a timestamp.
    pub prefer_date: bool,
    /// Whether timestamps that say no zone are taken for ones without a zone.
    pub clocks: bool,
    /// Whether names of columns that differ in case alone are different names.
    pub case_sensitive: bool,
    /// Of timestamps that say none.
    pub zone: Zone,
    /// Names of zones that a timestamp could say, if any is asked for.
    pub zone_names: HashSet<String>,
    /// Whether what is shown of a malformed record is without the carriage return that ends it.
    pub strips_returns: bool,
}

impl Dialect {
    /// What makes an escape one that escapes nothing.
    pub fn escape_of_escape(&self) -> u8 {
        if self.escape == self.quote { 0 } else { self.escape }
    }

    /// Whether a line is none: blank, or a comment.
    pub fn skips(&self, line: &[u8]) -> bool {
        self.comment.is_some() && line.first() == self.comment.as_ref()
            || line.iter().all(|byte| *byte <= b' ')
    }
}
