//! Bodies made by hand for each feature, and properties of made-up ones.

mod around;
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
