//! What is made of the columns of a schema.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::error;
use super::fields::{CLASS, PY, VERSION};
use super::known::Known;
use super::numpy;
use super::record::{Kind, resolve};
use super::time::offset_minutes;
use crate::rowcodec::wire::stream::can_be_shared;
use crate::rowcodec::wire::{Damage, Field, Schema, Type, Unit};

pub enum Make {
    None,
    Bool,
    Int {
        width: u8,
        signed: bool,
    },
    Float {
        width: u8,
    },
    Str,
    Bytes,
    ByteArray,
    Date,
    DateTime {
        unit: Unit,
    },
    /// An instant as the clock of this process shows it, without a zone.
    Local {
        unit: Unit,
    },
    /// Args: minutes east of UTC; None where the zone has to be asked.
    Zoned {
        unit: Unit,
        zone: Py<PyAny>,
        minutes: Option<i32>,
    },
    Delta {
        unit: Unit,
    },
    Decimal {
        scale: i32,
    },
    Uuid,
    Numpy(u8),
    Variant,
    List,
    TupleList,
    Map,
    Record(RecordPlan),
}

pub struct RecordPlan {
    pub kind: Kind,
    pub class: Option<Py<PyAny>>,
    /// The keys of a dict, or names of attributes.
    pub names: Vec<Py<PyAny>>,
    /// The names as the list that a `Row` has.
    pub list: Option<Py<PyAny>>,
}

pub struct Node {
    pub make: Make,
    pub dictionary: Option<i64>,
    pub children: Vec<Node>,
}

impl Node {
    fn can_be_kept(&self) -> bool {
        !matches!(&self.make, Make::Record(record) if record.class.is_some())
            && self.children.iter().all(Node::can_be_kept)
    }

    /// Whether its values hold no others, so that the garbage collector need not look at what they are in.
    pub fn is_atom(&self) -> bool {
        !matches!(
            self.make,
            Make::List | Make::TupleList | Make::Map | Make::Record(_) | Make::Variant
        )
    }
}

pub enum Top {
    /// The value of the only column.
    Value,
    Record(RecordPlan),
}

pub struct Plan {
    pub top: Top,
    pub columns: Vec<Node>,
    /// Whether a column of rows that do not fit follows the others.
    pub rest: bool,
    pub atoms: bool,
}

impl Plan {
    /// A class that is found by its name may be another one the next time.
    pub fn can_be_kept(&self) -> bool {
        !matches!(&self.top, Top::Record(record) if record.class.is_some())
            && self.columns.iter().all(Node::can_be_kept)
    }
}

pub struct Planner<'a, 'py> {
    pub py: Python<'py>,
    pub known: &'a Known,
    pub allow_pickle: bool,
    /// Where the schema begins in the input.
    pub at: usize,
}

impl Planner<'_, '_> {
    pub fn plan(&self, schema: &Schema) -> PyResult<Plan> {
        if schema.told(VERSION.0).is_some_and(|version| version != VERSION.1) {
            return Err(self.unsupported("the rows are of a later version of the format"));
        }
        let rest = schema
            .fields
            .last()
            .is_some_and(|field| field.told(PY) == Some("rest"));
        let fields = &schema.fields[..schema.fields.len() - usize::from(rest)];
        let fits_rest = |field: &Field| field.ty == Type::Binary && field.dictionary.is_none();
        if rest && !fits_rest(&schema.fields[fields.len()]) {
            return Err(self.damage("the column of rows that do not fit is not binary"));
        }
        let columns = fields
            .iter()
            .map(|field| self.node(field))
            .collect::<PyResult<Vec<_>>>()?;
        let told = schema.told(PY);
        let top = if told == Some("value") {
            if columns.len() != 1 {
                return Err(self.damage("rows that are values have another number of columns than one"));
            }
            Top::Value
        } else {
            Top::Record(self.record(told, schema.told(CLASS), fields)?)
        };
        let atoms = !rest && columns.iter().all(Node::is_atom);
        Ok(Plan {
            top,
            columns,
            rest,
            atoms,
        })
    }

    fn damage(&self, what: &str) -> PyErr {
        error::damaged(self.py, Damage::new(self.at, what))
    }

    fn unsupported(&self, what: &str) -> PyErr {
        error::damaged(self.py, Damage::unsupported(self.at, what))
    }

    fn record(&self, told: Option<&str>, class: Option<&str>, fields: &[Field]) -> PyResult<RecordPlan> {
        let kind = match told {
            None => Kind::Dict,
            Some(word) => Kind::of(word).ok_or_else(|| self.unsupported("rows are of an unknown kind"))?,
        };
        let texts: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        if let (Kind::Dict, Some(name)) = (kind, repeated(&texts)) {
            let what = format!(
                "two columns are named {name:?}, and rows that are dicts have a name once: rename one of them"
            );
            return Err(self.unsupported(&what));
        }
        let class = match kind {
            Kind::Named | Kind::Data | Kind::Row => {
                let path = class.unwrap_or_default();
                let found = resolve(self.py, kind.word(), path, &texts, self.allow_pickle);
                Some(found.map_err(|cause| self.unresolved(&cause))?)
            }
            _ => None,
        };
        let intern = |text: &&str| PyString::intern(self.py, text).into_any().unbind();
        let names: Vec<Py<PyAny>> = texts.iter().map(intern).collect();
        let list = (kind == Kind::Row)
            .then(|| pyo3::types::PyList::new(self.py, &names))
            .transpose()?;
        Ok(RecordPlan {
            kind,
            class,
            names,
            list: list.map(|list| list.into_any().unbind()),
        })
    }

