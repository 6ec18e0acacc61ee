//! The loaded AppDomains and modules, and their types and methods (read from metadata on demand, never kept). Must
//! not know about dials.
#![forbid(unsafe_code)]

pub mod async_methods;
mod attributes;
pub mod code_queries;
mod explicit;
pub mod implementation_search;
mod implementations;
mod inheritance;
mod inherited;
pub mod matched_method;
mod metadata_matcher;
pub mod methods;
pub mod modules;
pub mod names;
pub mod precompiled;
pub mod self_recursion;
pub mod suggestions;
pub mod supertypes;
pub mod tokens;
pub mod type_definitions;
mod unload_wait;

pub use modules::{Module, Modules};
