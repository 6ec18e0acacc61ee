//! Reads a method body (ECMA-335 II.25.4 and partition III), changes it, and writes it again.
//!
//! Branch targets and clause bounds are instruction references ([`Label`]) between [`decode`] and [`encode`], so an
//! edit never computes a distance; the layout chooses branch forms once, at the end. Everything here is pure: it
//! knows bytes and instructions, and must not know the CLR, metadata beyond token numbers, or what a probe is for.
//! No bytes make it panic, and it allocates in proportion to the bytes it is given.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable
    )
)]

mod around;
mod body;
mod bytes;
mod completion;
mod decode;
mod edit;
mod eh;
mod encode;
mod error;
mod header;
mod labels;
mod last_calls;
mod layout;
pub mod maxstack;
pub mod opcodes;
mod prologue;

pub mod verify;

pub use around::{Around, gives_frame_away, with_code_around};
pub use body::{Body, Clause, ClauseKind, Instruction, Label, Operand};
pub use completion::{BEGINS, Machine, machine};
pub use decode::decode;
pub use edit::{Edit, Landing};
pub use encode::{Encoded, encode};
pub use error::IlError;
pub use last_calls::last_calls;
pub use opcodes::Opcode;
pub use prologue::{Guarded, Insn, Prologue, Rewritten, local_sig, with_prologue};

#[cfg(test)]
mod tests;
