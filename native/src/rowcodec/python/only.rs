//! Which rows are written where pickle is the other way.

use super::record::Kind;
use super::shape::{Sequence, Shape};

/// Which rows are written; others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    All,
    /// Whose columns have a type each, and no class of others is told.
    Alike,
    /// Those of which pickles that a JVM reads have nothing else to tell: tuples and values, of what SQL has.
    Plain,
}

impl Shape {
    /// Whether rows of this shape are written.
    pub fn is_row_of(&self, only: Only) -> bool {
        match self {
            Shape::Record(record) if only == Only::Plain => {
                record.kind == Kind::Tuple && record.fields.iter().all(|field| field.is_of(only))
            }
            _ => self.is_of(only),
        }
    }

    /// Whether values of this shape are.
    pub fn is_of(&self, only: Only) -> bool {
        if only == Only::All {
            return true;
        }
        match self {
            Shape::Variant => false,
            Shape::Null | Shape::Bool | Shape::Int | Shape::Float | Shape::Str => true,
            Shape::Bytes | Shape::ByteArray | Shape::Decimal(_) => true,
            Shape::List(sequence, item) => {
                item.is_of(only) && (only == Only::Alike || *sequence == Sequence::List)
            }
            Shape::Map(map) => map.0.is_of(only) && map.1.is_of(only),
            Shape::Record(record) => {
                only == Only::Alike
                    && !matches!(record.kind, Kind::Named | Kind::Data)
                    && record.fields.iter().all(|field| field.is_of(only))
            }
            _ => only == Only::Alike,
        }
    }

    /// Whether values of this shape can be changed, or hold some that can.
    pub fn is_changeable(&self) -> bool {
        match self {
            Shape::ByteArray | Shape::Map(_) | Shape::Variant => true,
            Shape::List(sequence, item) => *sequence == Sequence::List || item.is_changeable(),
            Shape::Record(record) => {
                !matches!(record.kind, Kind::Tuple | Kind::Named | Kind::Row)
                    || record.fields.iter().any(Shape::is_changeable)
            }
            _ => false,
        }
    }
}
