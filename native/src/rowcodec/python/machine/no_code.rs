//! Where no code is made.

use super::super::column::{Column, Record};
use super::super::push::Context;
use super::super::source::Source;
use super::{Key, Taken};

pub enum Code {}

impl Code {
    pub fn of(_: &Key) -> Option<Self> {
        None
    }

    pub fn size(&self) -> usize {
        match *self {}
    }

    pub unsafe fn take(
        &self,
        _: Option<&Record>,
        _: &mut [Column],
        _: &Source,
        _: usize,
        _: (usize, usize),
        _: &mut Context<'_, '_>,
    ) -> Taken {
        match *self {}
    }
}
