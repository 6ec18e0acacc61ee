//! What a traced body captures of a call, and how the captured bytes become values.
//!
//! Pure: this module knows signatures and bytes. A call has a place of eight bytes for each captured parameter, in
//! order, and then one for the result. The body stores primitive values in their places; for other values a probe
//! helper stores where it put their bytes.
#![forbid(unsafe_code)]

mod decode;
mod plan;
mod redaction;

pub use decode::{CapturedCall, NO_ROOM, value};
pub use plan::{Capture, CaptureLevel, CapturePlan, CaptureRules, EnumType, PlannedValue, Primitive};
pub use redaction::Redaction;
