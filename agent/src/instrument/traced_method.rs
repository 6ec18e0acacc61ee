//! A method as its traced bodies need it.
#![forbid(unsafe_code)]

use crate::capture::{CallCondition, CapturePlan};
use crate::probes::trace::TracedMethod;
use redial_protocol::condition::Condition;

/// A method with the values that its traced bodies capture. They hold its address, so it is never freed.
#[derive(Debug)]
pub struct TracedBody {
    /// The part that helpers use.
    pub method: TracedMethod,
    /// The captured values.
    pub plan: CapturePlan,
}

impl TracedBody {
    /// Returns the condition on its calls, as written.
    pub fn condition(&self) -> Option<&Condition> {
        self.method.condition().map(|condition| &*condition.written)
    }

    /// Returns a method with its plan and the condition on its calls; `number` is the plan's.
    pub fn new(number: u32, plan: CapturePlan, condition: Option<CallCondition>) -> TracedBody {
        let method = TracedMethod::new(number, plan.places(), plan.captures()).with_condition(condition);
        TracedBody { method, plan }
    }
}

impl PartialEq for TracedBody {
    fn eq(&self, other: &TracedBody) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for TracedBody {}
