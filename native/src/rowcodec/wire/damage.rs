//! Why bytes cannot be read.

use std::fmt;

/// Bytes that break the format, or use a part of it that is not read here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where in the input, in bytes from its start.
    pub offset: usize,
    pub what: String,
    /// It is sound as far as is known, but of a kind that rows are not read from.
    pub unsupported: bool,
}

impl Damage {
    pub fn new(offset: usize, what: impl Into<String>) -> Self {
        Self {
            offset,
            what: what.into(),
            unsupported: false,
        }
    }

    pub fn unsupported(offset: usize, what: impl Into<String>) -> Self {
        Self {
            offset,
            what: what.into(),
            unsupported: true,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.offset)
    }
}

impl std::error::Error for Damage {}

pub type Result<T> = std::result::Result<T, Damage>;
