//! What is loaded: AppDomains, modules, and (read from metadata on demand, never kept) types and methods.
//! Knows nothing of dials.
#![forbid(unsafe_code)]

pub mod async_methods;
pub mod itself;
pub mod methods;
pub mod modules;
pub mod names;
pub mod precompiled;
pub mod stock;
pub mod suggest;
pub mod tokens;

pub use modules::{Module, Modules};
