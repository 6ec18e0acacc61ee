//! Decodes a method body (ECMA-335 II.25.4 and partition III), edits it, and encodes it again.
//!
//! Between [`decode`] and [`encode`], branch targets and clause bounds are instruction references ([`Label`]),
//! so an edit never computes a distance; the layout chooses branch forms once, at the end. This module is pure:
//! it knows bytes, instructions and the codes of their violations, and must not know the CLR, metadata beyond token numbers, or the purpose of
//! a probe. No bytes make it panic, and it allocates in proportion to its input.
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

mod body;
mod bytes;
mod decode;
mod edit;
mod eh;
mod encode;
mod error;
mod header;
mod insn;
mod labels;
mod last_calls;
mod layout;
pub mod maxstack;
pub mod opcodes;
mod prologue;
mod state_machine;
mod wrap_body;

pub mod verify;

pub use body::{Body, Clause, ClauseKind, Instruction, Label, Operand};
pub use decode::decode;
pub use edit::{Edit, Landing};
pub use encode::{Encoded, encode};
pub use error::IlError;
pub use insn::Insn;
pub use last_calls::last_calls;
pub use opcodes::Opcode;
pub use prologue::{Guarded, Prologue, Rewritten, code_size, local_sig, with_prologue};
pub use state_machine::{
    BEGINS, CompletionCall, CompletionValue, StateMachine, completion_calls, state_machine,
};
pub use wrap_body::{BodyWrapper, gives_frame_away, wrap_body};

#[cfg(test)]
mod tests;