    pub fn unresolved(&self, cause: &PyErr) -> PyErr {
        error::no_class(self.py, cause.value(self.py).to_string(), self.at)
    }

    /// What is made of the values of a dictionary.
    pub fn values(&self, field: &Field) -> PyResult<Node> {
        self.node(field)
    }

    fn node(&self, field: &Field) -> PyResult<Node> {
        let told = field.told(PY);
        let make = match &field.ty {
            _ if told == Some("numpy") => match numpy::index_of(&field.ty) {
                Some(index) => Make::Numpy(index),
                None => {
                    return Err(self.damage("a column of numpy's scalars is of a type that they have not"));
                }
            },
            Type::Null => Make::None,
            Type::Bool => Make::Bool,
            Type::Int { bits, signed } => Make::Int {
                width: bits / 8,
                signed: *signed,
            },
            Type::Float { bits } => Make::Float { width: bits / 8 },
            Type::Utf8 | Type::LargeUtf8 => Make::Str,
            Type::Binary | Type::LargeBinary => match told {
                Some("variant") => Make::Variant,
                Some("bytearray") => Make::ByteArray,
                _ => Make::Bytes,
            },
            Type::FixedBinary(16) if field.told("ARROW:extension:name") == Some("arrow.uuid") => Make::Uuid,
            Type::FixedBinary(_) => Make::Bytes,
            Type::Decimal { scale, .. } => Make::Decimal { scale: *scale },
            Type::Date => Make::Date,
            Type::Timestamp { unit, zone: None } => Make::DateTime { unit: *unit },
            Type::Timestamp { unit, zone: Some(_) } if told == Some("local") => Make::Local { unit: *unit },
            Type::Timestamp {
                unit,
                zone: Some(zone),
            } => self.zoned(*unit, zone, told == Some("timezone"))?,
            Type::Duration { unit } => Make::Delta { unit: *unit },
            Type::List | Type::LargeList | Type::FixedList(_) => match told {
                Some("tuple") => Make::TupleList,
                _ => Make::List,
            },
            Type::Map => {
                // The entries are a struct of two, by the schema's own checks.
                let entries = &field.children[0].children;
                let children = entries
                    .iter()
                    .map(|entry| self.node(entry))
                    .collect::<PyResult<_>>()?;
                return Ok(Node {
                    make: Make::Map,
                    dictionary: self.dictionary(field)?,
                    children,
                });
            }
            Type::Struct => Make::Record(self.record(told, field.told(CLASS), &field.children)?),
        };
        let children = field
            .children
            .iter()
            .map(|child| self.node(child))
            .collect::<PyResult<_>>()?;
        Ok(Node {
            make,
            dictionary: self.dictionary(field)?,
            children,
        })
    }

    fn dictionary(&self, field: &Field) -> PyResult<Option<i64>> {
        let Some(dictionary) = &field.dictionary else {
            return Ok(None);
        };
        let told = field.told(PY);
        if !can_be_shared(&field.ty) || matches!(told, Some("bytearray" | "variant")) {
            let what = format!(
                "column {:?} has a dictionary of values that can be changed",
                field.name
            );
            return Err(self.unsupported(&what));
        }
        Ok(Some(dictionary.id))
    }

    fn zoned(&self, unit: Unit, zone: &str, fixed: bool) -> PyResult<Make> {
        if fixed && zone == "UTC" {
            return Ok(Make::Zoned {
                unit,
                zone: self.known.utc.clone_ref(self.py),
                minutes: Some(0),
            });
        }
        if let Some(minutes) = offset_minutes(zone) {
            let offset = super::time::delta_of_parts(0, 60 * minutes, 0);
            let offset = unsafe { Bound::from_owned_ptr_or_err(self.py, offset) }?;
            let zone = self.known.timezone.call1(self.py, (offset,))?;
            return Ok(Make::Zoned {
                unit,
                zone,
                minutes: Some(minutes),
            });
        }
        match self.known.zone_info.call1(self.py, (zone,)) {
            Ok(zone) => Ok(Make::Zoned {
                unit,
                zone,
                minutes: None,
            }),
            Err(_) => Err(self.unsupported(&format!("no zone {zone:?} is known here"))),
        }
    }
}

fn repeated<'a>(names: &[&'a str]) -> Option<&'a str> {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().find(|name| !seen.insert(**name)).copied()
}
