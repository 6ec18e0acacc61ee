//! A method as its traced bodies need it.
#![forbid(unsafe_code)]

use crate::capture::CapturePlan;
use crate::probes::trace::TracedMethod;

/// A method with the values that its traced bodies capture. They hold its address, so it is never freed.
#[derive(Debug)]
pub struct TracedBody {
    /// The part that helpers use.
    pub method: TracedMethod,
    /// The captured values.
    pub plan: CapturePlan,
}

impl TracedBody {
    /// Returns a method with its plan; `number` is the plan's.
    pub fn new(number: u32, plan: CapturePlan) -> TracedBody {
        TracedBody { method: TracedMethod::new(number, plan.places(), plan.captures()), plan }
    }
}

impl PartialEq for TracedBody {
    fn eq(&self, other: &TracedBody) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for TracedBody {}
