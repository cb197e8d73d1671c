//! Rows that are all there, as one stream where that can be.

use pyo3::ffi;
use pyo3::prelude::*;

use super::bytes_out::BytesOut;
use super::coded;
use super::encode::{BATCH, Encoder, TOLERATED};
use super::known::{Raised, known};
use super::layout::{Access, Api, Direct};
use super::only::Only;
use super::push::{Context, MOST_CONTAINERS};
use super::shape::{Looker, Shape, is_row_of, joined, stands};
use super::shared::{has_changeable_twice, is_shared};
use super::source::Source;
use super::{Options, error, state};

pub fn dump(py: Python<'_>, source: &Source, options: Options) -> PyResult<Py<PyAny>> {
    match options.direct {
        true => dump_by::<Direct>(py, source, options),
        false => dump_by::<Api>(py, source, options),
    }
}

fn dump_by<A: Access>(py: Python<'_>, source: &Source, options: Options) -> PyResult<Py<PyAny>> {
    let state = state(py);
    let known = known(py)?;
    let (mut classes, last) = state.begin();
    let mut context = Context {
        py,
        known,
        classes: &mut classes,
        allow_pickle: options.allow_pickle,
        only: options.only,
        coding: options.coding,
        tier: options.tier,
        left: 0,
        full: false,
        beyond: false,
        room: 0,
        retyped: false,
        row: 0,
        machine_rows: 0,
    };
    let written = unsafe { write_all::<A>(source, &mut context, options, last) };
    let (encoder, out, rest) = match written {
        Ok(Written { encoder, out, rest }) => (Some(encoder), Ok(out), rest),
        Err(Raised) => (None, Err(PyErr::fetch(py)), 0),
    };
    // Of what is refused, others write all.
    let (rows, machine_rows) = if out.is_ok() {
        (context.row, context.machine_rows)
    } else {
        (0, 0)
    };
    let bytes = out.as_ref().map_or(0, BytesOut::len);
    state.end(classes, encoder.filter(Encoder::can_be_kept), |counts| {
        counts.rows_written += rows as u64;
        counts.bytes_written += bytes as u64;
        counts.rest_rows += rest as u64;
        counts.refused += u64::from(options.only != Only::All && out.is_err());
        counts.machine_rows += machine_rows as u64;
    });
    out?.done(py)
}

/// One of so many rows that are looked at may be of another shape, and is by chance: whether there are too many of them is
/// seen where they are taken.
const DOUBTFUL: usize = 8;

/// So many shapes may turn out to be that of most rows.
const RIVALS: usize = 4;

/// The bytes of fewer rows need not be known before they are written.
const MANY: usize = 256;

/// Rows whose numbers are looked at before those of more than one batch are taken.
const EXPECTED: usize = 32;

/// Bytes that there is room for before they are there.
const MOST_EXPECTED: usize = 1 << 30;

struct Written {
    encoder: Encoder,
    out: BytesOut,
    /// Rows that did not fit.
    rest: usize,
}

/// Args: `last` is the encoder that was used before, which may do.
unsafe fn write_all<A: Access>(
    source: &Source,
    context: &mut Context<'_, '_>,
    options: Options,
    last: Option<Encoder>,
) -> Result<Written, Raised> {
    let state = state(context.py);
    let len = unsafe { source.len::<A>() };
    if context.only != Only::All && unsafe { is_shared::<A>(source) } {
        return Err(refused(context, "several rows share a large value"));
    }
    // Of few rows a dictionary has no chance to pay.
    let coding = options.coding && len >= coded::FEWEST;
    let mut alike = last.as_ref().is_some_and(|last| {
        places(0, len, false)
            .all(|n| unsafe { is_row_of::<A>(&last.shape, source.item::<A>(n), context.known) })
    });
    if let Some(last) = last.as_ref().filter(|_| alike) {
        alike = stands(context.py, &last.shape, context.classes)
            .map_err(|error| Raised::set(context.py, error))?;
    }
    let mut encoder = match last
        .filter(|_| alike && len > 0)
        .and_then(|last| last.reset(coding))
    {
        Some(last) => {
            state.count(|counts| counts.reused += 1);
            last
        }
        None => state.take_encoder(unsafe { sample::<A>(source, 0, len, context, false) }?, coding),
    };
    admit(&encoder, context)?;
    let looked = unsafe { keep_apart::<A>(source, encoder.shape.is_changeable(), context) }?;
    let mut changeable = false;
    if len > BATCH {
        unsafe { expect::<A>(source, &mut encoder, context) }?;
    } else {
        encoder.expect_rows(len);
    }
    let mut out = BytesOut::new(4096);
    let (mut next, mut rest, mut taken_anew) = (0, 0, 0);
    // Until rows come that only another encoder takes, or it is known what all of them need.
    let mut one_stream = true;
    while next < unsafe { source.len::<A>() } {
        let from = next;
        next = unsafe { encoder.take::<A>(source, from, context) }?;
        if encoder.rest_rows * TOLERATED > encoder.rows {
            let shape = unsafe { sample::<A>(source, from, next, context, true) }?;
            if shape != encoder.shape {
                one_stream &= from == 0;
                let mut other = state.take_encoder(shape, coding);
                other.follow(&encoder, &mut out);
                encoder = other;
                admit(&encoder, context)?;
                changeable |= encoder.shape.is_changeable();
                context.row = from;
                next = unsafe { encoder.take::<A>(source, from, context) }?;
            }
        }
        encoder.retyped |= context.retyped;
        // As where it was shared by rows of whose column only None was seen before.
        changeable |= context.retyped;
        if context.only == Only::Plain && encoder.rest_rows > 0 {
            return Err(refused(context, "some rows are unlike the others"));
        }
        if one_stream && !encoder.fits_stream() {
            taken_anew += next;
            if taken_anew * 2 > len {
                unsafe { learn::<A>(source, next, &mut encoder, context) }?;
                one_stream = false;
            }
            encoder.restart();
            out.clear();
            (next, rest, context.row, context.machine_rows) = (0, 0, 0, 0);
            continue;
        }
        rest += encoder.rest_rows;
        if from == 0 && next >= MANY && options.codec.is_none() {
            // As much as the first batch takes, for each of the others; they may take far less.
            let first = encoder.wire_size();
            let all = first.saturating_mul(len.div_ceil(next));
            out.reserve(all.min(first + MOST_EXPECTED));
        }
        encoder.flush(&mut out, options.codec);
    }
    if !looked {
        unsafe { keep_apart::<A>(source, changeable || rest > 0, context) }?;
    }
    encoder.finish(&mut out, options.codec);
    Ok(Written { encoder, out, rest })
}

