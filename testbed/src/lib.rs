//! Real runtimes and test programs.
