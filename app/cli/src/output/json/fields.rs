//! Fields and formats that several rows share.

use redial_protocol::ids::ModuleKey;
use redial_protocol::message::Holder;
use redial_protocol::order::TimeOptions;
use redial_text::programs;
use serde::{Serialize, Serializer};

/// Formats an opaque id as `0x…`.
pub fn hex(id: u64) -> String {
    format!("{id:#x}")
}

/// Formats a metadata token as `0x06000012`.
pub fn token(token: u32) -> String {
    format!("{token:#010x}")
}

/// Formats a ModuleID. The CLR may reuse it after an unload; rows add the generation where that matters.
pub fn module_id(key: ModuleKey) -> String {
    hex(key.module_id)
}

pub(super) fn lossy_float<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    // Three decimals are enough for rates.
    value.map(|rate| (rate * 1000.0).round() / 1000.0).serialize(serializer)
}

/// The controller that has control.
#[derive(Debug, Serialize)]
pub struct ControlJson {
    pid: u32,
    program: String,
}

impl ControlJson {
    /// Formats it for text output: `redial dial (pid 7)`.
    pub fn words(&self) -> String {
        format!("{} (pid {})", programs::title(&self.program), self.pid)
    }
}

impl From<&Holder> for ControlJson {
    fn from(holder: &Holder) -> Self {
        ControlJson { pid: holder.pid, program: holder.program.clone() }
    }
}

/// The options of a dial. Rows and orders name the allowed rate of traced calls differently.
#[derive(Debug, Serialize)]
pub(super) struct OptionsJson {
    slower_than_ns: Option<u64>,
    failed_only: bool,
    callers: bool,
    depth: Option<u8>,
    stack: bool,
}

impl From<&TimeOptions> for OptionsJson {
    fn from(options: &TimeOptions) -> Self {
        let TimeOptions { slower_than_ns, failed_only, callers, rate: _, depth, stack } = *options;
        OptionsJson { slower_than_ns, failed_only, callers, depth, stack }
    }
}
