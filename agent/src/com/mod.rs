//! The COM face: the class factory the CLR asks for, and the callback object it then talks to. Translates; decides
//! nothing.

mod callback;
mod factory;

pub use factory::class_object;
