//! What Spark asks of rows, and where no row can be what it asks for.
//!
//! Spark looks at every row that it is given again, so that all that counts here is that no row is lost: what is not
//! known of rows could be anything.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::value::Value;

/// A condition on rows; a column is named by its path, one name where it is no field of a struct.
#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Filter {
    And {
        filters: Vec<Filter>,
    },
    Or {
        filters: Vec<Filter>,
    },
    Not {
        filter: Box<Filter>,
    },
    Null {
        column: Vec<String>,
    },
    Compared {
        column: Vec<String>,
        how: Comparison,
        /// Of the column's type, as [`Value::parse`] reads it; none is null, which compares with nothing.
        value: Option<String>,
    },
    In {
        column: Vec<String>,
        values: Vec<Option<String>>,
    },
    Prefix {
        column: Vec<String>,
        value: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Comparison {
    #[serde(rename = "=")]
    Equal,
    #[serde(rename = "!=")]
    Unequal,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

/// What is known of a column in some rows.
#[derive(Clone)]
pub struct Facts {
    /// No value but NaN is below, as far as that is known.
    pub least: Option<Value>,
    /// No value but NaN is above, as far as that is known.
    pub greatest: Option<Value>,
    /// Whether any value, any null, any NaN can be there.
    pub values: bool,
    pub nulls: bool,
    pub nans: bool,
}

/// Where facts of columns, in the same rows, come from.
pub trait Known {
    /// None where nothing is known.
    fn facts(&self, column: &[String]) -> Option<Facts>;

    /// A value of the column's type; none if it is no value of that type.
    fn value(&self, column: &[String], text: &str) -> Option<Value>;

    /// Whether the column could hold the value, which its facts let pass.
    fn could_hold(&self, _column: &[String], _value: &Value) -> bool {
        true
    }
}

/// Whether a condition could be true, and false, of some row; of rows with nulls it can be neither.
#[derive(Clone, Copy)]
struct Could {
    be_true: bool,
    be_false: bool,
}

const ANYTHING: Could = Could {
    be_true: true,
    be_false: true,
};

impl Filter {
    /// False only if the condition is true of no row.
    pub fn could_be_true(&self, known: &impl Known) -> bool {
        self.could(known).be_true
    }

    /// Adds the columns that the condition names, each as often as it does.
    pub fn columns<'a>(&'a self, named: &mut Vec<&'a [String]>) {
        match self {
            Filter::And { filters } | Filter::Or { filters } => {
                filters.iter().for_each(|filter| filter.columns(named));
            }
            Filter::Not { filter } => filter.columns(named),
            Filter::Null { column }
            | Filter::Compared { column, .. }
            | Filter::In { column, .. }
            | Filter::Prefix { column, .. } => named.push(column),
        }
    }

    fn could(&self, known: &impl Known) -> Could {
        match self {
            Filter::And { filters } => {
                let all = filters.iter().map(|filter| filter.could(known));
                all.fold(
                    Could {
                        be_true: true,
                        be_false: false,
                    },
                    |one, other| Could {
                        be_true: one.be_true && other.be_true,
                        be_false: one.be_false || other.be_false,
                    },
                )
            }
            Filter::Or { filters } => any(filters.iter().map(|filter| filter.could(known))),
            Filter::Not { filter } => {
                let Could { be_true, be_false } = filter.could(known);
                Could {
                    be_true: be_false,
                    be_false: be_true,
                }
            }
            Filter::Null { column } => known.facts(column).map_or(ANYTHING, |facts| Could {
                be_true: facts.nulls,
                be_false: facts.values,
            }),
            Filter::Compared { column, how, value } => known.facts(column).map_or(ANYTHING, |facts| {
                compared(known, column, &facts, *how, value.as_deref())
            }),
            Filter::In { column, values } => known.facts(column).map_or(ANYTHING, |facts| {
                let equal = |value: &Option<String>| {
                    compared(known, column, &facts, Comparison::Equal, value.as_deref())
                };
                any(values.iter().map(equal))
            }),
            Filter::Prefix { column, value } => known.facts(column).map_or(ANYTHING, |facts| {
                let prefix = value.as_bytes();
                let start = |bound: &Option<Value>| match bound {
                    Some(Value::Bytes(bytes)) => Some(bytes[..bytes.len().min(prefix.len())].cmp(prefix)),
                    _ => None,
                };
                let (least, greatest) = (start(&facts.least), start(&facts.greatest));
                let outside = least == Some(Ordering::Greater) || greatest == Some(Ordering::Less);
                let inside = least == Some(Ordering::Equal) && greatest == Some(Ordering::Equal);
                Could {
                    be_true: facts.values && !outside,
                    be_false: facts.values && !inside,
                }
            }),
        }
    }
}

fn any(all: impl Iterator<Item = Could>) -> Could {
    let none = Could {
        be_true: false,
        be_false: true,
    };
    all.fold(none, |one, other| Could {
        be_true: one.be_true || other.be_true,
        be_false: one.be_false && other.be_false,
    })
}

fn compared(
    known: &impl Known,
    column: &[String],
    facts: &Facts,
    how: Comparison,
    value: Option<&str>,
) -> Could {
    let Some(value) = value else {
        return Could {
            be_true: false,
            be_false: false,
        };
    };
    let Some(value) = known.value(column, value) else {
        return ANYTHING;
    };
    let held = || known.could_hold(column, &value);
    Could {
        be_true: facts.values && facts.could_be(how, &value) && (how != Comparison::Equal || held()),
        be_false: facts.values
            && facts.could_be(how.opposite(), &value)
            && (how != Comparison::Unequal || held()),
    }
}

impl Facts {
    /// Of a column that is not there.
    pub const NULLS: Facts = Facts {
        least: None,
        greatest: None,
        values: false,
        nulls: true,
        nans: false,
    };

    /// Whether any value could compare so with the one given.
    fn could_be(&self, how: Comparison, with: &Value) -> bool {
        let least = self.least.as_ref().map(|bound| bound.compared(with));
        let greatest = self.greatest.as_ref().map(|bound| bound.compared(with));
        let nan = self.nans && how.holds(Value::Floating(f64::NAN).compared(with));
        nan || match how {
            Comparison::Equal => least.is_none_or(Ordering::is_le) && greatest.is_none_or(Ordering::is_ge),
            Comparison::Unequal => least.is_none_or(Ordering::is_ne) || greatest.is_none_or(Ordering::is_ne),
            Comparison::Less | Comparison::LessOrEqual => least.is_none_or(|order| how.holds(order)),
            Comparison::Greater | Comparison::GreaterOrEqual => greatest.is_none_or(|order| how.holds(order)),
        }
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Unequal => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }

    /// What is true where this is false.
    fn opposite(self) -> Self {
        match self {
            Comparison::Equal => Comparison::Unequal,
            Comparison::Unequal => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
        }
    }
}
