//! The COM interface: the class factory that the CLR asks for, and the callback object that it then calls.
//! Translates calls and makes no decisions.

mod callback;
mod factory;

pub use factory::class_object;
