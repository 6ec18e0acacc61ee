//! Captures objects and structs. A class's *program* says which bytes of an object a helper copies; the agent makes it
//! on a thread of its own when an object of the class was first seen. Until then only the class is recorded.
//!
//! Helpers are called like managed code, so that no object moves or dies meanwhile, and its class stays loaded. They
//! read objects of the garbage collector's heap directly. Everything else they read through the system, which fails
//! where a direct read would end the process.

mod checked;
mod program;
mod table;
mod walk;

pub use program::ClassProgram;
pub use table::{Wanted, added, expect, forget, is_known, prepare, set_program, shape, wanted};
pub(super) use walk::{capture_by_ref, capture_object, capture_typed};
