//! Newtypes for identifiers on the wire. Field names follow the profiling API.

use serde::{Deserialize, Serialize};

/// A `ModuleID` from the CLR with the agent's generation. The CLR reuses a ModuleID after unload; the
/// generation (1, 2, …, unique within the process) distinguishes the modules. Always use both as key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleKey {
    /// The CLR's `ModuleID` (an opaque address in the host).
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
    /// Module that contains the method.
    pub module: ModuleKey,
    /// MethodDef token of the method in the module.
    pub token: MethodToken,
}

/// Index of a copy's row in the agent's ledger; never reused within one agent. Counter deltas identify rows by
/// it.
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

/// A process. The start time distinguishes it from a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Operating-system process id; inside a container the innermost one (NSpid).
    pub pid: u32,
    /// Linux: field 22 of the process's stat file (clock ticks since boot). Windows: the creation FILETIME.
    pub start: u64,
}
