//! Works out the effect of standing orders on the copies of a catalogue: pure, without the CLR. (catalogue, orders) →
//! (requests, reverts, refusals, warnings).
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
    AddedOrders, BudgetStepOrigin, NewOrder, OrderAuthor, OrderLifetime, OrderSeq, Orders, Published,
    SessionId, Standing, TooManyOrders,
};
