//! Redial's agent: exports only.
