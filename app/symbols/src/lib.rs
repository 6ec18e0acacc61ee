//! Source files and lines of methods, from portable PDBs.
//!
//! - [`pe`]: what a module says about its PDB: its id, and an embedded one.
//! - [`pdb`]: documents and sequence points of a PDB.
//! - [`search`]: where the PDB of a module may be, and whether it belongs to it.
//!
//! Every number in a file is checked before it is used, and nothing is allocated by a number that a file claims. Sources:
//! ECMA-335 II.24 (metadata), the Portable PDB format and the PE debug directory in dotnet/runtime `docs/design/specs`.
#![forbid(unsafe_code)]

mod metadata;
pub mod pdb;
pub mod pe;
mod reader;
pub mod search;

pub use pdb::{MethodSource, PortablePdb, SequencePoint};
pub use pe::{DebugDirectory, PdbId};
pub use search::{Found, Place, Problem, Searched, SymbolSearch};
