//! Arrow's stream format, as far as rows need it: read with every offset checked, and written.

pub mod codec;
pub mod column;
pub mod damage;
pub mod flatbuf;
pub mod foreign;
pub mod message;
pub mod schema;
pub mod stream;

pub use column::{Column, Data};
pub use damage::Damage;
pub use message::{BatchWriter, Head, Message, Messages};
pub use schema::{Dictionary, Field, Schema, Type, Unit};
