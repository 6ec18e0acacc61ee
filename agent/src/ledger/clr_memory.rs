//! The memory that the CLR keeps for recompilations.
#![forbid(unsafe_code)]

/// Bytes that the CLR keeps per recompilation of a small method (measured: up to 1.5 KiB).
pub const CLR_BYTES_PER_COMPILATION: u64 = 1400;
