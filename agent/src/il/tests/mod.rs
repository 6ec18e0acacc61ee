//! Bodies made by hand for each feature, and properties of made-up ones.

mod prologue;
