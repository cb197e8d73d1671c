//! Rows of Python as streams of Arrow: `docs/row-format.md` says what the bytes mean.
//!
//! `wire` and `variant` know bytes alone, and are all that a fuzzer needs; the rest knows Python's objects.

pub mod check;
pub mod variant;
pub mod wire;

#[cfg(feature = "python")]
mod python;

#[cfg(feature = "python")]
pub use python::register;
