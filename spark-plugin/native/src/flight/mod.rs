//! A client of Headrace's service: reads prepared, and their rows fetched, over Arrow Flight.
//!
//! [`target`] is where a service is and how callers show who they are; [`channels`] are the connections to it; [`call`]
//! is one call, tried again where that helps; [`read`] prepares reads, [`rows`] fetches a part of one. What goes wrong
//! is a [`failure::Failure`]. docs/protocol.md says what crosses the wire.

mod call;
mod channels;
mod failure;
mod java;
mod pems;
mod read;
mod rows;
mod target;
