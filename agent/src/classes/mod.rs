//! The classes of captured objects: their shapes, made on a thread of its own while any method is traced.
#![forbid(unsafe_code)]

mod enums;
mod generic_structs;
mod known_classes;
mod names;
mod registry;
mod shapes;
mod struct_source;
mod thread;

pub use enums::enum_type;
pub use registry::Classes;
