//! What a traced body captures of a call, and how the captured bytes become values.
//!
//! Pure: this module knows signatures and bytes. A call has a place of eight bytes for each captured parameter, in
//! order, then one for the result, then one for each by-reference parameter as it is at the end. The body stores
//! primitive values in their places; for other values a probe helper stores where it put their bytes ([`record`]).
#![forbid(unsafe_code)]

mod condition;
mod decode;
mod plan;
mod primitives;
pub mod record;
mod records;
mod redaction;
pub mod shape;
pub mod struct_layout;
mod text_form;

pub use condition::{CallCondition, CallOutcome, KnownClasses, scope};
pub use decode::{CapturedCall, NO_ROOM, UNREADABLE, message, value, value_after};
pub use plan::{
    Capture, CaptureLevel, CapturePlan, CaptureRules, EnumType, Parameters, PlannedValue, Primitive,
};
pub use records::Classes;
pub use redaction::Redaction;
pub use text_form::TextForm;
