//! Pure state: what the agent said, put together. It does no I/O, reads no clock and knows no screen; whoever
//! holds it feeds it events and draws from it.
#![forbid(unsafe_code)]

pub mod dials;
