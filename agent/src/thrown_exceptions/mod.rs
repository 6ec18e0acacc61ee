//! Thrown exceptions for sessions that ask for them: a collector thread takes counts and single exceptions from the
//! throwing threads' tables, names them, and adds them to each session's stream. It runs while there is a stream.
#![forbid(unsafe_code)]

mod collector;
mod names;
mod registry;
mod stream;

pub use names::{Sources, type_names};
pub use registry::ThrownExceptions;
pub use stream::{ExceptionStream, SessionExceptions, StreamPage};
