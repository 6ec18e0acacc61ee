//! Tests with hand-written bodies for each feature, and properties of generated bodies.

mod clauses;
mod edit;
mod layout;
mod malformed;
mod maxstack;
mod opcodes;
mod prologue;
mod properties;
mod support;
mod verifier;
mod verifier_regions;
mod wrap_body;
