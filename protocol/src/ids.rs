//! Newtypes for the identifiers that travel. Field names are the profiling API's.

use serde::{Deserialize, Serialize};

/// A `ModuleID` as the CLR gave it, with the agent's generation. The CLR reuses a ModuleID after unload; the
/// generation (1, 2, …, unique within the process) tells the lives apart. Key everything by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleKey {
    /// The CLR's `ModuleID` (an address in the host; opaque).
    pub module_id: u64,
    /// The agent's generation of that address.
    pub generation: u32,
}

/// A `mdMethodDef` metadata token, `0x06RRRRRR` (ECMA-335 II.22.26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MethodToken(pub u32);

/// A copy: one method as loaded once, in one AppDomain or shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CopyKey {
    /// The module it is in.
    pub module: ModuleKey,
    /// Its MethodDef token there.
    pub token: MethodToken,
}

/// Index of a copy's row in the agent's ledger; never reused within one agent. Counter deltas name rows by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowId(pub u32);

/// One compiled instance of a method: the CLR's `(FunctionID, ReJITID)` pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InstanceId {
    /// `FunctionID`: one per instantiation over value types, one for all reference types.
    pub function_id: u64,
    /// `ReJITID`: 0 is the original body.
    pub rejit_id: u64,
}

/// A process, told from a later one with the same pid by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Operating-system process id; inside a container the innermost one (NSpid).
    pub pid: u32,
    /// Linux: field 22 of the process's stat file (clock ticks since boot). Windows: the creation FILETIME.
    pub start: u64,
}
