//! What standing orders mean for the copies of a catalogue: pure, no CLR. (catalogue, orders) → (requests, reverts,
//! refusals, warnings).
#![forbid(unsafe_code)]

pub mod budget;
pub mod history;
pub mod matcher;
pub mod orders;
pub mod plan;
pub mod scope;
#[cfg(test)]
mod tests;

pub use orders::{
    AddedTogether, NewOrder, OrderSeq, Orders, Owner, Published, SessionId, SetBy, Standing, Stepped,
};