/// Only rows that are asked for are written.
fn admit(encoder: &Encoder, context: &Context<'_, '_>) -> Result<(), Raised> {
    match encoder.shape.is_row_of(context.only) {
        true => Ok(()),
        false => {
            let what = "a column has values of several types, or of one that has to be pickled";
            Err(refused(context, what))
        }
    }
}

/// Where values can be changed, none may stand in two places. Gives whether that was looked at.
unsafe fn keep_apart<A: Access>(
    source: &Source,
    changeable: bool,
    context: &Context<'_, '_>,
) -> Result<bool, Raised> {
    let look = changeable && context.only == Only::Alike;
    match look && unsafe { has_changeable_twice::<A>(source) } {
        true => Err(refused(context, "a list, dict or bytearray stands in two places")),
        false => Ok(look),
    }
}

fn refused(context: &Context<'_, '_>, what: &str) -> Raised {
    Raised::set(context.py, error::refused(what.into()))
}

/// Take in what the rows from the n-th on need, up to those that another encoder has to take.
unsafe fn learn<A: Access>(
    source: &Source,
    mut n: usize,
    encoder: &mut Encoder,
    context: &mut Context<'_, '_>,
) -> Result<(), Raised> {
    encoder.forget();
    while n < unsafe { source.len::<A>() } {
        n = unsafe { encoder.take::<A>(source, n, context) }?;
        if encoder.rest_rows * TOLERATED > encoder.rows {
            break;
        }
        encoder.settle();
        encoder.forget();
    }
    encoder.retyped |= context.retyped;
    Ok(())
}

/// Have integers as wide as those of some rows, the last one among them: where numbers rise, it has the highest.
unsafe fn expect<A: Access>(
    source: &Source,
    encoder: &mut Encoder,
    context: &mut Context<'_, '_>,
) -> Result<(), Raised> {
    let mut other = Encoder::new(encoder.shape.clone(), false);
    for n in 0..=EXPECTED {
        let len = unsafe { source.len::<A>() };
        if len > 0 {
            context.row = (len - 1) * n / EXPECTED;
            let pushed = unsafe {
                let row = source.item::<A>(context.row);
                ffi::Py_INCREF(row);
                let pushed = other.push::<A>(row, context);
                ffi::Py_DECREF(row);
                pushed
            };
            pushed?;
            encoder.expect(&other);
            other.forget();
        }
    }
    (context.row, context.retyped) = (0, false);
    Ok(())
}

/// The rows whose shapes are looked at.
fn places(from: usize, to: usize, all: bool) -> impl Iterator<Item = usize> {
    let rows = to - from;
    let count = if all {
        rows
    } else {
        rows.min(32 + rows / 64).min(256)
    };
    (0..count).map(move |n| from + n * rows / count)
}

/// The shape of some of the rows that most of these have, unless too many have others; or that of all rows.
unsafe fn sample<A: Access>(
    source: &Source,
    from: usize,
    to: usize,
    context: &mut Context<'_, '_>,
    all: bool,
) -> Result<Shape, Raised> {
    let mut found: Vec<(Shape, usize)> = Vec::new();
    let (mut others, mut count) = (Shape::Null, 0);
    for at in places(from, to, all) {
        if at >= unsafe { source.len::<A>() } {
            break;
        }
        count += 1;
        let mut looker = Looker {
            py: context.py,
            known: context.known,
            classes: &mut *context.classes,
            left: MOST_CONTAINERS,
        };
        let shape = looker.row::<A>(unsafe { source.item::<A>(at) })?;
        if let Some((_, rows)) = found.iter_mut().find(|(known, _)| *known == shape) {
            *rows += 1;
            continue;
        }
        let full = found.len() == RIVALS;
        let fit = found.iter_mut().find_map(|(known, rows)| {
            let mut lost = false;
            let both = joined(known.clone(), shape.clone(), &mut lost);
            (all || !lost).then_some((known, rows, both))
        });
        match fit {
            Some((known, rows, both)) => {
                *known = both;
                *rows += 1;
            }
            None if full => others = joined(others, shape, &mut false),
            None => found.push((shape, 1)),
        }
    }
    let Some(most) = (0..found.len()).rev().max_by_key(|n| found[*n].1) else {
        return Ok(Shape::empty());
    };
    let (shape, rows) = found.swap_remove(most);
    if (count - rows) * DOUBTFUL <= count {
        return Ok(shape);
    }
    let rivals = found.into_iter().map(|(rival, _)| rival);
    Ok(rivals
        .chain([others])
        .fold(shape, |all, other| joined(all, other, &mut false)))
}
